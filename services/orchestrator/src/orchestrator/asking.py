"""What a cohort is asked on a stage whose asks depend on what others answered: the state, scripted moves, new asks."""

from collections.abc import Container, Iterator, Mapping
from datetime import datetime
from functools import partial
from random import Random
from uuid import UUID

from shared import seeds
from shared.acts import answering, asking
from shared.acts.settling import CohortState
from shared.contracts.experiment import StageConfig
from shared.db.session import Session
from shared.stage import Ask, Json, LabView
from shared.stages import kind_of
from shared.views import Answers, Facts, lab_view, own_view, stated, with_moves


async def settle_asks(
    session: Session, cohort: CohortState, stage: StageConfig, draws: Mapping[str, Json], now: datetime
) -> tuple[LabView, list[UUID]]:
    """Open what is due on this stage. Safe to repeat.

    Returns the stage as it is now, and the agents and scripts who have nothing left to do there. The caller holds the
    cohort's lock. Members' locks are taken.
    """
    counted = cohort.counted
    assert counted is not None
    facts = cohort.facts({stage.id: draws})
    view = played_out(cohort, stage, lab_view(facts, stage))
    answered = counted.answers.get(stage.id, {})
    if scripted := dict(new_answers(view.answers, answered)):
        await answering.write_scripted(session, cohort.id, stage.id, scripted, as_of=cohort.as_of, now=now)
    facts = facts.with_answers(stage.id, view.answers).with_state(stage.id, view.state)
    wanted = wanted_of_all(facts, stage)
    new = [ask for ask in wanted if (stage.id, ask.member_id, ask.key) not in counted.open]
    await asking.open_shared_asks(session, cohort, stage.id, new, view.state, as_of=cohort.as_of, now=now)
    return view, _done(facts, stage, {ask.member_id for ask in wanted})


def wanted_of_all(facts: Facts, stage: StageConfig) -> list[Ask]:
    """What everybody who is there is asked now, each with their own eyes."""
    here = (one.id for one in facts.people.on(stage.id) if one.present and one.player != "script")
    return [ask for member_id in here for ask in kind_of(stage).next_asks(stage, own_view(facts, stage, member_id))]


def played_out(cohort: CohortState, stage: StageConfig, view: LabView) -> LabView:
    """The view with its state, and with everything that scripted members answer, one thing after another."""
    kind = kind_of(stage)
    while True:
        view = stated(stage, view)
        moves = kind.play_out(stage, view, partial(_rng_of, cohort, stage))
        new = {at: value for at, value in moves.items() if at[1] not in view.answers.get(at[0], {})}
        if not new:
            return view
        view = with_moves(view, new)


def new_answers(answers: Answers, known: Answers) -> Iterator[tuple[tuple[UUID, str], Json]]:
    """What is among these answers and was not known, by member and key."""
    for owner, entries in answers.items():
        before = known.get(owner, {})
        yield from (((owner, key), value) for key, value in entries.items() if key not in before)


def _rng_of(cohort: CohortState, stage: StageConfig, path: str) -> Random:
    return seeds.rng(cohort.seed, f"{cohort.name}/{stage.id}/{path}")


def _done(facts: Facts, stage: StageConfig, asked: Container[UUID]) -> list[UUID]:
    kind = kind_of(stage)
    agents = [
        own_view(facts, stage, member.id)
        for member in facts.people.on(stage.id)
        if member.kind == "participant" and member.player != "person" and member.present and member.id not in asked
    ]
    return [own.me.id for own in agents if kind.page_answer(stage, own) is not None or not kind.blocked_by(stage, own)]
