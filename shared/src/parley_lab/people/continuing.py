"""Continue, for an experimenter: a member goes on as if the time was up where they are."""

from datetime import datetime
from typing import Final

from parley_lab.answers.advancing import record_of
from parley_lab.answers.answering import answer_with_substitute, record_answer
from parley_lab.answers.staying import go_on_with_what_there_is
from parley_lab.base.errors import Conflict, Paused
from parley_lab.contracts import lives
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Ask, Substitute
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.stages import parts_of
from parley_lab.members.standing import Standing
from parley_lab.people.waiting import note_over
from parley_lab.store.session import Session

CONTINUED: Final = "an experimenter pressed Continue"


async def continue_member(session: Session, standing: Standing, reason: str, now: datetime, *, actor: str) -> None:
    """Let a member go on as if their time was up.

    What they have filled in counts where it fits, and a conversation is left. In a game their open moves are missing,
    by the rule of its kind. A wait ends for the whole group as the file says; without a limit in the file, for those
    who have come. The caller holds the member's lock, and has read `standing` under it.

    Raises:
        Paused: the experiment is paused.
        Conflict: the member takes no part now, or the stage is one where no one goes on for them.
    """
    stage = standing.stage
    lives.after(standing.status, "act")
    if standing.is_paused:
        raise Paused
    if stage is None or standing.member.kind == "mediator":
        raise Conflict("A mediator goes through no stages.", reason="cannot_advance")
    parts = parts_of(stage)
    if parts.questions is not None and parts.questions.must_be_own:
        raise Conflict("Only the participant can answer here, as a consent or a check.", reason="cannot_advance")
    if standing.is_locked:
        await _end_wait(session, standing, stage, now)
    elif plays_together(parts):
        await _pass(session, standing, stage, now)
    else:
        await go_on_with_what_there_is(session, standing, now, cause="request")
    told = {"stage_id": stage.id, "reason": reason}
    record_of(session, standing, "member.continued", told, now, cause="request", actor=actor, audience=[])


async def _end_wait(session: Session, standing: Standing, stage: StageConfig, now: datetime) -> None:
    if standing.is_alone:
        raise Conflict("They wait to be put into a group, not for a group to come.", reason="cannot_advance")
    await note_over(session, standing.cohort_id, stage.id, now)


async def _pass(session: Session, standing: Standing, stage: StageConfig, now: datetime) -> None:
    """Close what is open to the member on a stage with a state of all, with what counts instead of an answer."""
    questions = parts_of(stage).questions
    asks = [one for one in standing.asks if one.stage_id == stage.id]
    view = standing.view(stage, now)
    found: list[tuple[Ask, Substitute]] = []
    for one in asks:
        ask = Ask(standing.member.id, one.key, one.purpose)
        question = None if questions is None else questions.question(view, ask)
        passed = None if question is None else question.passed()
        if passed is None:
            raise Conflict(
                "The game has no rule for a missing move; remove the member instead.", reason="cannot_advance"
            )
        found.append((ask, passed))
    if not found:
        raise Conflict("Nothing is open for this member; the stage waits for others.", reason="cannot_advance")
    for one, (ask, passed) in zip(asks, found, strict=True):
        if await answer_with_substitute(session, ask, one.id, passed, CONTINUED, now):
            record_answer(session, standing, stage.id, ask, passed.value, now, cause="request")
