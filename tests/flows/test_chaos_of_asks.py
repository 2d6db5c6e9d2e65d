"""Games and interviews in which hints are lost, work is broken off, connections break and people leave."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.steps import take_step
from parley_lab.answers import answering
from parley_lab.answers.advancing import end_member, move_on
from parley_lab.base.errors import Conflict, InvalidInput, NotFound, Unavailable
from parley_lab.contracts.hints import Hint
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.kinds import Ask, Done
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.settling import settle
from parley_lab.settle.settling import CohortBusy
from parley_lab.store.databases import connect
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from parley_lab.testing.rounds import rounds_for_info
from tests.flows.drain import DrainLab
from tests.flows.interviewing import Telling, small
from tests.flows.test_chaos import Chaos
from tests.flows.test_shared_asks import GAME

ROUNDS = 60
DOCUMENTS: tuple[Callable[[], str], ...] = (
    small,
    lambda: small(people=("A",)),
    lambda: GAME,
    lambda: GAME.replace("{persona: cid}", "{open: true}"),
    lambda: live(small(people=("A",))),
    lambda: live(GAME),
)


def live(document: str) -> str:
    """The same in pace live, where answers of agents are kept for a while before they are given."""
    if document.startswith("{"):
        return json.dumps({**json.loads(document), "pace": "live"})
    return f"{document}pace: live\n"


class Slow(Telling):
    """Replies after a while, sometimes with nothing of use."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._rng = rng

    async def reply(self, request: ModelRequest) -> ModelReply:
        for _ in range(self._rng.choice((0, 1, 5, 50))):
            await asyncio.sleep(0)
        if self._rng.random() < 0.08:
            return ModelReply(status="invalid", raw="zzz", error="no JSON")
        reply = await super().reply(request)
        if request.purpose == "number":
            return reply.model_copy(update={"parsed": {"number": 7}, "raw": '{"number": 7}'})
        return reply


class ChaosOfAsks(Chaos):
    """What may befall asks that depend on what others answer."""

    def __init__(self, lab: DrainLab, rng: Random, experiment_id: UUID, elsewhere: Database) -> None:
        super().__init__(lab, rng, experiment_id)
        self._elsewhere = elsewhere

    async def let_people_in(self) -> None:
        open_seats = await self._lab.rows("SELECT 1 FROM members WHERE status = 'expected'")
        for _ in open_seats[: self._rng.randint(0, len(open_seats))]:
            self._people.append((await self._lab.join(self._experiment_id))[0])
        self._members = [row.id for row in await self._lab.rows("SELECT id FROM members ORDER BY path")]
        self._cohorts = [row.id for row in await self._lab.rows("SELECT id FROM cohorts ORDER BY path")]

    async def rage(self, *, rounds: int = ROUNDS) -> None:
        for number in range(rounds):
            hints = self._some_hints() * self._rng.choice((1, 2))
            working = [asyncio.create_task(work) for work in (*map(self._handle, hints), self._act(), self._act())]
            await self._break_off(working)
            if number % 10 == 0:
                with suppress(Unavailable):
                    self._lab.hints += await self._overlooked()

    async def send_people_home(self) -> None:
        while True:
            with suppress(Unavailable):
                await self._look_elsewhere()
                break
        await super().send_people_home()

    async def _break_off(self, working: list[asyncio.Task[None]]) -> None:
        if self._rng.random() < 0.3:
            for _ in range(self._rng.choice((0, 3, 10, 30))):
                await asyncio.sleep(0)
            for work in self._rng.sample(working, self._rng.randint(1, len(working))):
                work.cancel()
        for outcome in await asyncio.gather(*working, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _handle(self, hint: Hint) -> None:
        await _refused(lambda: self._lab.deliver([hint]))

    async def _act(self) -> None:
        acts: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (25, self._answer),
            (2, self._take_someone_out),
            (10, self._step_someone),
            (10, self._settle_some_cohort),
            (5, self._let_time_pass),
            (5, self._publish_due),
            (4, self._break_connections),
            (10, self._look_elsewhere),
        ]
        (act,) = self._rng.choices([act for _, act in acts], [weight for weight, _ in acts])
        await _refused(act)

    async def _answer(self) -> None:
        if not self._people:
            return
        now = self._lab.clock.now()
        async with self._lab.database.transaction() as session:
            standing = await lock_standing(session, self._rng.choice(self._people))
            stage = standing.stage
            if not standing.is_in_progress or stage is None or standing.is_locked:
                return
            if not standing.asks:
                if isinstance(kind_of(stage).completion(stage, standing.view(stage, now)), Done):
                    await move_on(session, standing, now, cause="test")
                return
            found = self._rng.choice(standing.asks)
            ask = Ask(standing.member.id, found.key, found.purpose)
            said: Any = 5 if found.purpose == "number" else "I say."
            questions = parts_of(stage).questions
            assert questions is not None
            question = questions.question(standing.view(stage, now), ask)
            assert question is not None
            value = question.check(said)
            if await answering.answer(session, found.id, value, now):
                answering.record_answer(session, standing, stage.id, ask, value, now, cause="test")

    async def _take_someone_out(self) -> None:
        async with self._lab.database.transaction() as session:
            standing = await lock_standing(session, self._rng.choice(self._members))
            if standing.member.kind == "participant":
                await end_member(session, standing, "removed", "for the test", self._lab.clock.now(), cause="test")

    async def _step_someone(self) -> None:
        async with self._lab.database.transaction() as session:
            await take_step(session, self._rng.choice(self._members), self._lab.clock.now())

    async def _settle_some_cohort(self) -> None:
        await settle(self._lab.database, self._rng.choice(self._cohorts), self._lab.clock.now())

    async def _break_connections(self) -> None:
        async with self._elsewhere.transaction() as session:
            await session.all(_BREAK, {"most": self._rng.choice((1, 2, 20))})

    async def _look_elsewhere(self) -> None:
        async with self._lab.database.read() as session:
            await session.one(text("SELECT count(*) AS n FROM members"))


