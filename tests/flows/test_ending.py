"""An experiment is paused, ended or deleted while models think: what was paid is kept, nothing else follows."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from parley_lab.agent_worker.models import Model, build_models
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.experiments import ending, pausing
from parley_lab.members.standings import lock_standing
from parley_lab.people.attention import send_check
from parley_lab.store.failures import is_deadlock
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.flows.half_done import WRONG as HALF_DONE
from tests.flows.test_chaos import WRONG

pytestmark = pytest.mark.postgres

_FILE: Final = """
parley: 1
name: In flight
seed: 4
pace: {pace}
personas: [{{id: ada, profile: {{name: Ada}}}}, {{id: bob, profile: {{name: Bob}}}}]
stages:
  - {stage}
  - {{id: after, kind: info, lines: [Bye.]}}
cohorts: [{{count: 3, seats: [{{persona: ada}}, {{persona: bob}}]}}]
"""
_QUESTIONS: Final = "questions: [{id: a, kind: text, title: A}, {id: b, kind: text, title: B}]"
FILES: Final = {
    "talk": _FILE.format(pace="fast", stage="{id: talk, kind: group_chat}"),
    "independent": _FILE.format(pace="fast", stage=f"{{id: page, kind: survey, ask: independent, {_QUESTIONS}}}"),
    "game": _FILE.format(pace="fast", stage="{id: game, kind: matrix_game, horizon: {type: fixed, rounds: 3}}"),
    "live talk": _FILE.format(pace="live", stage="{id: talk, kind: group_chat}"),
    "turns": _FILE.format(pace="fast", stage="{id: talk, kind: group_chat, turn_taking: round}"),
    "page": _FILE.format(pace="fast", stage=f"{{id: page, kind: survey, {_QUESTIONS}}}"),
}


class Thinking:
    """A model whose replies wait until `said` is set."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.asked, self.said = asyncio.Event(), asyncio.Event()
        self._inner: Model = build_models({})["mock"]

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.paths.append(request.path)
        self.asked.set()
        await self.said.wait()
        return await self._inner.reply(request)

    async def aclose(self) -> None:
        pass


@asynccontextmanager
async def in_flight(database: Database, document: str) -> AsyncIterator[tuple[DrainLab, UUID, Thinking]]:
    """A lab all of whose first calls are in flight; when the block ends, models reply, and all that can be is done."""
    model = Thinking()
    lab = DrainLab(database, models={"mock": model})
    experiment_id = await lab.start(document)
    calls: list[asyncio.Task[None]] = []
    while lab.hints:
        (hint,) = lab.next_hints()
        if hint.type == "draft.wanted":
            calls.append(asyncio.create_task(lab.deliver([hint])))
        else:
            await lab.deliver([hint])
    while len(model.paths) < len(calls):
        await model.asked.wait()
        model.asked.clear()
    yield lab, experiment_id, model
    model.said.set()
    await asyncio.gather(*calls)
    await lab.drain()
    for hint in await lab.overlooked():
        await lab.deliver([hint])
    await lab.drain()


async def in_transaction(lab: DrainLab, work: Callable[..., Awaitable[bool]], experiment_id: UUID) -> bool:
    async with lab.database.transaction() as session:
        return await work(session, experiment_id, lab.clock.now())


async def number(lab: DrainLab, query: str) -> int:
    return len(await lab.rows(query))


@pytest.mark.parametrize("name", quick_first(FILES, 3))
async def test_calls_in_flight_when_a_pause_comes_are_kept_and_used_after_it(database: Database, name: str) -> None:
    async with in_flight(database, FILES[name]) as (lab, experiment_id, model):
        await in_transaction(lab, pausing.pause, experiment_id)
        in_hand = len(model.paths)

    assert in_hand > 0
    assert len(model.paths) == in_hand == await number(lab, "SELECT 1 FROM model_calls WHERE status = 'ok'")
    assert not await lab.rows("SELECT 1 FROM messages")
    assert not await lab.rows("SELECT 1 FROM members WHERE position > 0")

    await in_transaction(lab, pausing.resume, experiment_id)
    await lab.drain()
    assert len(model.paths) == len(set(model.paths)), "nothing was paid twice"
    assert await number(lab, "SELECT 1 FROM model_calls") == len(model.paths)
    assert [row.status for row in await lab.rows("SELECT status FROM experiments")] == ["ended"]


