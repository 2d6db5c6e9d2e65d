"""Who speaks, when and how often: the rules of conversations, in a whole lab, on Postgres and on both buses."""

import asyncio
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from parley_lab.base.settings import ServerSettings
from parley_lab.contracts.hints import Hint, provider_queue
from parley_lab.testing.quick import quick_first
from tests.flows.rooms import Room, eventually, reply, room_in

Data = dict[str, Any]

_ALL_DRAFTS = text("SELECT id FROM drafts")


def a_room(
    *agents: str, people: int = 1, stages: str = "", mediators: str = "", before: str = "", mode: str = "real"
) -> str:
    """A live conversation; each of `agents` is the chat settings of one, as in a file."""
    personas = [
        f"{{id: a{number}, profile: {{name: Agent {number}}}, chat: {{{chat}}}, model: {{max_attempts: 1}}}}"
        for number, chat in enumerate(agents)
    ]
    seats = [f"{{open: true, count: {people}}}", *(f"{{persona: a{number}}}" for number in range(len(agents)))]
    fields = f"max_agent_run: 1, post_limit: null, {stages or 'progress: {wait_for_all: true}'}"
    talk = f"{{id: talk, kind: group_chat, {fields}}}"
    mediating = [f"med{number}" for number in range(int(mediators or 0))]
    personas += [f"{{id: {one}, profile: {{name: {one.title()}}}}}" for one in mediating]
    return f"""
parley: 1
name: A room
seed: 0
pace: live
model_mode: {mode}
personas: [{", ".join(personas)}]
stages: [{before}{talk}, {{id: after, kind: info, lines: [Bye.]}}]
cohorts: [{{seats: [{", ".join(seats)}], mediators: [{", ".join(mediating)}]}}]
"""


def asked(request: Data) -> str:
    """All that the model was shown."""
    return "\n".join(message["content"] for message in request["messages"])


