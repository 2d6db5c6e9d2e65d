"""Agents are offered a place in another cohort, in a whole lab: they answer in their next step, without a call."""

import asyncio
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from parley_lab.base.errors import Conflict
from parley_lab.base.settings import ServerSettings
from parley_lab.experiments.pausing import pause, resume
from parley_lab.members.standings import lock_standing
from parley_lab.people import transferring
from parley_lab.testing.fake_endpoint import Replies
from tests.flows.rooms import Room, eventually, talking_room_in
from tests.flows.talking import answer

pytestmark = pytest.mark.postgres

Data = dict[str, Any]
STUDY: Final = """
parley: 1
name: Two rooms
seed: 5
pace: live
model_mode: real
personas:
  - {{id: mover, text: I am Mover., profile: {{name: Mover}}, chat: {{words_per_minute: 0, max_responses: 3}},
     transfers: {transfers}}}
  - {{id: other, text: I am Other., profile: {{name: Other}}, chat: {{words_per_minute: 0, max_responses: 0}}}}
stages:
  - {{id: talk, kind: group_chat}}
  - {{id: after, kind: info, lines: [Bye]}}
cohorts:
  - {{seats: [{{persona: mover}}, {{open: true}}]}}
  - {{seats: [{{persona: other}}, {{open: true}}]}}
"""


def said_here(request: Data) -> Data:
    return answer(request, "I hear you." if "hello" in str(request["messages"]) else None)


async def offered(room: Room, member_id: UUID, path: str, *, seconds: float = 60) -> None:
    (cohort,) = await room.rows("SELECT id FROM cohorts WHERE path = :path", path=path)
    async with room.lab.database.transaction() as session:
        standing = await lock_standing(session, member_id)
        now = room.lab.clock.now()
        await transferring.offer(session, standing, cohort.id, now, seconds=seconds, actor="Ellen")


async def test_an_agent_accepts_without_a_call_and_talks_on_in_the_other_cohort(
    servers: ServerSettings, tmp_path: Path
) -> None:
    async with talking_room_in(servers, tmp_path / "lab", said_here) as room:
        await room.open(STUDY.format(transfers="accept"), people=2)

        async def have_begun() -> bool:
            return len(await room.rows("SELECT 1 FROM threads")) == 2

        await eventually(have_begun)
        await room.at_rest()
        room.endpoint.reset()
        mover = await room.agent("Mover")

        await offered(room, mover, "c2")

        async def has_moved() -> bool:
            query = "SELECT 1 FROM members m JOIN cohorts c ON c.id = m.cohort_id WHERE m.id = :id AND c.path = 'c2'"
            return bool(await room.rows(query, id=mover))

        await eventually(has_moved)
        calls = [call for call in room.endpoint.calls if "hello" in str(call)]
        (person,) = await room.rows(
            "SELECT m.id FROM members m JOIN cohorts c ON c.id = m.cohort_id"
            " WHERE m.player = 'person' AND c.path = 'c2'"
        )
        (thread,) = await room.rows(
            "SELECT t.id FROM threads t JOIN cohorts c ON c.id = t.cohort_id WHERE c.path = 'c2'"
        )
        posted = await room.api(
            person.id, "POST", f"/v1/me/threads/{thread.id}/messages", json={"text": "hello", "client_message_id": "1"}
        )

        async def has_answered() -> bool:
            query = "SELECT 1 FROM messages WHERE thread_id = :thread AND member_id = :id"
            return bool(await room.rows(query, thread=thread.id, id=mover))

        await eventually(has_answered)

        assert (calls, posted.status_code) == ([], 201)
        told = await room.rows("SELECT type FROM events WHERE subject_id = :id ORDER BY seq", id=mover)
        kinds = {"member.transfer_offered", "member.transferred", "member.arrived"}
        assert sorted(row.type for row in told if row.type in kinds) == sorted(kinds)


def deciding(reply: Any) -> Replies:
    """Models that answer `reply` when they are offered a move."""

    def replies(request: Data) -> Any:
        return reply if "another group" in str(request["messages"]) else said_here(request)

    return replies


NO: Final = {"accept": False, "explanation": "I like it here"}


async def status_of(room: Room, member_id: UUID) -> tuple[str, str]:
    (row,) = await room.rows(
        "SELECT m.status, c.path FROM members m JOIN cohorts c ON c.id = m.cohort_id WHERE m.id = :id", id=member_id
    )
    return row.status, row.path


