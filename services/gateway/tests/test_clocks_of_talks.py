"""The time of a conversation leaves out pauses of its experiment and of its member, and holds of its cohort."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import combinations
from typing import Any, Final
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from parley_lab.drafts import drafts
from parley_lab.gateway.testing import Api
from parley_lab.members import held_cohorts
from parley_lab.members.guarding import Guard
from parley_lab.members.standings import standing_of
from parley_lab.talk.scenes import lock_scene

pytestmark = pytest.mark.postgres

GUIDED: Final[dict[str, Any]] = {
    "personas": [{"id": "guide", "text": "You answer questions.", "profile": {"name": "Guide"}}],
    "stages": [{"id": "talk", "kind": "private_chat", "time_limit_seconds": 100_000}],
    "cohorts": [{"seats": [{"open": True}], "mediators": ["guide"]}],
}
SAID: Final = {"text": "Hello.", "client_message_id": "1"}
CALLED: Final = """
    INSERT INTO model_calls (id, draft_id, attempt, path, provider, model_asked, model_mode, settings, prompt_hash,
        status, started_at, finished_at)
    SELECT gen_random_uuid(), d.id, 1, d.path, d.provider, 'm', 'mock', '{}', '', 'timeout', :now, :now FROM drafts d
"""


class Talk:
    """One person's private conversation with a mediator."""

    def __init__(self, api: Api, experiment_id: str, token: str, ids: Any) -> None:
        self._api, self._experiment_id, self.token = api, experiment_id, token
        self.thread_id, self._cohort_id, self._member_id = UUID(ids.id), ids.cohort_id, ids.member_id

    async def do(self, act: str) -> None:
        now = self._api.clock.now()
        if act == "hold":
            await Guard(self._api.database).do("cohort", self._cohort_id, _fail, now)
        elif act == "release":
            async with self._api.database.transaction() as session:
                await held_cohorts.release(session, self._cohort_id, now)
        else:
            whose, _, what = act.partition(" ")
            place = f"members/{self._member_id}" if whose == "member" else f"experiments/{self._experiment_id}"
            done = await self._api.experimenter("POST", f"/v1/{place}/{what}")
            assert done.status_code == 200, done.text

    async def say(self) -> None:
        url = f"/v1/me/threads/{self.thread_id}/messages"
        said = await self._api.participant(self.token, "POST", url, json=SAID)
        assert said.status_code == 201, said.text

    async def clocks(self) -> tuple[int, int]:
        """The seconds since the beginning and since the last message, as the member reads them."""
        async with self._api.database.read() as session:
            standing = await standing_of(session, self._member_id)
        assert standing.stage is not None
        thread = standing.view(standing.stage, self._api.clock.now()).thread
        assert thread is not None
        return thread.clock.elapsed_ms // 1000, thread.clock.silent_ms // 1000

    async def clocks_under_the_lock(self) -> tuple[int, int]:
        """The same, as what is done in the thread reads them; only while nothing is paused."""
        async with self._api.database.transaction() as session:
            scene = await lock_scene(session, self.thread_id, self._api.clock.now())
        assert scene.last_spoken_at is not None
        return scene.real_ms() // 1000, (scene.now - scene.last_spoken_at) // timedelta(seconds=1)


async def _fail() -> None:
    raise ZeroDivisionError


@pytest.fixture
async def talk(api: Api) -> AsyncIterator[Talk]:
    experiment_id = await api.running(**GUIDED)
    token = await api.join(experiment_id)
    query = """
        SELECT CAST(t.id AS text) AS id, t.cohort_id, m.id AS member_id
        FROM threads t JOIN members m ON t.scope = 'private:' || m.path
    """
    async with api.database.read() as session:
        yield Talk(api, experiment_id, token, await session.one(text(query)))


HOLD: Final = ("hold", "release")
PAUSED: Final = (
    ("member pause", "member resume"),
    ("experiment pause", "experiment resume"),
    ("member pause", "experiment pause", "experiment resume", "member resume"),
)