@pytest.mark.parametrize("name", quick_first(FILES, 3))
async def test_calls_in_flight_when_the_end_comes_are_recorded_and_change_nothing(
    database: Database, name: str
) -> None:
    async with in_flight(database, FILES[name]) as (lab, experiment_id, model):
        assert await in_transaction(lab, ending.end, experiment_id)
        assert not await in_transaction(lab, ending.end, experiment_id)
        in_hand = len(model.paths)
        members = await lab.rows("SELECT path, status, position, version FROM members ORDER BY path")

    assert len(model.paths) == in_hand == await number(lab, "SELECT 1 FROM model_calls WHERE status = 'ok'")
    assert not await lab.rows("SELECT 1 FROM messages UNION ALL SELECT 1 FROM answers")
    assert await lab.rows("SELECT path, status, position, version FROM members ORDER BY path") == members
    assert {row.status for row in members} == {"removed"}
    assert not await lab.rows("SELECT 1 FROM asks WHERE state = 'open'")
    for wrong, query in WRONG.items():
        assert not await lab.rows(query), wrong


@pytest.mark.parametrize("name", quick_first(FILES, 3))
async def test_workers_stop_quietly_when_what_they_think_about_was_deleted(database: Database, name: str) -> None:
    with capture_logs() as logged:
        async with in_flight(database, FILES[name]) as (lab, experiment_id, _):
            await ending.delete(database, experiment_id, lab.clock.now())

    assert [entry for entry in logged if entry["log_level"] in ("warning", "error", "critical")] == []
    for table in ("experiments", "members", "drafts", "model_calls", "messages", "answers", "events", "asks", "alerts"):
        assert not await lab.rows(f"SELECT 1 FROM {table}"), table  # noqa: S608


@pytest.mark.race
@pytest.mark.parametrize(
    ("what", "name"),
    quick_first(
        [
            ("end", "talk"),
            ("delete", "independent"),
            ("end", "independent"),
            ("delete", "talk"),
            ("end", "game"),
            ("delete", "game"),
        ],
        2,
    ),
)
async def test_an_end_in_the_middle_of_everything_leaves_nothing_open(database: Database, name: str, what: str) -> None:
    for turns in (0, 3, 10, 30, 100, 200):
        lab = DrainLab(database, together=4)
        experiment_id = await lab.start(FILES[name])

        async def come_to_an_end(lab: DrainLab = lab, experiment_id: UUID = experiment_id, turns: int = turns) -> None:
            for _ in range(turns):
                await asyncio.sleep(0)
            if what == "end":
                await _again_after_deadlock(lambda: in_transaction(lab, ending.end, experiment_id))
            else:
                await ending.delete(database, experiment_id, lab.clock.now())

        await asyncio.gather(lab.drain(), come_to_an_end())
        await lab.drain()
        for hint in await lab.overlooked():
            await lab.deliver([hint])

        left = await lab.rows("SELECT status FROM experiments WHERE id = :id", id=experiment_id)
        assert [row.status for row in left] == (["ended"] if what == "end" else [])
        assert not await lab.rows("SELECT 1 FROM asks WHERE state = 'open'")
        for wrong, query in WRONG.items():
            assert not await lab.rows(query), wrong


async def _again_after_deadlock(work: Callable[[], Awaitable[Any]]) -> None:
    try:
        await work()
    except Exception as error:
        if not is_deadlock(error):
            raise
        await work()


@pytest.mark.parametrize("how", ["by itself", "around it"])
async def test_a_check_that_is_open_when_the_experiment_ends_ends_with_it(database: Database, how: str) -> None:
    document = FILES["page"].replace("count: 3, ", "count: 3, mediators: [ada], ")
    async with in_flight(database, document) as (lab, experiment_id, _):
        mediators = await lab.rows("SELECT id FROM members WHERE kind = 'mediator'")
        async with lab.database.transaction() as session:
            for mediator in mediators:
                standing = await lock_standing(session, mediator.id)
                await send_check(session, standing, lab.clock.now(), sent_by="lab", cause="request")
        # The mediators do not get to the step in which they would answer it.
        lab.hints.clear()
        if how == "around it":
            await in_transaction(lab, ending.end, experiment_id)

    assert await number(lab, "SELECT 1 FROM attention_checks WHERE outcome = 'missed'") == len(mediators) == 3
    for name, query in HALF_DONE.items():
        assert not await lab.rows(query), name