@pytest.mark.parametrize(
    ("reply", "then"),
    [
        ({"accept": True, "explanation": "Why not"}, ("in_progress", "c2")),
        (NO, ("transfer_declined", "c1")),
        ({"explanation": "I do not know"}, ("in_progress", "c2")),
    ],
    ids=["yes", "no", "no usable reply"],
)
async def test_the_model_of_an_agent_is_asked_where_its_persona_says_so(
    servers: ServerSettings, tmp_path: Path, reply: Any, then: tuple[str, str]
) -> None:
    async with talking_room_in(servers, tmp_path / "lab", deciding(reply)) as room:
        await room.open(STUDY.format(transfers="ask"), people=2)
        mover = await room.agent("Mover")

        await offered(room, mover, "c2")

        async def is_decided() -> bool:
            return (await status_of(room, mover))[0] != "transfer_pending"

        await eventually(is_decided)
        await room.at_rest()

        assert await status_of(room, mover) == then
        asks = await room.rows("SELECT state FROM asks WHERE purpose = 'transfer'")
        assert [row.state for row in asks] == ["answered" if "accept" in reply else "failed"]
        calls = await room.rows(
            "SELECT k.status FROM model_calls k JOIN drafts d ON d.id = k.draft_id WHERE d.purpose = 'transfer'"
        )
        assert calls, "each call is on record"
        prompt = next(call for call in room.endpoint.calls if "another group" in str(call))
        assert "I am Mover." in str(prompt)


async def test_an_agent_whose_model_says_nothing_in_time_accepts(servers: ServerSettings, tmp_path: Path) -> None:
    never = asyncio.Event()

    async def waits(request: Data) -> Any:
        if "another group" in str(request["messages"]):
            await never.wait()
        return said_here(request)

    async with talking_room_in(servers, tmp_path / "lab", waits) as room:
        await room.open(STUDY.format(transfers="ask"), people=2)
        mover = await room.agent("Mover")

        await offered(room, mover, "c2", seconds=0.5)

        async def has_moved() -> bool:
            return await status_of(room, mover) == ("in_progress", "c2")

        await eventually(has_moved)
        never.set()
        await room.at_rest()

        assert await status_of(room, mover) == ("in_progress", "c2"), "the late reply changes nothing"


async def test_an_agent_whose_persona_declines_is_out(servers: ServerSettings, tmp_path: Path) -> None:
    async with talking_room_in(servers, tmp_path / "lab", said_here) as room:
        await room.open(STUDY.format(transfers="decline"), people=2)
        mover = await room.agent("Mover")

        await offered(room, mover, "c2")

        async def is_out() -> bool:
            return bool(
                await room.rows("SELECT 1 FROM members WHERE id = :id AND status = 'transfer_declined'", id=mover)
            )

        await eventually(is_out)
        with pytest.raises(Conflict, match="not taking part"):
            await offered(room, mover, "c2")


@pytest.mark.parametrize(
    ("reply", "then"),
    [({"accept": True, "explanation": "Why not"}, ("in_progress", "c2")), (NO, ("transfer_declined", "c1"))],
    ids=["yes", "no"],
)
async def test_a_decision_that_comes_in_a_pause_is_made_after_it(
    servers: ServerSettings, tmp_path: Path, reply: Any, then: tuple[str, str]
) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(request: Data) -> Any:
        if "another group" in str(request["messages"]):
            asked.set()
            await go.wait()
            return reply
        return said_here(request)

    async with talking_room_in(servers, tmp_path / "lab", slow) as room:
        await room.open(STUDY.format(transfers="ask"), people=2)
        mover = await room.agent("Mover")
        await offered(room, mover, "c2")
        async with asyncio.timeout(20):
            await asked.wait()
        async with room.lab.database.transaction() as session:
            await pause(session, room.experiment_id, room.lab.clock.now())
        go.set()

        async def is_back() -> bool:
            return bool(await room.rows("SELECT 1 FROM drafts WHERE purpose = 'transfer' AND state <> 'thinking'"))

        await eventually(is_back)
        in_the_pause = await status_of(room, mover)
        async with room.lab.database.transaction() as session:
            await resume(session, room.experiment_id, room.lab.clock.now())

        async def is_decided() -> bool:
            return await status_of(room, mover) == then

        await eventually(is_decided)
        assert in_the_pause == ("transfer_pending", "c1")
