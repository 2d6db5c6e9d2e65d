"""Failures stay bounded, recorded and local: odd replies, broken rows, empty seats."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.answers.advancing import end_member, move_on
from parley_lab.bus.in_process import InProcessBus
from parley_lab.contracts.lives import Outcome
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.service import Orchestrator
from parley_lab.settle.watch import find_stuck
from parley_lab.store.session import Database
from parley_lab.testing.buses import Inbox
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

SURVEY = """
parley: 1
name: A survey
seed: 0
personas: [{id: ada}]
stages: [{id: q, kind: survey, questions: [{id: why, kind: text, title: Why}]}]
cohorts: [{seats: [{persona: ada}]}]
"""

ROOM = """
parley: 1
name: A room
seed: 0
personas: [{id: ada}, {id: bob}]
stages: [{id: talk, kind: group_chat, max_agent_run: 1}]
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""

PEOPLE = """
parley: 1
name: Two people
seed: 0
pace: live
stages: [{id: talk, kind: group_chat, time_limit_seconds: 60, progress: {wait_for_all: false}}]
cohorts: [{seats: [{open: true}, {open: true}]}]
"""

PEOPLE_WHO_ARRIVE = PEOPLE.replace("stages: [", "stages: [{id: first, kind: info, lines: [One.]}, ")

TOO_FEW = """
parley: 1
name: Too few
seed: 0
pace: live
stages:
  - {id: first, kind: info, lines: [One.]}
  - {id: second, kind: info, lines: [Two.], progress: {min_participants: 2}}
cohorts: [{seats: [{open: true}, {open: true}]}]
seat_again: []
"""

_MANY_MORE_DRAFTS = text(
    """
    INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, thread_id, trigger_key, purpose, provider,
        not_before, created_at)
    SELECT gen_random_uuid(), path || n, cohort_id, stage_id, member_id, thread_id, trigger_key || n, purpose, provider,
        not_before, created_at
    FROM drafts, generate_series(1, 500) n
    """
)
_HOPELESS_DESIGN = text("UPDATE treatments SET resolved = '{}' WHERE experiment_id = :id")
# A process caches designs by version.
_NEXT_VERSION = text("UPDATE experiments SET version = version + 1 WHERE id = :id")
_EMPTY_OUTBOX = text("DELETE FROM outbox")

MOST_CALLS = 4
"""How often the default settings of a model let it be asked for one reply."""


class Model:
    """Replies the same to everything; without a reply it raises."""

    def __init__(self, reply: ModelReply | None) -> None:
        self.calls = 0
        self._reply = reply

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        if self._reply is None:
            raise KeyError("a fault in a provider")
        return self._reply

    async def aclose(self) -> None:
        pass


def a_reply(**fields: Any) -> ModelReply:
    return ModelReply(
        **{"status": "ok", "parsed": {"why": "Because."}, "raw": "{}", "model_returned": "test", **fields}
    )


def something_to_say() -> ModelReply:
    return a_reply(parsed={"explanation": "", "shouldRespond": True, "response": "Hi.", "readyToEndChat": False})


class Overtaken(Model):
    """Another worker takes the draft over while this one waits for the model."""

    def __init__(self, reply: ModelReply, database: Database) -> None:
        super().__init__(reply)
        self._database = database

    async def reply(self, request: ModelRequest) -> ModelReply:
        async with self._database.transaction() as session:
            await session.run(text("UPDATE drafts SET lease_owner = gen_random_uuid() WHERE state = 'thinking'"))
        return await super().reply(request)


def levels(count: int) -> Any:
    value: Any = 1
    for _ in range(count):
        value = [value]
    return value


async def states(lab: DrainLab) -> list[str]:
    return [row.state for row in await lab.rows("SELECT state FROM drafts ORDER BY path")]


async def recorded_calls(lab: DrainLab) -> int:
    return len(await lab.rows("SELECT 1 FROM model_calls"))


async def take_out(lab: DrainLab, member_id: UUID, status: Outcome) -> None:
    async with lab.database.transaction() as session:
        standing = await lock_standing(session, member_id)
        assert await end_member(session, standing, status, "for the test", lab.clock.now(), cause="test")


