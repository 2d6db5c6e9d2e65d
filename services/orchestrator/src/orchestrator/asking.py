"""What a cohort is asked on a stage whose asks depend on what others answered: the state, scripted moves, new asks."""

from collections.abc import Container, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from random import Random
from uuid import UUID

from orchestrator.rules import as_member
from shared import seeds
from shared.contracts.experiment import StageConfig
from shared.db import asks
from shared.db.session import Session
from shared.db.settling import CohortState
from shared.stage import Json, StageView
from shared.stages import kind_of
from shared.views import with_state


async def settle_asks(
    session: Session, cohort: CohortState, stage: StageConfig, draws: Mapping[str, Json], now: datetime
) -> tuple[StageView, list[UUID]]:
    """Open what is due on this stage. Safe to repeat.

    Returns the stage as it is now, and the agents and scripts who have nothing left to do there. The caller holds the
    cohort's lock. Members' locks are taken.
    """
    kind = kind_of(stage)
    counted = cohort.counted
    assert counted is not None
    answered = counted.answers.get(stage.id, {})
    view = StageView(
        members=tuple(as_member(member, stage.id) for member in cohort.members),
        draws=draws,
        answers=answered,
        variables=cohort.design.variables,
    )
    view = played_out(cohort, stage, view)
    if scripted := {at: value for at, value in view.answers.items() if at not in answered}:
        await asks.write_scripted(session, cohort.id, stage.id, scripted, as_of=cohort.as_of, now=now)
    wanted = kind.next_asks(stage, view)
    new = [ask for ask in wanted if (stage.id, ask.member_id, ask.key) not in counted.open]
    await asks.open_shared_asks(session, cohort, stage.id, new, view.state, as_of=cohort.as_of, now=now)
    return view, _done(stage, view, {ask.member_id for ask in wanted})


def played_out(cohort: CohortState, stage: StageConfig, view: StageView) -> StageView:
    """The view with its state, and with everything that scripted members answer, one thing after another."""
    kind = kind_of(stage)
    while True:
        stated = with_state(stage, view)
        moves = kind.play_out(stage, stated, partial(_rng_of, cohort, stage))
        new = {at: value for at, value in moves.items() if at not in view.answers}
        if not new:
            return stated
        view = replace(view, answers={**view.answers, **new})


def _rng_of(cohort: CohortState, stage: StageConfig, path: str) -> Random:
    return seeds.rng(cohort.seed, f"{cohort.name}/{stage.id}/{path}")


def _done(stage: StageConfig, view: StageView, asked: Container[UUID]) -> list[UUID]:
    kind = kind_of(stage)
    agents = [
        (member, replace(view, reader=member.id))
        for member in view.members
        if member.kind == "participant" and member.player != "person" and member.present and member.id not in asked
    ]
    return [
        member.id
        for member, own in agents
        if kind.page_answer(stage, member, own) is not None or not kind.blocked_by(stage, member, own)
    ]
