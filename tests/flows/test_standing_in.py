"""An agent plays on for a person in a whole lab: the data say who said what, and the others see no difference."""

import csv
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.base.settings import ServerSettings
from parley_lab.formats.exports import export
from parley_lab.members.standings import lock_standing
from parley_lab.people.giving_back import give_back
from parley_lab.people.standing_in import stand_in
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.flows.rooms import eventually, talking_room_in
from tests.flows.talking import answer

pytestmark = pytest.mark.postgres

Data = dict[str, Any]
STUDY: Final = """
parley: 1
name: Somebody goes
seed: 5
pace: live
model_mode: real
personas: [{id: helper, text: I am Helper., profile: {name: Helper}, chat: {words_per_minute: 0, max_responses: 2},
    pages: {writing_words_per_minute: 0, reading_words_per_minute: 0}}]
stages:
  - {id: talk, kind: group_chat, when_gone: replace, stand_in: helper, gone_after_seconds: 1, time_limit_seconds: 3}
  - {id: after, kind: survey, questions: [{id: why, kind: text, title: Why}]}
cohorts: [{seats: [{open: true, count: 2}]}]
"""


async def test_what_the_person_said_stays_theirs_and_the_agent_goes_on_with_it(
    servers: ServerSettings, tmp_path: Path
) -> None:
    def replies(request: Data) -> Data:
        fields = request["response_format"]["json_schema"]["schema"]["properties"]
        return answer(request, "I carry on.") if "shouldRespond" in fields else dict.fromkeys(fields, "Because.")

    async with talking_room_in(servers, tmp_path / "lab", replies) as room:
        await room.open(STUDY, people=2)
        gone, stays = room.people
        await room.say("my own words", person=gone)
        async with room.lab.database.transaction() as session:
            assert await stand_in(session, await lock_standing(session, gone), "helper", room.lab.clock.now())
        await room.say("are you there?", person=stays)

        async def has_come_through() -> bool:
            return bool(await room.rows("SELECT 1 FROM members WHERE id = :id AND status = 'completed'", id=gone))

        await eventually(has_come_through)
        refused = await room.api(gone, "GET", "/v1/me")
        seen = (await room.api(stays, "GET", f"/v1/me/threads/{await room.thread()}/messages")).json()["messages"]
        await export(room.lab.database, room.experiment_id, tmp_path, room.lab.clock.now())

        assert (refused.status_code, refused.json()["reason"]) == (409, "place_taken")
        said = [one for one in seen if one["author"] and one["author"]["id"] == str(gone)]
        assert [one["text"] for one in said] == ["my own words", "I carry on."]
        assert said[0]["author"] == said[1]["author"], "the others see no difference"
        assert "my own words" in str(room.endpoint.calls[0]["messages"]), "the agent knows what was said in its name"
        kinds = await room.rows("SELECT author_kind FROM messages WHERE member_id = :id ORDER BY seq", id=gone)
        assert [row.author_kind for row in kinds] == ["person", "agent"]
        with (tmp_path / "answers.csv").open(newline="", encoding="utf-8-sig") as table:
            assert [(row["stage"], row["player"]) for row in csv.DictReader(table)] == [("after", "agent")]


IN_TURNS: Final = """
parley: 1
name: In turns
seed: 5
pace: fast
personas: [{id: helper, text: I am Helper., profile: {name: Helper}, chat: {max_responses: 2}}]
stages:
  - {id: talk, kind: group_chat, turn_taking: round, when_gone: replace, stand_in: helper, gone_after_seconds: 60}
cohorts: [{seats: [{open: true, count: 3}]}]
"""