async def advance(lab: DrainLab, member_id: UUID) -> None:
    async with lab.database.transaction() as session:
        await move_on(session, await lock_standing(session, member_id), lab.clock.now(), cause="test")


@pytest.mark.parametrize(
    "document", [SURVEY, ROOM, ROOM.replace("{id: ada}", "{id: ada, chat: {words_per_minute: 40}}") + "pace: live\n"]
)
async def test_a_reply_under_a_lease_that_another_worker_has_by_now_is_not_saved(
    database: Database, document: str
) -> None:
    reply = something_to_say() if "talk" in document else a_reply()
    lab = DrainLab(database, models={"mock": Overtaken(reply, database)})
    await lab.start(document)
    await only_steps(lab)
    draft_id = UUID(lab.next_hints()[0].id)

    await lab.thinker.work_on(draft_id)

    # It was paid, so that it is recorded; the draft is the other worker's.
    assert await recorded_calls(lab) == 1
    (draft,) = await lab.rows("SELECT state, reply, lease_owner FROM drafts WHERE id = :id", id=draft_id)
    assert (draft.state, draft.reply, draft.lease_owner is None) == ("thinking", None, False)
    assert not await lab.rows("SELECT 1 FROM answers")
    assert not await lab.rows("SELECT 1 FROM messages WHERE author_kind = 'agent'")


@pytest.mark.parametrize(
    "parsed",
    [{"why": "a\x00b"}, {"why\x00": "x"}, {"why": "\ud800"}, {"why": levels(400)}, {"why": 2**70}],
    ids=["nul", "nul_in_key", "half_character", "deep", "large"],
)
async def test_a_reply_that_cannot_be_stored_is_recorded_and_given_up(
    database: Database, parsed: dict[str, Any]
) -> None:
    model = Model(a_reply(parsed=parsed))
    lab = DrainLab(database, models={"mock": model})
    await lab.start(SURVEY)

    await lab.drain()

    assert await states(lab) == ["invalid"]
    assert model.calls == await recorded_calls(lab) == MOST_CALLS


@pytest.mark.parametrize("age", [1e25, 1e308])
async def test_a_whole_number_that_is_too_large_once_it_is_one_is_recorded_and_given_up(
    database: Database, age: float
) -> None:
    model = Model(a_reply(parsed={"age": age}))
    lab = DrainLab(database, models={"mock": model})
    question = "{id: age, kind: number, title: Age, integer: true}"
    await lab.start(SURVEY.replace("{id: why, kind: text, title: Why}", question))

    await lab.drain()

    assert await states(lab) == ["invalid"]
    assert model.calls == await recorded_calls(lab) == MOST_CALLS


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"status": "invalid", "parsed": None, "raw": "a\x00b", "error": "no JSON"}, "invalid"),
        ({"status": "error", "parsed": None, "error": "a\x00b"}, "failed"),
        ({"status": "rate_limited", "parsed": None, "retry_after_seconds": 1e18}, "failed"),
        ({"tokens_in": 10**12}, "answered"),
        ({"model_returned": "a\x00b"}, "answered"),
    ],
    ids=["raw", "error", "retry_after", "tokens", "model"],
)
async def test_what_a_provider_says_beside_its_reply_never_keeps_it_from_being_recorded(
    database: Database, fields: dict[str, Any], state: str
) -> None:
    model = Model(a_reply(**fields))
    lab = DrainLab(database, models={"mock": model})
    await lab.start(SURVEY)

    await lab.drain()

    assert await states(lab) == [state]
    assert model.calls == await recorded_calls(lab) <= MOST_CALLS


async def test_a_draft_whose_provider_raises_is_given_up_after_a_few_leases_with_an_alert(database: Database) -> None:
    model = Model(None)
    lab = DrainLab(database, models={"mock": model})
    await lab.start(SURVEY)

    await lab.drain()

    ((state, leases),) = await lab.rows("SELECT state, attempts FROM drafts")
    assert state == "failed"
    assert 1 < leases == model.calls < 10
    assert [row.type for row in await lab.rows("SELECT type FROM alerts")] == ["model_failed"]