class Simultaneous:
    """Models that all answer at the instant at which the last one was asked."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._waiting: list[asyncio.Event] = []

    async def __call__(self, request: Data) -> Data:
        mine = asyncio.Event()
        self._waiting.append(mine)
        if len(self._waiting) == self._count:
            for waiting in self._waiting:
                waiting.set()
            self._waiting = []
        await mine.wait()
        return reply()


@pytest.mark.parametrize(
    ("words", "words_per_minute", "shortest", "longest"),
    [(6, "120", 2.25, 3.75), (50, "60", 10.0, 10.0), (6, "null", 0.0, 0.0)],
)
async def test_a_reply_is_due_after_the_time_that_typing_it_takes(
    servers: ServerSettings, tmp_path: Path, words: int, words_per_minute: str, shortest: float, longest: float
) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply("word " * words)) as room:
        await room.open_silently(a_room(f"words_per_minute: {words_per_minute}"))
        await room.say("Hello?")

        async def is_there() -> bool:
            return bool(await room.rows("SELECT 1 FROM drafts WHERE state IN ('ready', 'published')"))

        await eventually(is_there)
        (draft,) = await room.rows(
            "SELECT d.due_at - k.finished_at AS typing FROM drafts d JOIN model_calls k ON k.draft_id = d.id "
            "WHERE d.trigger_key LIKE 'message:%'"
        )

    assert shortest <= draft.typing.total_seconds() <= longest


@pytest.mark.race
@pytest.mark.parametrize("runs", quick_first([8, 100], 1))
async def test_five_agents_at_the_same_instant_give_one_reply_in_every_run(
    servers: ServerSettings, tmp_path: Path, runs: int
) -> None:
    async with room_in(servers, tmp_path / "lab", Simultaneous(5)) as room:
        await room.open_silently(a_room(*[""] * 5))
        said = []
        for number in range(runs):
            said.append(await room.say(f"Question {number}?"))
            await room.at_rest()
        paid = len(room.endpoint.calls)

        await _deliver_all_again(room)

        assert [len(await room.replies_to(message_id)) for message_id in said] == [1] * runs
        drafts = [draft for message_id in said for draft in await room.drafts_about(message_id)]
        assert Counter(draft.state for draft in drafts) == {"published": runs, "lost_claim": 4 * runs}
        assert paid == 5 * runs
        assert len(room.endpoint.calls) == paid + 5


async def _deliver_all_again(room: Room) -> None:
    """Announce every draft there ever was, twice, and then something new that has to be answered after them."""
    database = room.lab.database
    async with database.transaction() as session:
        for draft in await session.all(_ALL_DRAFTS):
            for correlation in ("again", "and again"):
                session.announce(Hint(provider_queue("openai"), "draft.wanted", str(draft.id), correlation))

    async def are_delivered() -> bool:
        return not await room.rows("SELECT 1 FROM outbox")

    await eventually(are_delivered)
    await room.say("One more?")
    await room.at_rest()


async def test_mediators_and_agents_give_one_reply_to_a_message_together(
    servers: ServerSettings, tmp_path: Path
) -> None:
    async with room_in(servers, tmp_path / "lab", Simultaneous(2)) as room:
        await room.open_silently(a_room("", "", "", mediators="2"))
        said = []
        for number in range(10):
            said.append(await room.say(f"Question {number}?"))
            await room.at_rest()

        assert [len(await room.replies_to(message_id)) for message_id in said] == [1] * 10
        speakers = await room.rows(
            "SELECT m.kind FROM messages g JOIN members m ON m.id = g.member_id WHERE g.author_kind = 'agent'"
        )
    assert Counter(row.kind for row in speakers) == {"mediator": 10}


@pytest.mark.parametrize("late_replies", ["said", "dropped"])
async def test_a_reply_to_a_message_that_was_overtaken_is_said_or_recorded_and_the_newer_one_is_answered(
    servers: ServerSettings, tmp_path: Path, late_replies: str
) -> None:
    thinking, overtaken = asyncio.Event(), asyncio.Event()

    async def slow_at_first(request: Data) -> Data:
        if "Second?" in asked(request):
            return reply("To the second.")
        thinking.set()
        await overtaken.wait()
        return reply("To the first.")

    async with room_in(servers, tmp_path / "lab", slow_at_first) as room:
        await room.open_silently(a_room("", stages=f"late_replies: {late_replies}"))
        first = await room.say("First?")
        await thinking.wait()
        second = await room.say("Second?")
        overtaken.set()
        await room.at_rest()

        (late,) = await room.drafts_about(first)
        assert late.reply["text"] == "To the first."
        if late_replies == "dropped":
            assert late.state == "moved_on"
            assert await room.replies_to(first) == []
            assert await room.replies_to(second) == ["To the second."]
        else:
            assert late.state == "published"
            assert await room.replies_to(first) == ["To the first."]
            assert [text for _, text in await room.transcript()][-2:] == ["To the first.", "To the second."]
            assert len(room.endpoint.calls) == 2


async def test_someone_who_types_all_the_time_is_answered_all_the_time_and_no_call_is_made_twice(
    servers: ServerSettings, tmp_path: Path
) -> None:
    async def takes_a_while(request: Data) -> Data:
        await asyncio.sleep(0.2)
        return reply()

    async with room_in(servers, tmp_path / "lab", takes_a_while) as room:
        await room.open_silently(a_room("", "", "", "", stages="quiet_seconds: 0.1, ready_check_every: 999"))
        for number in range(20):
            await room.say(f"Thing {number}?")
            await asyncio.sleep(0.1)
        before_the_end = len(await room.transcript()) - 20
        await room.at_rest()

        calls = await room.rows(
            "SELECT d.member_id, k.started_at, k.finished_at FROM model_calls k JOIN drafts d ON d.id = k.draft_id"
            " WHERE d.trigger_key LIKE 'message:%' ORDER BY d.member_id, k.started_at"
        )
        answered = await room.rows("SELECT trigger_key FROM messages WHERE trigger_key IS NOT NULL")
    assert before_the_end >= 3
    assert len(calls) <= 4 * len(answered)
    for one, other in pairwise(calls):
        assert one.member_id != other.member_id or one.finished_at <= other.started_at
    assert len(answered) == len({row.trigger_key for row in answered})


async def test_what_is_typed_in_quick_succession_is_asked_about_once_at_the_end_of_the_quiet_time(
    servers: ServerSettings, tmp_path: Path
) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply(speaks=False)) as room:
        await room.open_silently(a_room("", stages="quiet_seconds: 1.5"))
        said = [await room.say(f"Thing {number}?") for number in range(4)]

        async def are_asked() -> bool:
            return bool(await room.drafts_about(said[-1]))

        assert not await are_asked()
        await eventually(are_asked)
        await room.at_rest()

        assert [len(await room.drafts_about(message_id)) for message_id in said] == [1, 0, 0, 1]
        (timer,) = await room.rows("SELECT purpose, state, fired_at - due_at AS late FROM timers")
        assert (timer.purpose, timer.state) == ("quiet", "fired")
        assert len(room.endpoint.calls) == 2


async def test_who_has_said_as_much_as_they_may_is_not_called(servers: ServerSettings, tmp_path: Path) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply()) as room:
        await room.open_silently(a_room("max_responses: 2"))
        said = []
        for number in range(3):
            said.append(await room.say(f"Question {number}?"))
            await room.at_rest()

        assert [len(await room.replies_to(message_id)) for message_id in said] == [1, 1, 0]
        assert await room.drafts_about(said[2]) == []
        assert len(room.endpoint.calls) == 2


async def test_no_one_is_called_before_there_are_as_many_messages_as_they_wait_for(
    servers: ServerSettings, tmp_path: Path
) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply()) as room:
        await room.open_silently(a_room("min_messages_before_responding: 3"))
        said = []
        for number in range(3):
            said.append(await room.say(f"Question {number}?"))
            await room.at_rest()

        assert [len(await room.drafts_about(message_id)) for message_id in said] == [0, 0, 1]
        assert len(room.endpoint.calls) == 1


@pytest.mark.parametrize(("may", "calls"), [("false", 1), ("true", 3)])
async def test_who_spoke_last_is_called_only_if_they_may_answer_themselves(
    servers: ServerSettings, tmp_path: Path, may: str, calls: int
) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply()) as room:
        await room.open_silently(a_room(f"can_self_trigger: {may}").replace("max_agent_run: 1", "max_agent_run: 3"))
        await room.say("Hello?")
        await room.at_rest()

        assert len(room.endpoint.calls) == calls


async def test_who_has_left_is_not_called_any_more(servers: ServerSettings, tmp_path: Path) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply("Bye.", ready=True)) as room:
        await room.open_silently(a_room(""))
        first = await room.say("Hello?")
        await room.at_rest()
        last_line = (await room.rows("SELECT text FROM messages ORDER BY seq DESC LIMIT 1"))[0].text
        second = await room.say("Are you there?")
        await room.at_rest()

        assert await room.replies_to(first) == ["Bye."]
        assert last_line == "Agent 0 has left the chat."
        assert await room.drafts_about(second) == []
        assert len(room.endpoint.calls) == 1


@pytest.mark.parametrize("times", quick_first([20, 101], 1))
async def test_without_a_limit_an_agent_answers_as_often_as_it_is_asked(
    servers: ServerSettings, tmp_path: Path, times: int
) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply()) as room:
        await room.open_silently(a_room("max_responses: null"))
        for number in range(times):
            await room.say(f"Question {number}?")
            await room.at_rest()

        assert len(await room.rows("SELECT 1 FROM messages WHERE author_kind = 'agent'")) == times


OPENING = "initial_message: Good morning., max_responses: 1"
FIRST = "{id: first, kind: info, lines: [Welcome.]}, "


async def openings(room: Room) -> Counter[str]:
    """How many opening lines each agent has said, once all have come and nothing is left to do."""

    async def are_all_there() -> bool:
        return len(await room.rows("SELECT 1 FROM messages WHERE trigger_key LIKE 'start:%'")) >= 3

    await eventually(are_all_there)
    await room.at_rest()
    rows = await room.rows(
        "SELECT m.path FROM messages g JOIN members m ON m.id = g.member_id WHERE g.author_kind = 'agent'"
    )
    return Counter(row.path for row in rows)


@pytest.mark.parametrize("progress", ["progress: {wait_for_all: false}", "progress: {wait_for_all: true}"])
async def test_an_opening_line_is_said_once_however_many_come_at_once_to_a_chat_that_is_first(
    servers: ServerSettings, tmp_path: Path, progress: str
) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply()) as room:
        await room.open(a_room(OPENING, OPENING, OPENING, people=4, stages=progress), people=4)

        said = await openings(room)

    assert sorted(said.values()) == [1, 1, 1]


async def test_an_opening_line_is_said_once_when_all_enter_at_once(servers: ServerSettings, tmp_path: Path) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply()) as room:
        document = a_room(OPENING, OPENING, OPENING, people=4, before=FIRST, stages="progress: {wait_for_all: false}")
        await room.open(document, people=4)
        await asyncio.gather(*map(room.go_on, room.people))

        said = await openings(room)

    assert sorted(said.values()) == [1, 1, 1]


async def test_an_opening_line_is_said_once_when_a_late_arrival_opens_the_chat(
    servers: ServerSettings, tmp_path: Path
) -> None:
    async with room_in(servers, tmp_path / "lab", lambda request: reply()) as room:
        await room.open(a_room(OPENING, OPENING, OPENING, people=4, before=FIRST), people=4)
        await asyncio.gather(*map(room.go_on, room.people[:3]))
        await room.at_rest()
        assert not await room.rows("SELECT 1 FROM messages")
        await room.go_on(room.people[3])

        said = await openings(room)

    assert sorted(said.values()) == [1, 1, 1]
