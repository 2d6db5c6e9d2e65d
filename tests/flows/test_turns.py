"""Turns, silences, openings and topics in a whole lab, on Postgres and on both buses: no conversation hangs."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from parley_lab.base.settings import ServerSettings
from parley_lab.talk.conversation import go_on_in_thread
from parley_lab.testing.fake_clock import FakeClock
from parley_lab.testing.quick import quick_first
from tests.flows.rooms import Room, eventually, talking_room_in
from tests.flows.talking import (
    FAILURES,
    SILENT_AGENT,
    Data,
    a_talk,
    answer,
    refused_key,
    silent,
    talkative,
    wait_for,
    who,
)


class TestLoops:
    @pytest.mark.parametrize("turn_taking", ["race", "select"])
    async def test_two_mediators_alone_with_a_silent_person_stop_at_their_limit_and_say_so(
        self, servers: ServerSettings, tmp_path: Path, turn_taking: str
    ) -> None:
        async with talking_room_in(servers, tmp_path / "lab", talkative) as room:
            await room.open(a_talk(mediators=2, turn_taking=turn_taking, max_agent_run=6))
            await wait_for(lambda: room.told("thread.rested"))
            await room.at_rest()

            assert [text for _, text in await room.transcript()].count("lab") == 0
            assert len(await room.transcript()) == len(room.endpoint.calls) - await lost(room) == 6
            assert await room.told("thread.rested") == [{"agent_run": 6}]
            rested = await room.rows("SELECT public FROM events WHERE type = 'thread.rested'")
            assert [row.public for row in rested] == [None], "members are not told: it says who is an agent"

    @pytest.mark.parametrize("turn_taking", quick_first(["round", "race", "select"], 2))
    async def test_two_mediators_without_any_person_stop_at_their_limit_and_the_talk_ends(
        self, servers: ServerSettings, tmp_path: Path, turn_taking: str
    ) -> None:
        async with talking_room_in(servers, tmp_path / "lab", talkative) as room:
            await room.open(
                a_talk(SILENT_AGENT, people=0, mediators=2, turn_taking=turn_taking, max_agent_run=5), people=0
            )
            await wait_for(lambda: room.told("thread.ended"))

            said = await room.transcript()
            assert len(said) == 5
            assert {name for name, _ in said} == {"Mediator 0", "Mediator 1"}
            assert await room.told("thread.ended") == [{"reason": "agents reached their limit"}]


async def lost(room: Room) -> int:
    """Calls whose replies lost their claim."""
    return len(await room.rows("SELECT 1 FROM drafts WHERE state = 'lost_claim'"))


class TestSilence:
    @pytest.mark.parametrize("most", quick_first([2, 1], 1))
    async def test_a_silence_is_broken_as_often_as_is_configured_and_no_oftener(
        self, servers: ServerSettings, tmp_path: Path, most: int
    ) -> None:
        async with talking_room_in(servers, tmp_path / "lab", silent) as room:
            await room.open(a_talk("", "", wake_up_after_seconds=0.1, max_wake_ups=most))
            await wait_for(lambda: room.rows("SELECT 1 FROM threads"))
            await self._all_have_fired(room, most)
            await room.say("Anybody?")
            await self._all_have_fired(room, 2 * most)

            rounds = await room.rows("SELECT trigger_key, state FROM drafts")
            asked = Counter(row.trigger_key.partition(":")[0] for row in rounds)
            assert asked == {"start": 2, "message": 2, "idle": 2 * 2 * most}
            assert {row.state for row in rounds} == {"declined"}
            assert len(room.endpoint.calls) == len(rounds)
            woken = [call for call in room.endpoint.calls if "nobody has said anything for a while" in str(call)]
            assert len(woken) == asked["idle"]

    async def _all_have_fired(self, room: Room, count: int) -> None:
        async def have_fired() -> bool:
            timers = await room.rows("SELECT state FROM timers WHERE purpose = 'wake_up'")
            return [timer.state for timer in timers] == ["fired"] * count

        await wait_for(have_fired)
        await room.at_rest()
        assert await have_fired()


class TestOpenings:
    async def test_an_opening_that_failed_is_tried_again_when_its_timer_fires(
        self, servers: ServerSettings, tmp_path: Path
    ) -> None:
        clock = FakeClock()
        is_away = True

        def away_at_first(request: Data) -> Any:
            return refused_key(request) if is_away else talkative(request)

        async with talking_room_in(servers, tmp_path / "lab", away_at_first, clock) as room:
            await room.open(a_talk("", max_agent_run=1))
            await wait_for(lambda: room.rows("SELECT 1 FROM timers WHERE purpose = 'wake_up' AND state = 'armed'"))
            assert await room.transcript() == []
            is_away = False

            clock.advance(6)
            await wait_for(room.transcript)

            assert await room.transcript() == [("Agent 0", "Agent 0 speaks.")]
            assert [row.type for row in await room.rows("SELECT type FROM alerts")] == ["model_failed"]

    async def test_an_opening_that_failed_does_not_keep_a_person_from_speaking(
        self, servers: ServerSettings, tmp_path: Path
    ) -> None:
        clock = FakeClock()

        def away_for_openings(request: Data) -> Any:
            is_empty = "Nobody has said anything yet." in str(request["messages"])
            return refused_key(request) if is_empty else talkative(request)

        async with talking_room_in(servers, tmp_path / "lab", away_for_openings, clock) as room:
            await room.open(a_talk("", max_agent_run=1))
            await wait_for(lambda: room.rows("SELECT 1 FROM timers WHERE state = 'armed'"))

            await room.say("Then I begin.")
            await room.at_rest()
            clock.advance(600)
            await wait_for(lambda: room.rows("SELECT 1 FROM timers WHERE state = 'fired'"))
            await room.at_rest()

            assert [name for name, _ in await room.transcript()] == ["person", "Agent 0"]


class TestRoundsNeverFreeze:
    @pytest.mark.parametrize("failure", quick_first(FAILURES, 2))
    async def test_a_turn_whose_model_fails_is_passed_and_everybody_else_speaks_in_theirs(
        self, servers: ServerSettings, tmp_path: Path, failure: str
    ) -> None:
        fails, model = FAILURES[failure]

        def one_fails(request: Data) -> Any:
            return fails(request) if who(request) == "Agent 0" else talkative(request)

        async with talking_room_in(servers, tmp_path / "lab", one_fails) as room:
            await room.open(a_talk("", "", mediators=1, model=model, turn_taking="round"))
            for number in range(3):
                await self._is_the_turn_of_a_person(room)
                await room.say(f"Mine is number {number}.")
            await self._is_the_turn_of_a_person(room)

            said = await room.transcript()
            assert [text for name, text in said if name == "person"] == [f"Mine is number {n}." for n in range(3)]
            names = Counter(name for name, _ in said)
            assert names["Agent 0"] == 0
            assert names["Mediator 0"] == 4
            assert names["Agent 1"] >= 3
            assert names["lab"] >= 3
            assert {text for name, text in said if name == "lab"} == {"Agent 0 was skipped: no reply came."}
            alerts = {row.type for row in await room.rows("SELECT type FROM alerts")}
            # A call that began before a refused one does not count as accepted after it: so close together, three
            # refusals may be in a row, and pause the key. A conversation in turns does not wait for that.
            # A model that writes no JSON where a schema is asked for is told, too.
            assert alerts - {"key_paused", "server_lacks"} == {"model_failed"}

    async def test_when_every_model_fails_a_person_still_gets_their_turn(
        self, servers: ServerSettings, tmp_path: Path
    ) -> None:
        async with talking_room_in(servers, tmp_path / "lab", refused_key) as room:
            await room.open(a_talk("", "", mediators=1, turn_taking="round"))
            for number in range(3):
                await self._is_the_turn_of_a_person(room)
                await room.say(f"Number {number}.")

            assert not await room.told("thread.ended")

    async def test_the_turn_of_an_agent_that_is_removed_during_its_call_is_passed(
        self, servers: ServerSettings, tmp_path: Path
    ) -> None:
        thinking, gone = asyncio.Event(), asyncio.Event()

        async def held(request: Data) -> Data:
            if who(request) == "Mediator 0" and not gone.is_set():
                thinking.set()
                await gone.wait()
                return answer(request, "toolatecanary")
            return talkative(request)

        async with talking_room_in(servers, tmp_path / "lab", held) as room:
            await room.open(a_talk("", mediators=1, turn_taking="round"))
            async with asyncio.timeout(20):
                await thinking.wait()
            mediator = await room.agent("Mediator 0")
            assert await room.holder() == mediator

            await room.take_out(mediator)
            await self._is_the_turn_of_a_person(room)
            await room.say("My turn.")
            gone.set()
            await room.at_rest()
            await self._is_the_turn_of_a_person(room)

            said = await room.transcript()
            assert ("Agent 0", "Agent 0 speaks.") in said
            assert not any("canary" in text for _, text in said)
            (late,) = await room.rows("SELECT state, reply FROM drafts WHERE member_id = :id", id=mediator)
            assert late.state == "cancelled"

    @pytest.mark.parametrize("how", ["leaves", "goes on", "is removed"])
    async def test_the_turn_of_a_person_who_is_gone_is_passed(
        self, servers: ServerSettings, tmp_path: Path, how: str
    ) -> None:
        async with talking_room_in(servers, tmp_path / "lab", talkative) as room:
            await room.open(a_talk("", people=2, turn_taking="round"), people=2)
            await self._is_the_turn_of_a_person(room)
            holder = await room.holder()
            assert holder is not None
            (other,) = [person for person in room.people if person != holder]

            if how == "goes on":
                await room.go_on(holder)
            else:
                await room.take_out(holder, "left" if how == "leaves" else "removed")

            async def is_others_turn() -> bool:
                return await room.holder() == other

            await eventually(is_others_turn)
            await room.say("Still here.", person=other)
            await room.at_rest()
            assert (await room.transcript())[-1] == ("Agent 0", "Agent 0 speaks.")

    async def test_every_cycle_has_every_member_once_and_mediators_first(
        self, servers: ServerSettings, tmp_path: Path
    ) -> None:
        async with talking_room_in(servers, tmp_path / "lab", talkative) as room:
            await room.open(
                a_talk("", "", "", people=0, mediators=1, turn_taking="round", max_agent_run=12, ready_check_every=99),
                people=0,
            )
            await wait_for(lambda: room.told("thread.ended"))

            speakers = [name for name, _ in await room.transcript()]
            cycles = [speakers[start : start + 4] for start in range(0, 12, 4)]
            assert [cycle[0] for cycle in cycles] == ["Mediator 0"] * 3
            assert all(sorted(cycle) == ["Agent 0", "Agent 1", "Agent 2", "Mediator 0"] for cycle in cycles)
            held = [told["whose_turn"] for told in await room.told("thread.updated")]
            authors = [str(row.member_id) for row in await room.rows("SELECT member_id FROM messages ORDER BY seq")]
            assert held[: len(authors)] == authors
            assert len(room.endpoint.calls) == 12

    async def _is_the_turn_of_a_person(self, room: Room) -> None:
        async def is_it() -> bool:
            rows = await room.rows("SELECT turn_state ->> 'holder' AS holder FROM threads")
            return bool(rows) and rows[0].holder in {str(person) for person in room.people}

        await eventually(is_it)


class TestTopics:
    async def test_the_third_of_three_opens_the_next_topic_and_after_the_last_nothing_follows(
        self, servers: ServerSettings, tmp_path: Path
    ) -> None:
        def done_with_everything(request: Data) -> Data:
            return answer(request, "That is all I say.", ready=True)

        async with talking_room_in(servers, tmp_path / "lab", done_with_everything) as room:
            topics = [{"id": "cost", "name": "Who pays"}, {"id": "route", "name": "Where it goes"}]
            await room.open(a_talk("", people=2, topics=topics), people=2)
            thread_id = await room.thread()
            await wait_for(room.transcript)
            await room.at_rest()
            assert await room.told("thread.updated") == []

            for person in room.people:
                async with room.lab.database.transaction() as session:
                    await go_on_in_thread(session, thread_id, person, "cost", room.lab.clock.now())
            await room.at_rest()

            assert [told["topic"] for told in await room.told("thread.updated")] == ["route"]
            assert await room.transcript() == [
                ("Agent 0", "That is all I say."),
                ("lab", "The conversation goes on to: Where it goes"),
                ("Agent 0", "That is all I say."),
                ("lab", "Agent 0 has left the chat."),
            ]
            await room.say("And I?")
            await room.at_rest()
            assert (await room.transcript())[-1] == ("person", "And I?")
            assert len(room.endpoint.calls) == 2
            # It takes its time for the page after the conversation.
            await wait_for(lambda: room.rows("SELECT 1 FROM members WHERE player = 'agent' AND status = 'completed'"))


SURVEY_FIRST: Final = """
parley: 1
name: A survey first
seed: 0
pace: live
model_mode: real
personas:
  - {id: p0, text: I am Agent 0., profile: {name: Agent 0}, model: {max_attempts: 2}}
  - {id: p1, text: I am Agent 1., profile: {name: Agent 1}, model: {max_attempts: 2}}