_BREAK = text(
    """
    SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT :most) AS chosen
    """
)


async def _refused(act: Callable[[], Awaitable[object]]) -> None:
    """Do it, unless the lab says no: that is an answer."""
    with suppress(CohortBusy, Conflict, InvalidInput, NotFound, Unavailable):
        await act()


@pytest.fixture(autouse=True)
def _game() -> Iterator[None]:
    with rounds_for_info():
        yield


@pytest.mark.parametrize("seed", quick_first(range(6), 1))
async def test_whatever_happens_each_answer_counts_once_and_every_run_ends(database: Database, seed: int) -> None:
    rng = Random(seed)
    elsewhere = connect(database.url, pool_size=1)
    settings = WorkerSettings(look_seconds=0)
    lab = DrainLab(database, models={"mock": Slow(rng)}, settings=settings)
    chaos = ChaosOfAsks(lab, rng, await lab.start(DOCUMENTS[seed % len(DOCUMENTS)]()), elsewhere)
    await chaos.let_people_in()

    await chaos.rage()
    await chaos.send_people_home()
    await chaos.calm_down()
    await elsewhere.close()

    assert [row.status for row in await lab.rows("SELECT status FROM experiments")] == ["ended"]
    for name, query in WRONG.items():
        assert not await lab.rows(query), name


WRONG = {
    "a draft is open": "SELECT 1 FROM drafts WHERE state IN ('wanted', 'thinking', 'ready')",
    "an ask of a participant is open": """
        SELECT 1 FROM asks k JOIN members m ON m.id = k.member_id WHERE k.state = 'open' AND m.kind = 'participant'
    """,
    "a thread is open": "SELECT 1 FROM threads WHERE ended_at IS NULL",
    "events have gaps": "SELECT 1 FROM events GROUP BY cohort_id HAVING count(*) <> max(stream_seq)",
    "a counter is not that of the events": """
        SELECT 1 FROM streams s WHERE s.last <> (SELECT count(*) FROM events e WHERE e.cohort_id = s.cohort_id)
    """,
    "a cohort is unsettled": "SELECT 1 FROM streams WHERE settled < unsettled",
    "messages have gaps": "SELECT 1 FROM messages GROUP BY thread_id HAVING count(*) <> max(seq)",
    "a line of minutes stands twice": """
        SELECT 1 FROM messages WHERE client_key IS NOT NULL GROUP BY thread_id, client_key HAVING count(*) > 1
    """,
    "an ask is answered without an answer": """
        SELECT 1 FROM asks k WHERE k.state = 'answered' AND NOT EXISTS (SELECT FROM answers a
            WHERE (a.member_id, a.stage_id, a.key) = (k.member_id, k.stage_id, k.key) AND a.valid)
    """,
    "an ask was answered in silence, or twice": """
        SELECT 1 FROM asks k WHERE k.state = 'answered' AND k.stage_id IN ('game', 'interview') AND 1 <> (
            SELECT count(*) FROM events e WHERE e.type = 'ask.answered' AND e.subject_id = k.member_id
                AND e.payload ->> 'stage_id' = k.stage_id AND e.payload ->> 'key' = k.key)
    """,
    "an answer is told of that nobody gave": """
        SELECT 1 FROM events e WHERE e.type = 'ask.answered' AND NOT EXISTS (SELECT FROM answers a
            WHERE a.member_id = e.subject_id AND a.key = e.payload ->> 'key' AND a.value = e.payload -> 'value')
    """,
    "a draft did not become what it says": """
        SELECT 1 FROM drafts d JOIN asks k ON k.id = d.ask_id
        WHERE (d.state = 'answered') <> (k.state = 'answered') AND d.state <> 'cancelled'
    """,
    "an answer was counted before it was given": """
        SELECT 1 FROM answers a JOIN events e ON e.type = 'ask.answered' AND e.subject_id = a.member_id
            AND e.payload ->> 'key' = a.key AND e.payload ->> 'stage_id' = a.stage_id
        WHERE a.counted_at < e.stream_seq
    """,
    "an ask came before what it depends on": """
        SELECT 1 FROM asks k JOIN streams s USING (cohort_id) WHERE k.as_of > s.last
    """,
}