def courses() -> list[list[str]]:
    """All orders in which a cohort can be held around and between the pauses."""
    found = []
    for pauses in PAUSED:
        for places in combinations(range(len(pauses) + 2), 2):
            rest, holds = iter(pauses), iter(HOLD)
            found.append([next(holds) if place in places else next(rest) for place in range(len(pauses) + 2)])
    return found


async def test_the_time_of_a_talk_is_the_time_in_which_it_could_go_on(api: Api, talk: Talk) -> None:
    await talk.say()
    went, stopped = 0, set[str]()

    for course in courses():
        for number, act in enumerate(course, 1):
            await talk.do(act)
            what = act.split()[0].replace("release", "hold")
            stopped ^= {what}
            api.clock.advance(seconds := 10**number)
            went += 0 if stopped else seconds
            assert (await talk.clocks())[0] == went, (course, act)
            if stopped <= {"hold"}:
                assert (await talk.clocks_under_the_lock())[0] == went, (course, act)


@pytest.mark.parametrize("act", ["member resume", "experiment resume"])
async def test_the_end_of_a_hold_and_of_a_pause_at_once_count_each_moment_once(api: Api, talk: Talk, act: str) -> None:
    await talk.say()
    for _ in range(5):
        await talk.do("hold")
        api.clock.advance(10)
        await talk.do(act.replace("resume", "pause"))
        api.clock.advance(100)

        await asyncio.gather(talk.do(act), talk.do("release"))
        api.clock.advance(1)

    assert await talk.clocks() == await talk.clocks_under_the_lock()
    assert (await talk.clocks())[0] == 5


@pytest.mark.parametrize("who", ["member", "experiment"])
async def test_no_pause_counts_as_silence(api: Api, talk: Talk, who: str) -> None:
    await talk.say()
    api.clock.advance(60)

    await talk.do(f"{who} pause")
    api.clock.advance(3_600)
    in_the_pause = await talk.clocks()
    await talk.do(f"{who} resume")
    api.clock.advance(5)
    after, under_the_lock = await talk.clocks(), await talk.clocks_under_the_lock()

    assert in_the_pause == (60, 60)
    assert after == under_the_lock == (65, 5)


async def test_a_conversation_that_opens_while_its_cohort_is_held_begins_at_zero(api: Api) -> None:
    experiment_id = await api.running(**GUIDED)
    async with api.database.read() as session:
        cohort_id = (await session.one(text("SELECT id FROM cohorts"))).id
    await Guard(api.database).do("cohort", cohort_id, _fail, api.clock.now())
    api.clock.advance(1_000)
    await api.join(experiment_id)
    api.clock.advance(30)
    async with api.database.transaction() as session:
        (thread,) = await session.all(text("SELECT id FROM threads"))
        before = (await lock_scene(session, thread.id, api.clock.now())).real_ms()
    async with api.database.transaction() as session:
        await held_cohorts.release(session, cohort_id, api.clock.now())
    api.clock.advance(7)
    async with api.database.transaction() as session:
        after = (await lock_scene(session, thread.id, api.clock.now())).real_ms()

    assert (before, after) == (0, 7_000)


@pytest.mark.parametrize("who", ["member", "experiment"])
async def test_the_time_for_new_attempts_leaves_out_a_pause(api: Api, talk: Talk, who: str) -> None:
    await talk.say()
    async with api.database.transaction() as session:
        await session.run(text(CALLED), {"now": api.clock.now()})
    await talk.do(f"{who} pause")
    api.clock.advance(3_600)
    await talk.do(f"{who} resume")
    resumed_at = api.clock.now()
    api.clock.advance(1)
    async with api.database.transaction() as session:
        (draft,) = await session.all(text("SELECT id FROM drafts WHERE state = 'wanted'"))
        now = api.clock.now()
        lease = await drafts.lease(session, draft.id, uuid4(), now, now + timedelta(seconds=60))

    assert lease is not None
    assert lease.first_called_at == resumed_at
