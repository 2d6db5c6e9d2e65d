"""A row that fails holds up no other: it is tried again ever more rarely, and the experimenter gets one alert."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from parley_lab.base.errors import GivenUp, Unavailable
from parley_lab.bus.in_process import InProcessBus
from parley_lab.contracts.experiment import AttentionChecks
from parley_lab.contracts.hints import Hint
from parley_lab.design import load
from parley_lab.experiments import pausing, starting
from parley_lab.members import held_cohorts
from parley_lab.members.guarding import Guard
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator import service
from parley_lab.orchestrator.meeting import make_groups
from parley_lab.orchestrator.presence import look_for_gone
from parley_lab.orchestrator.service import Orchestrator
from parley_lab.orchestrator.settings import OrchestratorSettings
from parley_lab.orchestrator.settling import fire_due_timers, settle
from parley_lab.people import attention, holding, joining, meeting, presence, rooms, transferring
from parley_lab.store import tables
from parley_lab.store.session import Database, ReadSession, Session
from parley_lab.testing.fake_clock import FakeClock
from tests.flows.failing_rows import failing

pytestmark = pytest.mark.postgres

STUDY = """
parley: 1
name: Two who do not know each other
seed: 0
pace: live
stages:
  - {id: page, kind: info, lines: [Hello.], when_gone: go_on, gone_after_seconds: 0, stay: {at_most_seconds: 600}}
  - {id: last, kind: info, lines: [Bye.]}
