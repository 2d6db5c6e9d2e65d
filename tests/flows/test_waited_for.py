"""Who waits goes on however the one they waited for goes: by hints alone, without a page that is loaded again."""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.answers.advancing import end_member, move_on
from parley_lab.contracts.lives import Outcome
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing
from parley_lab.people import attention, holding, transferring
from parley_lab.store.session import Database, Session
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

STUDY: Final = """
parley: 1
name: Waiting for one
seed: 0
pace: live
stages:
  - {id: first, kind: info, lines: [One.]}
  - {id: second, kind: info, lines: [Two.], progress: {wait_for_all: true}}
attention_checks: {seconds: 30}
cohorts: [{seats: [{open: true}, {open: true}], count: 2}]
joining: by_arrival
"""
OTHER_COHORT: Final = text(
    """
    SELECT o.id FROM cohorts c JOIN cohorts o ON o.experiment_id = c.experiment_id AND o.id <> c.id WHERE c.id = :id
    """
)
IN_TIME: Final = STUDY.replace("lines: [One.]", "lines: [One.], stay: {at_most_seconds: 60}")


async def nothing(session: Session, standing: Standing, lab: DrainLab) -> None:
    """The time alone does it."""


async def is_paused(session: Session, standing: Standing, lab: DrainLab) -> None:
    assert await holding.pause_member(session, standing, lab.clock.now(), cause="test")


async def is_checked(session: Session, standing: Standing, lab: DrainLab) -> None:
    assert await attention.send_check(session, standing, lab.clock.now(), sent_by="test", cause="test")


async def is_moved(session: Session, standing: Standing, lab: DrainLab) -> None:
    (other,) = await session.all(OTHER_COHORT, {"id": standing.cohort_id})
    await transferring.offer(session, standing, other.id, lab.clock.now(), seconds=60, actor="test")
    await transferring.accept(session, standing.member.id, lab.clock.now(), cause="test")


def ends(outcome: Outcome) -> "Act":
    async def act(session: Session, standing: Standing, lab: DrainLab) -> None:
        assert await end_member(session, standing, outcome, "a test", lab.clock.now(), cause="test")

    return act


Act = Callable[[Session, Standing, DrainLab], Awaitable[None]]
WAYS: Final[dict[str, tuple[str, Act]]] = {
    "leaves": (STUDY, ends("left")),
    "is removed": (STUDY, ends("removed")),
    "is paused": (STUDY, is_paused),
    "does not answer a check": (STUDY, is_checked),
    "has no time left": (IN_TIME, nothing),
    "moves to another cohort": (STUDY, is_moved),
}


@pytest.mark.parametrize("way", WAYS)
async def test_who_waits_is_let_in_however_the_one_they_waited_for_goes(database: Database, way: str) -> None:
    document, act = WAYS[way]
    lab = DrainLab(database)
    experiment_id = await lab.start(document)
    one, other = [(await lab.join(experiment_id))[0] for _ in range(2)]
    await handle_hints(lab)
    async with database.transaction() as session:
        await move_on(session, await lock_standing(session, one), lab.clock.now(), cause="test")
    await handle_hints(lab)
    before = await opened(lab, one)

    async with database.transaction() as session:
        await act(session, await lock_standing(session, other), lab)
    await handle_hints(lab)
    lab.clock.advance(61)
    await lab.fire_timers()
    await handle_hints(lab)

    assert (before, await opened(lab, one)) == (["first"], ["first", "second"])


async def handle_hints(lab: DrainLab) -> None:
    """Without letting time pass."""
    while lab.hints:
        await lab.deliver(lab.next_hints())


async def opened(lab: DrainLab, member_id: UUID) -> list[Any]:
    rows = await lab.rows(
        "SELECT s.stage_id FROM cohort_stages s JOIN members m USING (cohort_id) WHERE m.id = :id ORDER BY 1",
        id=member_id,
    )
    return [row.stage_id for row in rows]