async def test_the_watchdog_sees_past_drafts_of_a_provider_that_no_one_serves(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(ROOM.replace("name: A room", "name: Unserved\nmodel_mode: real"))
    await only_steps(lab)
    async with database.transaction() as session:
        await session.run(_MANY_MORE_DRAFTS)
    lab.clock.advance(60)
    await lab.start(SURVEY)
    await only_steps(lab)
    (mine,) = await lab.rows("SELECT id FROM drafts WHERE provider = 'mock'")
    async with database.transaction() as session:
        await session.run(_EMPTY_OUTBOX)
    lab.clock.advance(60)
    bus, inbox = InProcessBus(), Inbox()
    await bus.consume("agent-worker.mock", inbox.handle, prefetch=1)

    await Orchestrator(database=database, bus=bus, clock=lab.clock).watch()

    async with asyncio.timeout(5):
        assert (await inbox.next()).id == str(mine.id)
    await bus.close()


async def test_a_timer_that_cannot_take_effect_does_not_stop_the_others(database: Database) -> None:
    lab = DrainLab(database)
    experiments = [await lab.start(PEOPLE.replace("60", limit)) for limit in ("60", "61")]
    for experiment_id in experiments:
        await lab.join(experiment_id)
    await lab.drain()
    async with database.transaction() as session:
        await session.run(_HOPELESS_DESIGN, {"id": experiments[0]})
        await session.run(_NEXT_VERSION, {"id": experiments[0]})
    lab.clock.advance(120)

    await lab.fire_timers()

    timers = await lab.rows(
        "SELECT c.experiment_id, t.state FROM timers t JOIN cohorts c ON c.id = t.cohort_id ORDER BY t.due_at"
    )
    assert timers == [(experiments[0], "armed"), (experiments[1], "fired")]


async def test_a_thread_ends_with_its_cohort_and_its_timer_with_it(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(PEOPLE_WHO_ARRIVE)
    early, late = [(await lab.join(experiment_id))[0] for _ in range(2)]
    await lab.drain()
    await advance(lab, early)
    await lab.drain()
    await advance(lab, early)
    await lab.drain()
    assert [row.ended_at for row in await lab.rows("SELECT ended_at FROM threads")] == [None]

    await take_out(lab, late, "left")
    await lab.drain()

    assert [row.status for row in await lab.rows("SELECT status FROM cohorts")] == ["ended"]
    assert [row.end_reason for row in await lab.rows("SELECT end_reason FROM threads")] == ["everyone left"]
    assert [row.state for row in await lab.rows("SELECT state FROM timers")] == ["cancelled"]


async def test_a_person_before_a_stage_that_can_never_open_is_reported_as_stuck(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(TOO_FEW)
    waits, leaves = [(await lab.join(experiment_id))[0] for _ in range(2)]
    await lab.drain()
    await take_out(lab, leaves, "left")
    await advance(lab, waits)
    await lab.drain()

    async with database.transaction() as session:
        await session.run(_EMPTY_OUTBOX)
        stuck = await find_stuck(session, experiment_id)

    assert [(one.stage_id, "never opens" in one.reason) for one in stuck] == [("second", True)]


async def test_a_cohort_with_which_the_orchestrator_fails_each_time_is_stuck_after_a_while(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(SURVEY)
    async with database.transaction() as session:
        await session.run(_EMPTY_OUTBOX)
        early = await find_stuck(session, experiment_id, waits_since=lab.clock.now() - timedelta(seconds=60))
        lab.clock.advance(61)
        late = await find_stuck(session, experiment_id, waits_since=lab.clock.now() - timedelta(seconds=60))

    assert not early
    assert late
    assert all("an error in the rules" in one.reason for one in late)


async def test_removing_an_empty_seat_says_no_goodbye(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(PEOPLE)
    await lab.join(experiment_id)
    await lab.drain()
    (seat,) = await lab.rows("SELECT id FROM members WHERE status = 'expected'")
    assert await lab.rows("SELECT 1 FROM threads")

    await take_out(lab, seat.id, "removed")
    await lab.drain()

    assert not await lab.rows("SELECT text FROM messages")