cohorts: [{count: 2, seats: [{open: true}]}]
"""


async def a_study(database: Database, clock: FakeClock, document: str = STUDY) -> tuple[UUID, list[UUID]]:
    """A running experiment, and its two people in cohorts of their own."""
    owner_id, now = uuid4(), clock.now()
    async with database.transaction() as session:
        await session.insert(tables.experimenters, [{"id": owner_id, "name": str(owner_id), "created_at": now}])
        experiment_id = await starting.create(session, owner_id, load(document, "study.yaml"), now)
    async with database.transaction() as session:
        await starting.start(session, experiment_id, now)
    people = []
    for _ in range(2):
        async with database.transaction() as session:
            member_id, _ = await joining.join(session, experiment_id, now, cohort_id=None, profile=None)
            people.append(member_id)
    for cohort_id in await cohorts_of(database, people):
        await settle(database, cohort_id, now)
    return experiment_id, people


async def rows(database: Database, query: str, **params: Any) -> list[Any]:
    async with database.transaction() as session:
        return list(await session.all(text(query), params))


async def cohorts_of(database: Database, people: list[UUID]) -> list[UUID]:
    found = await rows(database, "SELECT id, cohort_id FROM members")
    by_member = {row.id: row.cohort_id for row in found}
    return [by_member[one] for one in people]


async def statuses(database: Database, people: list[UUID]) -> list[str]:
    found = {row.id: row.status for row in await rows(database, "SELECT id, status FROM members")}
    return [found[one] for one in people]


async def alerts(database: Database) -> list[tuple[str, bool]]:
    found = await rows(database, "SELECT type, resolved_at IS NULL AS is_open FROM alerts ORDER BY created_at")
    return [(row.type, row.is_open) for row in found]


def an_orchestrator(database: Database, clock: FakeClock, **settings: Any) -> Orchestrator:
    return Orchestrator(database=database, bus=InProcessBus(), clock=clock, settings=OrchestratorSettings(**settings))


async def test_of_two_rows_the_one_that_fails_is_tried_ever_more_rarely(
    database: Database, fake_clock: FakeClock
) -> None:
    _, (one, other) = await a_study(database, fake_clock)
    guard, tried = Guard(database), dict[UUID, list[float]]()
    began, is_out_of_order = fake_clock.now(), True

    async def work(member_id: UUID) -> str:
        tried.setdefault(member_id, []).append((fake_clock.now() - began).total_seconds())
        if member_id == one and is_out_of_order:
            raise ZeroDivisionError
        return "done"

    for _ in range(20):
        assert await guard.each("member", (one, other), work, fake_clock.now()) == ["done"]
        fake_clock.advance(1)
    is_out_of_order = False
    fake_clock.advance(300)

    assert tried == {one: [0, 1, 3, 7, 15], other: list(range(20))}
    assert guard.held("member", began + timedelta(seconds=16)) == [one]
    assert await guard.each("member", (one, other), work, fake_clock.now()) == ["done", "done"]
    assert guard.seconds_left("member", one, fake_clock.now()) == 0
    assert await alerts(database) == [("work_failed", True)]


async def test_a_server_that_is_away_is_no_fault_of_a_row_and_one_that_gives_it_up_is(
    database: Database, fake_clock: FakeClock
) -> None:
    guard, row_id = Guard(database), uuid4()

    async def away() -> None:
        raise Unavailable("away")

    async def given_up() -> None:
        raise GivenUp("too long")

    with pytest.raises(Unavailable):
        await guard.do("member", row_id, away, fake_clock.now())
    assert guard.held("member", fake_clock.now()) == []
    await guard.do("member", row_id, given_up, fake_clock.now())
    assert guard.held("member", fake_clock.now()) == [row_id]


async def test_of_two_who_are_gone_the_other_is_out(database: Database, fake_clock: FakeClock) -> None:
    _, people = await a_study(database, fake_clock)
    guard, gateway = Guard(database), uuid4()
    started = fake_clock.now() - timedelta(days=1)
    for one in people:
        async with database.transaction() as session:
            await presence.come(session, one, fake_clock.now())
    fake_clock.advance(60)
    async with database.transaction() as session:
        await presence.beat(session, gateway, started, [], fake_clock.now())

    async with failing(database, "presence", "member_id", people[0]):
        for _ in range(3):
            await look_for_gone(database, fake_clock.now(), guard)
        assert await statuses(database, people) == ["in_progress", "dropped_out"]
    fake_clock.advance(2)
    async with database.transaction() as session:
        await presence.beat(session, gateway, started, [], fake_clock.now())
    await look_for_gone(database, fake_clock.now(), guard)

    assert await statuses(database, people) == ["dropped_out", "dropped_out"]
    assert await alerts(database) == [("work_failed", True)]


async def test_a_row_that_fails_again_much_later_rests_as_at_first(database: Database, fake_clock: FakeClock) -> None:
    _, (one, _) = await a_study(database, fake_clock)
    guard, rested = Guard(database), []

    async def work() -> None:
        raise ZeroDivisionError

    for seconds in (1, 2, 400, 1):
        await guard.do("member", one, work, fake_clock.now())
        rested.append(guard.seconds_left("member", one, fake_clock.now()))
        fake_clock.advance(seconds)

    assert rested == [1, 2, 4, 1]


async def are_gone(database: Database, people: list[UUID], now: datetime) -> None:
    for one in people:
        query = "INSERT INTO presence (member_id, seen_at, gone_at) VALUES (:id, :now, :now) RETURNING member_id"
        await rows(database, query, id=one, now=now)


@pytest.mark.parametrize(
    "rule", ["", ", when_gone: go_on, gone_after_seconds: 600"], ids=["they are waited for", "their time has not come"]
)
async def test_no_look_locks_people_who_are_gone_and_about_whom_nothing_follows_yet(
    database: Database, fake_clock: FakeClock, rule: str
) -> None:
    document = STUDY.replace(", when_gone: go_on, gone_after_seconds: 0", rule)
    _, people = await a_study(database, fake_clock, document)
    await are_gone(database, people, fake_clock.now())

    async with database.transaction() as session, asyncio.timeout(10):
        await lock_standing(session, people[0])
        assert await look_for_gone(database, fake_clock.now()) == 0


async def test_no_one_who_is_gone_drops_out_of_a_held_cohort_and_their_time_begins_when_it_goes_on(
    database: Database, fake_clock: FakeClock
) -> None:
    _, people = await a_study(database, fake_clock, STUDY.replace("gone_after_seconds: 0", "gone_after_seconds: 60"))
    held, _ = await cohorts_of(database, people)
    await hold(database, held, fake_clock.now())
    await are_gone(database, people, fake_clock.now())

    fake_clock.advance(100)
    await look_for_gone(database, fake_clock.now())
    while_held = await statuses(database, people)
    await release(database, held, fake_clock.now())
    fake_clock.advance(59)
    await look_for_gone(database, fake_clock.now())
    soon = await statuses(database, people)
    fake_clock.advance(1)
    await look_for_gone(database, fake_clock.now())

    assert while_held == soon == ["in_progress", "dropped_out"]
    assert await statuses(database, people) == ["dropped_out", "dropped_out"]


async def test_of_two_timers_the_other_takes_effect(database: Database, fake_clock: FakeClock) -> None:
    _, people = await a_study(database, fake_clock)
    guard = Guard(database)
    fake_clock.advance(601)

    async with failing(database, "timers", "member_id", people[0]):
        fired = [await fire_due_timers(database, fake_clock.now(), guard) for _ in range(3)]
    assert sum(fired) == 1
    fake_clock.advance(2)

    assert await fire_due_timers(database, fake_clock.now(), guard) == 1
    assert await alerts(database) == [("work_failed", True)]


async def test_of_two_experiments_whose_time_is_over_the_other_is_forgotten(
    database: Database, fake_clock: FakeClock
) -> None:
    studies = [(await a_study(database, fake_clock))[0] for _ in range(2)]
    orchestrator = an_orchestrator(database, fake_clock, keep_personal_days=1)
    await rows(database, "UPDATE experiments SET status = 'ended', ended_at = :now RETURNING id", now=fake_clock.now())
    fake_clock.advance(2 * 24 * 3600)
    forgotten = "SELECT id FROM experiments WHERE forgotten_at IS NOT NULL"

    async with failing(database, "experiments", "id", studies[0]):
        for _ in range(3):
            await orchestrator.forget_people()
        assert [row.id for row in await rows(database, forgotten)] == studies[1:]
    fake_clock.advance(2)
    await orchestrator.forget_people()

    assert len(await rows(database, forgotten)) == 2
    # The alerts of an experiment are blanked with what people said.
    assert [kind for kind, _ in await alerts(database)] == ["work_failed"]


async def test_of_two_runs_that_are_over_the_watchdog_ends_the_other(database: Database, fake_clock: FakeClock) -> None:
    studies = [(await a_study(database, fake_clock))[0] for _ in range(2)]
    orchestrator = an_orchestrator(database, fake_clock)
    await rows(database, "UPDATE cohorts SET status = 'ended' RETURNING id")
    ended = "SELECT id FROM experiments WHERE status = 'ended'"

    async with failing(database, "experiments", "id", studies[0]):
        for _ in range(3):
            await orchestrator.watch()
        assert [row.id for row in await rows(database, ended)] == studies[1:]
    fake_clock.advance(2)
    await orchestrator.watch()

    assert len(await rows(database, ended)) == 2
    assert await alerts(database) == [("work_failed", True)]


class RefusingBus(InProcessBus):
    """A bus that refuses to say how much waits in a queue."""

    def __init__(self) -> None:
        super().__init__()
        self.published: list[Hint] = []

    async def waiting(self, queue: str) -> int:
        raise RuntimeError(queue)

    async def publish(self, hints: Sequence[Hint]) -> None:
        self.published += hints


async def test_a_queue_that_the_broker_refuses_holds_back_no_cohort(
    database: Database, fake_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def some(*_: Any) -> dict[str, int]:
        return {"mock": 1}

    _, people = await a_study(database, fake_clock)
    bus = RefusingBus()
    orchestrator = Orchestrator(database=database, bus=bus, clock=fake_clock)
    monkeypatch.setattr(service, "overdue", some)
    async with database.transaction() as session:
        await session.run(text("UPDATE streams SET last = last + 1, unsettled = last + 1"))

    await orchestrator.watch()

    announced = {hint.id for hint in bus.published}
    assert announced >= {str(one) for one in await cohorts_of(database, people)}


async def test_a_cohort_whose_rules_fail_is_held_with_its_clocks_until_they_do_not(
    database: Database, fake_clock: FakeClock
) -> None:
    _, people = await a_study(database, fake_clock)
    held, _ = await cohorts_of(database, people)
    orchestrator = an_orchestrator(database, fake_clock)
    news = text("UPDATE streams SET last = last + 1, unsettled = last + 1")
    async with database.transaction() as session:
        await session.run(news)

    with capture_logs() as logged:
        async with failing(database, "streams", "cohort_id", held):
            for _ in range(60):
                await orchestrator.settle(held)
                await orchestrator.watch()
                fake_clock.advance(20)
            fired = await fire_due_timers(database, fake_clock.now())
            assert (fired, await alerts(database)) == (1, [("cohort_held", True)])
    fake_clock.advance(300)
    await orchestrator.settle(held)
    await orchestrator.watch()
    await orchestrator.stop()

    # Twenty minutes with a hint every twenty seconds; each failure doubles the pause.
    assert 5 < len([entry for entry in logged if entry["event"] == "row.failed"]) < 15
    assert await alerts(database) == [("cohort_held", False)]
    (left,) = await rows(database, "SELECT due_at FROM timers WHERE member_id = :id AND state = 'armed'", id=people[0])
    assert left.due_at == fake_clock.now() + timedelta(seconds=600)


async def hold(database: Database, cohort_id: UUID, now: datetime) -> None:
    """The rules of this cohort fail."""

    async def work() -> None:
        raise ZeroDivisionError

    await Guard(database).do("cohort", cohort_id, work, now)


async def release(database: Database, cohort_id: UUID, now: datetime) -> None:
    async with database.transaction() as session:
        await held_cohorts.release(session, cohort_id, now)


async def left_of(database: Database, member_id: UUID, purpose: str, clock: FakeClock) -> float:
    """How many seconds are left of an armed timer."""
    query = "SELECT due_at FROM timers WHERE member_id = :id AND purpose = :purpose AND state = 'armed'"
    (timer,) = await rows(database, query, id=member_id, purpose=purpose)
    left: timedelta = timer.due_at - clock.now()
    return left.total_seconds()


@pytest.mark.parametrize("who", ["experiment", "member"])
@pytest.mark.parametrize("released_in_the_pause", [True, False])
async def test_the_clocks_of_a_held_cohort_go_on_with_what_they_had_left_whatever_is_paused(
    database: Database, fake_clock: FakeClock, who: str, released_in_the_pause: bool
) -> None:
    experiment_id, people = await a_study(database, fake_clock)
    cohort_id, _ = await cohorts_of(database, people)

    async def change(of_experiment: Callable[..., Any], of_member: Callable[..., Any]) -> None:
        async with database.transaction() as session:
            if who == "experiment":
                await of_experiment(session, experiment_id, fake_clock.now())
            else:
                await of_member(session, await lock_standing(session, people[0]), fake_clock.now(), cause="test")

    fake_clock.advance(300)
    await hold(database, cohort_id, fake_clock.now())
    fake_clock.advance(1_800)
    await change(pausing.pause, holding.pause_member)
    fake_clock.advance(60_000)
    if released_in_the_pause:
        await release(database, cohort_id, fake_clock.now())
    fake_clock.advance(20_000)
    await change(pausing.resume, holding.resume_member)
    if not released_in_the_pause:
        fake_clock.advance(50)
        await release(database, cohort_id, fake_clock.now())

    assert await left_of(database, people[0], "stay_most", fake_clock) == 300


async def test_a_clock_that_begins_while_its_cohort_is_held_gets_the_hold_after_its_beginning_alone(
    database: Database, fake_clock: FakeClock
) -> None:
    _, people = await a_study(database, fake_clock)
    cohort_id, _ = await cohorts_of(database, people)
    await hold(database, cohort_id, fake_clock.now())
    fake_clock.advance(1_000)
    async with database.transaction() as session:
        standing = await lock_standing(session, people[0])
        await attention.send_check(session, standing, fake_clock.now(), sent_by="Ellen", cause="test")

    fake_clock.advance(500)
    await release(database, cohort_id, fake_clock.now())

    assert await left_of(database, people[0], "check_deadline", fake_clock) == AttentionChecks().seconds


@pytest.mark.parametrize("held", ["left", "entered"])
async def test_a_member_who_moves_takes_along_what_their_clocks_had_left(
    database: Database, fake_clock: FakeClock, held: str
) -> None:
    _, people = await a_study(database, fake_clock)
    here, there = await cohorts_of(database, people)
    fake_clock.advance(300 if held == "left" else 200)
    await hold(database, here if held == "left" else there, fake_clock.now())
    fake_clock.advance(100)

    async with database.transaction() as session:
        standing = await lock_standing(session, people[0])
        await transferring.offer(session, standing, there, fake_clock.now(), seconds=60, actor="Ellen")
    async with database.transaction() as session:
        await transferring.accept(session, people[0], fake_clock.now(), cause="test")
    if held == "entered":
        fake_clock.advance(1_000)
        await release(database, there, fake_clock.now())

    assert await left_of(database, people[0], "stay_most", fake_clock) == 300


async def test_a_member_who_cannot_come_anew_holds_up_no_other(
    database: Database, fake_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, people = await a_study(database, fake_clock)
    room_id, came = uuid4(), list[UUID]()

    async def people_who_come_anew(_session: ReadSession) -> list[Any]:
        return [SimpleNamespace(member_id=one, room_id=room_id) for one in people]

    async def come_anew(_session: Session, *, room_id: UUID, member_id: UUID, now: datetime) -> None:
        if member_id == people[0]:
            raise ZeroDivisionError
        came.append(member_id)

    monkeypatch.setattr(rooms, "people_who_come_anew", people_who_come_anew)
    monkeypatch.setattr(meeting, "come_anew", come_anew)

    await make_groups(database, fake_clock)

    assert came == people[1:]
    assert await alerts(database) == [("work_failed", True)]