stages:
  - id: before
    kind: survey
    on_invalid: fail
    questions: [{id: view, kind: scale, title: Your view, lower: 1, upper: 7}]
  - {id: talk, kind: group_chat, turn_taking: round, max_agent_run: 3}
cohorts: [{seats: [{persona: p0}, {persona: p1}]}]
"""


@pytest.mark.parametrize("failure", quick_first(["auth error", "garbage"], 1))
async def test_an_agent_whose_survey_fails_for_good_is_failed_aloud_and_the_others_go_on(
    servers: ServerSettings, tmp_path: Path, failure: str
) -> None:
    fails, _ = FAILURES[failure]

    def one_fails(request: Data) -> Any:
        if who(request) == "Agent 0":
            return fails(request)
        fields = request["response_format"]["json_schema"]["schema"]["properties"]
        return {"view": 4} if "view" in fields else talkative(request)

    async with talking_room_in(servers, tmp_path / "lab", one_fails) as room:
        await room.open(SURVEY_FIRST, people=0)
        await wait_for(lambda: room.rows("SELECT 1 FROM experiments WHERE status = 'ended'"))

        members = await room.rows("SELECT status, position FROM members ORDER BY path")
        assert [(row.status, row.position) for row in members] == [("failed", 0), ("completed", 2)]
        failed = await room.agent("Agent 0")
        assert not await room.rows("SELECT 1 FROM answers WHERE member_id = :id", id=failed)
        alerts = await room.rows("SELECT type, member_id FROM alerts WHERE member_id = :id", id=failed)
        assert "model_failed" in {row.type for row in alerts}
        assert {name for name, _ in await room.transcript()} <= {"Agent 1", "lab"}
