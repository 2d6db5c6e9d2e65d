"""Private conversations with mediators in a whole lab, through the API, on Postgres and on both buses."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import httpx2
import pytest

from parley_lab.base.settings import ServerSettings
from parley_lab.formats.exports import export
from parley_lab.testing.fake_clock import FakeClock
from parley_lab.testing.network import WITHOUT_TLS
from tests.flows.rooms import Room, eventually, talking_room_in
from tests.flows.talking import answer, refused_key, talkative, wait_for, who
from tests.flows.visiting import Data, Held, Visitor, a_study, silent_at_first, visited


async def test_a_person_waits_for_the_reply_before_writing_again(servers: ServerSettings, tmp_path: Path) -> None:
    held = Held()
    async with visited(servers, tmp_path / "lab", held, a_study()) as (_, (pia,)):
        assert not (await pia.view())["is_waiting_for_reply"]
        assert (await pia.say("Hello?")).status_code == 201
        waiting = await pia.view()
        refused = await pia.say("Hello??")
        stuck = await pia.advance()
        held.let_go.set()
        await pia.heard("Here is your reply.")

        assert (waiting["is_waiting_for_reply"], waiting["may_call_off"]) == (True, True)
        assert (refused.status_code, refused.json()["reason"]) == (409, "not_now")
        assert stuck.status_code == 409
        assert not (await pia.view())["is_waiting_for_reply"]
        assert (await pia.say("And now?")).status_code == 201
        assert "Hello??" not in [text for _, text in await pia.said()]


async def test_after_two_minutes_no_one_waits_any_longer(servers: ServerSettings, tmp_path: Path) -> None:
    held, clock = Held(), FakeClock()
    async with visited(servers, tmp_path / "lab", held, a_study(), clock=clock) as (_, (pia,)):
        await pia.say("Hello?")
        clock.advance(119)
        assert (await pia.say("Early.")).status_code == 409

        clock.advance(1)

        assert not (await pia.view())["is_waiting_for_reply"]
        assert (await pia.say("Still there?")).status_code == 201
        held.let_go.set()


async def test_a_reply_that_was_called_off_never_comes(servers: ServerSettings, tmp_path: Path) -> None:
    held = Held()
    async with visited(servers, tmp_path / "lab", held, a_study()) as (room, (pia,)):
        nothing = await pia.call_off()
        await pia.say("Hello?")
        async with asyncio.timeout(20):
            await held.thinking.wait()

        called_off = await asyncio.gather(pia.call_off(), pia.call_off(), pia.call_off())
        held.let_go.set()
        await room.at_rest()

        assert (nothing.status_code, nothing.json()["reason"]) == (409, "nothing_to_call_off")
        assert sorted(one.status_code for one in called_off) == [204, 409, 409]
        assert [text for _, text in await pia.said()] == ["Hello?", "The request was called off."]
        states = await room.rows("SELECT state FROM drafts WHERE trigger_key LIKE 'message:%'")
        assert [row.state for row in states] == ["moved_on"]
        assert (await pia.say("Once more.")).status_code == 201
        await pia.heard("Here is your reply.")


async def test_where_nothing_may_be_called_off_nothing_is(servers: ServerSettings, tmp_path: Path) -> None:
    held = Held()
    async with visited(servers, tmp_path / "lab", held, a_study(allow_call_off=False)) as (_, (pia,)):
        await pia.say("Hello?")

        refused = await pia.call_off()

        assert refused.status_code == 409
        assert not (await pia.view())["may_call_off"]
        held.let_go.set()
        await pia.heard("Here is your reply.")


async def test_a_model_that_fails_is_told_as_a_line_of_the_lab_and_the_person_goes_on(
    servers: ServerSettings, tmp_path: Path
) -> None:
    async with visited(servers, tmp_path / "lab", silent_at_first(refused_key), a_study()) as (room, (pia,)):
        notice = ("lab", "No reply could be fetched. You can write again.")
        for number in range(1, 3):
            assert (await pia.say(f"Hello {number}?")).status_code == 201
            await pia.heard_times(notice, number)

        assert (await pia.view())["turns"] == 2
        assert {row.type for row in await room.rows("SELECT type FROM alerts")} == {"model_failed"}
        assert (await pia.advance()).status_code == 200


async def test_no_one_waits_for_a_mediator_who_was_removed_during_its_call(
    servers: ServerSettings, tmp_path: Path
) -> None:
    held = Held()
    async with visited(servers, tmp_path / "lab", held, a_study()) as (room, (pia,)):
        await pia.say("Hello?")
        async with asyncio.timeout(20):
            await held.thinking.wait()

        await room.take_out(await room.agent("Mediator 0"))
        await pia.heard("Nobody is here to answer.")

        assert not (await pia.view())["is_waiting_for_reply"]
        assert (await pia.say("Then I talk to myself.")).status_code == 201
        held.let_go.set()
        await room.at_rest()
        assert "Here is your reply." not in [text for _, text in await pia.said()]
        assert (await pia.advance()).status_code == 200


async def test_without_a_mediator_a_person_is_told_that_no_one_is_here(servers: ServerSettings, tmp_path: Path) -> None:
    async with visited(servers, tmp_path / "lab", talkative, a_study(mediators=0)) as (room, (pia,)):
        await pia.say("Hello?")
        await room.at_rest()

        assert [text for _, text in await pia.said()] == ["Hello?", "Nobody is here to answer."]
        assert (await pia.advance()).status_code == 200


async def test_who_has_used_all_turns_gets_the_last_reply_and_then_it_is_over(
    servers: ServerSettings, tmp_path: Path
) -> None:
    study = a_study(min_turns=1, max_turns=2)
    async with visited(servers, tmp_path / "lab", silent_at_first(talkative), study) as (room, (pia,)):
        early = await pia.advance()
        for number in range(2):
            assert (await pia.say(f"Question {number}?")).status_code == 201
            await room.at_rest()
        late = await pia.say("One more?")

        assert early.status_code == 409
        assert "Please write 1 more message." in early.text
        assert [text for author, text in await pia.said() if author == "Mediator 0"] == ["Mediator 0 speaks."] * 2
        assert (await pia.view())["has_ended"]
        assert (late.status_code, late.json()["reason"]) == (409, "thread_ended")
        assert await room.told("thread.ended") == [{"reason": "all turns used"}]
        assert (await pia.advance()).status_code == 200


async def test_minimum_turns_outlast_the_time_limit(servers: ServerSettings, tmp_path: Path) -> None:
    clock = FakeClock()
    study = a_study(min_turns=2, time_limit_seconds=60)
    async with visited(servers, tmp_path / "lab", silent_at_first(talkative), study, clock=clock) as (room, (pia,)):
        await pia.say("Question 0?")
        await room.at_rest()
        clock.advance(61)
        await wait_for(lambda: room.rows("SELECT 1 FROM timers WHERE purpose = 'time_limit' AND state = 'fired'"))

        assert not (await pia.view())["has_ended"]
        assert (await pia.say("Question 1?")).status_code == 201
        await pia.heard("The time for this conversation is over.")

        assert [author for author, _ in await pia.said()][-2:] == ["Mediator 0", "lab"]
        assert (await pia.view())["has_ended"]


async def test_with_enough_turns_the_time_limit_ends_it(servers: ServerSettings, tmp_path: Path) -> None:
    clock = FakeClock()
    study = a_study(min_turns=1, time_limit_seconds=60)
    async with visited(servers, tmp_path / "lab", silent_at_first(talkative), study, clock=clock) as (room, (pia,)):
        await pia.say("Question?")
        await room.at_rest()

        clock.advance(61)
        await pia.heard("The time for this conversation is over.")

        assert (await pia.say("Late?")).json()["reason"] == "thread_ended"
        assert [text for _, text in await pia.said()].count("The time for this conversation is over.") == 1


async def test_an_agent_that_is_ready_to_end_goes_on_to_the_next_stage(servers: ServerSettings, tmp_path: Path) -> None:
    def ready_soon(request: Data) -> Data:
        words = f"{who(request)} speaks."
        return answer(request, words, ready=who(request) == "Agent 0" and str(request).count(words) >= 1)

    async with talking_room_in(servers, tmp_path / "lab", ready_soon) as room:
        await room.open(a_study(people=0, agents=1, max_agent_run=20), people=0)
        await wait_for(lambda: room.rows("SELECT 1 FROM experiments WHERE status = 'ended'"))

        statuses = await room.rows("SELECT status FROM members WHERE kind = 'participant'")
        assert [row.status for row in statuses] == ["completed"]
        said = await room.transcript()
        assert said[-1] == ("lab", "Agent 0 has left the chat.")
        assert [name for name, _ in said].count("Agent 0") == 2


async def test_agents_that_are_never_ready_still_leave(servers: ServerSettings, tmp_path: Path) -> None:
    async with talking_room_in(servers, tmp_path / "lab", talkative) as room:
        await room.open(a_study(people=0, agents=2, max_agent_run=4), people=0)
        await wait_for(lambda: room.rows("SELECT 1 FROM experiments WHERE status = 'ended'"))

        assert await room.told("thread.ended") == [{"reason": "agents reached their limit"}] * 2
        assert len(await room.rows("SELECT 1 FROM messages")) == 8
        statuses = await room.rows("SELECT status FROM members WHERE kind = 'participant'")
        assert {row.status for row in statuses} == {"completed"}


class TestNothingLeaks:
    """Each member's private messages have a unique word, and so has the mediator's reply to each."""

    async def test_private_words_reach_their_own_participant_the_mediator_and_the_data_alone(
        self, servers: ServerSettings, tmp_path: Path
    ) -> None:
        prompts: dict[str, list[str]] = {}

        def echo(request: Data) -> Data:
            shown = "\n".join(message["content"] for message in request["messages"])
            own = next((word for word in ("canaryone", "canarytwo", "canaryagent") if word in shown), "")
            prompts.setdefault(who(request), []).append(shown)
            if who(request) == "Agent 0":
                return answer(request, "canaryagent")
            return answer(request, f"reply-{own}" if own else None)

        study = a_study(people=2, agents=1, then={"id": "together", "kind": "group_chat", "max_agent_run": 2})
        async with talking_room_in(servers, tmp_path / "lab", echo) as room:
            await room.open(study, people=2)
            visitors = [Visitor(room, person) for person in room.people]
            for visitor, word in zip(visitors, ("canaryone", "canarytwo"), strict=True):
                await visitor.arrive()
                assert (await visitor.say(word)).status_code == 201
                await visitor.heard(f"reply-{word}")
            await room.at_rest()

            await self._each_knows_their_own(visitors)
            await self._others_threads_are_closed_to_them(visitors)
            for visitor in visitors:
                assert (await visitor.advance()).status_code == 200
            await wait_for(lambda: room.rows("SELECT 1 FROM threads WHERE stage_id = 'together'"))
            await room.at_rest()

            self._prompts_are_of_one_conversation(prompts)
            assert "canaryone" not in "".join(prompts["Agent 0"])
            assert "canarytwo" not in "".join(prompts["Agent 0"])
            exported = await self._export(room, tmp_path)
            for word in ("canaryone", "canarytwo", "canaryagent", "reply-canaryone", "reply-canarytwo"):
                assert word.encode() in exported

    async def _each_knows_their_own(self, visitors: list[Visitor]) -> None:
        for visitor, own, foreign in zip(visitors, ("canaryone", "canarytwo"), ("canarytwo", "canaryone"), strict=True):
            paths = ("/v1/me", "/v1/me/stages/talk", f"/v1/me/threads/{visitor.thread_id}/messages")
            given = "".join([(await visitor.ask("GET", path)).text for path in paths])
            stream = await self._stream(visitor, f"reply-{own}")
            assert own in given
            assert own in stream
            for word in (foreign, "canaryagent"):
                assert word not in given
                assert word not in stream

    async def _stream(self, visitor: Visitor, until: str) -> str:
        """All that the live stream has from the beginning until this word, and what came before the next ping."""
        room, person = visitor._room, visitor._person
        headers = {"Authorization": f"Bearer {room.tokens[person]}"}
        seen = ""
        async with (
            asyncio.timeout(20),
            httpx2.AsyncClient(base_url=room.lab.url or "", headers=headers, timeout=20, verify=WITHOUT_TLS) as client,
            client.stream("GET", "/v1/me/stream", params={"after": "start"}) as response,
        ):
            async for line in response.aiter_lines():
                seen += line
                if until in line:
                    return seen
        raise AssertionError("the stream ended")

    async def _others_threads_are_closed_to_them(self, visitors: list[Visitor]) -> None:
        first, second = visitors
        foreign = f"/v1/me/threads/{second.thread_id}"
        requests: list[Awaitable[httpx2.Response]] = [
            first.ask("GET", f"{foreign}/messages"),
            first.ask("POST", f"{foreign}/messages", json={"text": "Boo", "client_message_id": "boo"}),
            first.ask("POST", f"{foreign}/call-off"),
            first.ask("POST", f"{foreign}/go-on", json={"topic": "any"}),
        ]
        assert [(await request).status_code for request in requests] == [404] * 4
        assert "Boo" not in [text for _, text in await second.said()]

    def _prompts_are_of_one_conversation(self, prompts: dict[str, list[str]]) -> None:
        for shown in prompts["Mediator 0"]:
            assert sum(word in shown for word in ("canaryone", "canarytwo", "canaryagent")) <= 1

    async def _export(self, room: Room, folder: Path) -> bytes:
        await export(room.lab.database, room.experiment_id, folder, now=room.lab.clock.now())
        return (folder / "messages.csv").read_bytes()


@pytest.mark.race
async def test_a_person_and_a_mediator_who_write_at_once_leave_one_conversation_in_order(
    servers: ServerSettings, tmp_path: Path
) -> None:
    """Not in turns: the person may write while the mediator thinks, and no reply comes twice."""
    study = a_study(turn_based=False, max_agent_run=1, post_limit=None)
    async with visited(servers, tmp_path / "lab", silent_at_first(talkative), study) as (room, (pia,)):
        for number in range(20):
            answers = await asyncio.gather(*(pia.say(f"{number}/{copy}") for copy in range(3)))
            assert {one.status_code for one in answers} == {201}

        async def last_is_answered() -> bool:
            (last,) = await room.rows("SELECT author_kind FROM messages ORDER BY seq DESC LIMIT 1")
            return bool(last.author_kind == "agent")

        await eventually(last_is_answered)
        await room.at_rest()

        assert await last_is_answered()
        keys = await room.rows("SELECT trigger_key FROM messages WHERE author_kind = 'agent'")
        assert len(keys) == len({row.trigger_key for row in keys}) > 0