async def test_who_takes_the_place_of_a_person_has_their_turn(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(IN_TURNS)
    for _ in range(3):
        await lab.join(experiment_id)
    await lab.drain()
    (thread,) = await lab.rows("SELECT turn_state FROM threads")
    holder = UUID(thread.turn_state["holder"])

    async with database.transaction() as session:
        assert await stand_in(session, await lock_standing(session, holder), "helper", lab.clock.now())
    await lab.drain()

    said = await lab.rows("SELECT member_id, author_kind FROM messages WHERE member_id IS NOT NULL")
    assert [(row.member_id, row.author_kind) for row in said] == [(holder, "agent")]
    (thread,) = await lab.rows("SELECT turn_state FROM threads")
    assert UUID(thread.turn_state["holder"]) != holder


async def test_who_takes_the_place_of_a_person_and_may_say_nothing_more_passes_the_turn(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(IN_TURNS.replace("max_responses: 2", "max_responses: 0"))
    for _ in range(3):
        await lab.join(experiment_id)
    await lab.drain()
    (thread,) = await lab.rows("SELECT turn_state FROM threads")
    holder = UUID(thread.turn_state["holder"])

    async with database.transaction() as session:
        assert await stand_in(session, await lock_standing(session, holder), "helper", lab.clock.now())
    await lab.drain()

    assert not await lab.rows("SELECT 1 FROM messages WHERE member_id IS NOT NULL")
    (thread,) = await lab.rows("SELECT turn_state FROM threads")
    assert UUID(thread.turn_state["holder"]) != holder


TWICE: Final = """
parley: 1
name: Twice
seed: 1
pace: live
personas: [{{id: helper, profile: {{name: Helper}}, chat: {{words_per_minute: {speed}{chat}}},
    pages: {{writing_words_per_minute: {speed}, reading_words_per_minute: 0}}}}]
stages:
  - {{id: here, {stage}, when_gone: replace, stand_in: helper, gone_after_seconds: 60}}
  - {{id: last, kind: info, lines: [Bye]}}
cohorts: [{{seats: [{{open: true, count: 2}}]}}]
"""
WHY: Final = "questions: [{id: why, kind: text, title: Why}]"
WORK: Final = {
    "page": ("answered", "", 0, f"kind: survey, {WHY}"),
    "page by questions": ("answered", "", 0, f"kind: survey, ask: sequential, {WHY}"),
    "kept answer": ("answered", "", 6, f"kind: survey, {WHY}"),
    "game": ("answered", "", 0, "kind: beauty_contest, rounds: 1"),
    "turn": ("published", "", 0, "kind: group_chat, turn_taking: round"),
    "race": ("published", "", 0, "kind: group_chat, turn_taking: race"),
    "opening line": ("published", ", initial_message: Hello", 6, "kind: group_chat, turn_taking: round"),
}


@pytest.mark.parametrize("is_at_work", quick_first([True, False], 1), ids=["begun", "not begun"])
@pytest.mark.parametrize(("closing", "chat", "speed", "stage"), WORK.values(), ids=WORK)
async def test_an_agent_that_takes_the_place_again_does_what_was_called_off(
    database: Database, closing: str, chat: str, speed: int, stage: str, is_at_work: bool
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(TWICE.format(stage=stage, chat=chat, speed=speed))
    people = [(await lab.join(experiment_id))[0] for _ in range(2)]
    await lab.drain()
    holders = await lab.rows("SELECT turn_state ->> 'holder' AS id FROM threads")
    member_id = UUID(holders[0].id) if holders and holders[0].id else people[0]
    await let_play_on(lab, member_id)
    await lab.step(member_id)
    if speed:
        # The agent has its words, and a person would still be writing them.
        lab.hints += await lab.overlooked()
        while lab.hints:
            await lab.deliver(lab.next_hints())
    if is_at_work:
        async with database.transaction() as session:
            await session.run(
                text(
                    "UPDATE drafts SET state = 'thinking', lease_owner = id, lease_until = :now WHERE state = 'wanted'"
                ),
                {"now": lab.clock.now() + timedelta(minutes=1)},
            )
    lab.hints.clear()
    lab.later.clear()
    async with database.transaction() as session:
        assert await give_back(session, member_id, lab.clock.now())
    await lab.drain()
    called_off = await lab.rows("SELECT state FROM drafts WHERE member_id = :id", id=member_id)

    await let_play_on(lab, member_id)
    await lab.drain()
    await lab.fire_timers()
    for _ in range(3):
        lab.clock.advance(30)
        lab.hints += await lab.overlooked()
        await lab.drain()

    assert {row.state for row in called_off} == {"cancelled"}
    done = await lab.rows("SELECT state, reason FROM drafts WHERE member_id = :id", id=member_id)
    assert (closing, None) in [tuple(row) for row in done]
    assert not [row for row in done if row.state in ("cancelled", "wanted", "thinking", "ready")]
    assert not await lab.rows("SELECT 1 FROM asks WHERE member_id = :id AND state <> 'answered'", id=member_id)


async def let_play_on(lab: DrainLab, member_id: UUID) -> None:
    lab.clock.advance(1)
    async with lab.database.transaction() as session:
        assert await stand_in(session, await lock_standing(session, member_id), "helper", lab.clock.now())
    lab.clock.advance(1)
