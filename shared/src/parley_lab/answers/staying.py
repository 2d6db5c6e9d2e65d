"""How long members stay on a stage: timers say from when they may go on, and when their time is up.

A timer is armed when the stage is open to a member, and pauses hold it, as all timers.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import end_member
from parley_lab.answers.answering import write_page
from parley_lab.answers.filling_in import fill_in
from parley_lab.answers.going_on import go_on
from parley_lab.base.errors import Conflict, InvalidInput
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.lives import STILL_IN
from parley_lab.kinds import PAGE, Ask, Blocked, Done
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.members.alerts import raise_alert_about
from parley_lab.members.arming import WantedTimer, arm
from parley_lab.members.cohort_state import CohortState, record
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing
from parley_lab.members.stays import LEAST, MOST, may_go_on, path_of
from parley_lab.store.session import ReadSession, Session

TIME_IS_UP: Final = "the time for a stage was up"
_AGAIN_SECONDS: Final = 5.0


async def arm_stays(
    session: Session, cohort: CohortState, stage: StageConfig, members: Iterable[Attendee], now: datetime
) -> None:
    """Start the times of those who are on the stage, each once, and again where it was cancelled; tell people.

    The caller holds the cohort's lock.
    """
    members = list(members)
    timers = [
        WantedTimer(member.id, path_of(member.path, stage.id, purpose), purpose, now + timedelta(seconds=limit))
        for member in members
        for purpose, limit in _limits(cohort.stage_for(member, stage))
        if limit is not None and (purpose == MOST or member.player == "person")
    ]
    armed = await arm(session, cohort.experiment_id, cohort.id, timers, now)
    for member in members:
        if member.id in armed and member.player == "person":
            told = {"stage_id": stage.id}
            record(session, cohort, "stage.updated", f"{member.path}/{stage.id}", told, now, audience=[member.id])


def _limits(stage: StageConfig) -> Iterator[tuple[str, float | None]]:
    yield LEAST, stage.stay.at_least_seconds
    yield MOST, stage.stay.at_most_seconds


async def require_long_enough(session: ReadSession, standing: Standing, stage: StageConfig, now: datetime) -> None:
    """Refuse to let a member go on who has not stayed on the stage as long as it says.

    Raises:
        Conflict: they have to stay longer.
    """
    if stage.stay.at_least_seconds is not None and not await may_go_on(session, standing.member, stage, now):
        raise Conflict("Please stay on this page a little longer.", reason="not_yet")


_PATH: Final = text("SELECT path FROM timers WHERE id = :timer_id")
# Settling arms it again, in full, once the stage opens for the member.
_CANCEL: Final = text("UPDATE timers SET state = 'cancelled', fired_at = NULL WHERE id = :timer_id")
_POSTPONE: Final = text("UPDATE timers SET state = 'armed', fired_at = NULL, due_at = :due_at WHERE id = :timer_id")


async def end_stay(session: Session, timer_id: UUID, member_id: UUID, now: datetime) -> None:
    """The time of a member on a stage is up: they go on with what there is, or leave. Nothing if they went on before,
    or wait for the stage to open where they are now.

    Who is asked something else just now, such as whether they are still there, is looked at again a little later.
    """
    standing = await lock_standing(session, member_id)
    stage = standing.stage
    row = await session.one(_PATH, {"timer_id": timer_id})
    if stage is None or standing.status not in STILL_IN or row.path != path_of(standing.member.path, stage.id, MOST):
        return
    if standing.is_locked:
        await session.run(_CANCEL, {"timer_id": timer_id})
    elif stage.stay.then == "leave":
        end = {"cause": "timer", "actor": "lab"}
        await end_member(session, standing, "dropped_out", TIME_IS_UP, now, unsent="timed_out", **end)
    elif standing.is_in_progress:
        await go_on_with_what_there_is(session, standing, now, cause="timer")
    else:
        due_at = now + timedelta(seconds=_AGAIN_SECONDS)
        await session.run(_POSTPONE, {"timer_id": timer_id, "due_at": due_at})


async def go_on_with_what_there_is(session: Session, standing: Standing, now: datetime, *, cause: str) -> None:
    """Move a member one stage further whose time on the page is up: with what they may go on with anyway, such as a
    payment; else with what they have filled in, each field with a mark; else with the default of the file, or nothing.

    The caller holds the member's lock, and has read `standing` under it: they are in progress, and on a stage.
    """
    stage = standing.stage
    assert stage is not None
    completion = kind_of(stage).completion(stage, standing.view(stage, now))
    if isinstance(completion, Blocked):
        standing = await fill_in(session, standing, now, mark="timed_out", cause=cause, default=stage.stay.default)
        completion = kind_of(stage).completion(stage, standing.view(stage, now))
    done, answered = completion if isinstance(completion, Done) else Done(), standing
    if standing.page(stage.id) is None:
        if isinstance(completion, Blocked) and stage.stay.default is not None:
            done, answered = await _with_default(session, standing, stage, now)
        elif done.page is not None:
            write_page(session, standing, done.page, now)
    # `standing` still has the open ask that the default has answered: going on cancels it.
    await go_on(session, standing, done, now, cause=cause, answered=answered)


async def _with_default(
    session: Session, standing: Standing, stage: StageConfig, now: datetime
) -> tuple[Done, Standing]:
    """Store the default of the file where the stage takes it as an answer; else store none, and raise an alert.

    Returns how they go on, and the standing with the answer.
    """
    view, questions = standing.view(stage, now), parts_of(stage).questions
    question = None if questions is None else questions.question(view, Ask(view.me.id, PAGE, "page"))
    try:
        value = None if question is None else question.check(dict(stage.stay.default or {}))
    except InvalidInput as error:
        await raise_alert_about(
            session,
            standing,
            f"{stage.id}/default",
            "default_refused",
            f"The default of the stage {stage.id} is no answer there: {error}",
            now,
        )
        return Done(), standing
    if value is None:
        return Done(), standing
    write_page(session, standing, value, now, marks={"": "default"})
    answered = standing.with_answer(stage.id, PAGE, value)
    completion = kind_of(stage).completion(stage, answered.view(stage, now))
    return completion if isinstance(completion, Done) else Done(), answered
