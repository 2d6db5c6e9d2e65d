"""In pace live agents take a reader's and a writer's time for pages; it is waited for on rows, never in a process."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.answers import advancing, page_times
from parley_lab.experiments import ending, pausing
from parley_lab.members import standings
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

WORDS = " ".join(["word"] * 60)
STUDY = """
parley: 1
name: Pages
seed: 3
pace: {pace}
personas:
  - {{id: ada, pages: {pages}}}
stages:
  - id: welcome
    kind: info
    lines: ["{words}"]
  - id: page
    kind: survey
    ask: {ask}
    description: "{words}"
    questions:
      - {{id: old, kind: number, title: "How old are you?", minimum: 18, maximum: 99}}
      - {{id: why, kind: text, title: "Why?"}}
cohorts: [{{seats: [{{persona: ada}}]}}]
"""
SLOW = "{reading_words_per_minute: 60, writing_words_per_minute: 30}"
GAME = f"""
parley: 1
name: A game
seed: 3
pace: live
personas: [{{id: ada, pages: {SLOW}}}, {{id: bob, pages: {{reading_words_per_minute: 0, writing_words_per_minute: 0}}}}]
stages: [{{id: game, kind: matrix_game, chat: true, horizon: {{type: fixed, rounds: 2}}}}]
cohorts: [{{seats: [{{persona: ada}}, {{persona: bob}}]}}]
"""
INTERVIEW = f"""
parley: 1
name: An interview
seed: 3
pace: live
personas: [{{id: ada, pages: {SLOW}}}, {{id: bob, pages: {SLOW}}}]
stages:
  - id: interview
    kind: group_interview
    context: "{WORDS}"
    roles: [{{label: Ana}}, {{label: Ben}}]
    tasks:
      - {{id: talk, type: discussion, text: "Well?", variable: talk}}
      - id: share
        type: private_question
        variable: share
        questions:
          - {{role: Ana, text: "How much?", options: {{type: range, low: 0, high: 10}}}}
          - {{role: Ben, text: "How much?", options: {{type: range, low: 0, high: 10}}}}
cohorts: [{{seats: [{{persona: ada}}, {{persona: bob}}]}}]
"""


def study(pace: str = "live", pages: str = SLOW, ask: str = "all_at_once") -> str:
    return STUDY.format(pace=pace, pages=pages, ask=ask, words=WORDS)


async def times(lab: DrainLab) -> dict[str, datetime]:
    """When each answer was given."""
    return {row.key: row.completed_at for row in await lab.rows("SELECT key, completed_at FROM answers")}


async def calls(lab: DrainLab) -> list[Any]:
    return await lab.rows("SELECT * FROM model_calls ORDER BY started_at, path")


async def until_kept(lab: DrainLab) -> Any:
    """Handle hints, and let time pass, until an answer is kept; its draft."""
    while not (kept := await lab.rows("SELECT * FROM drafts WHERE state = 'ready'")):
        if lab.hints:
            await lab.deliver(lab.next_hints())
        else:
            await pass_time(lab)
    return kept[0]


async def pass_time(lab: DrainLab) -> None:
    lab.later.sort(key=lambda one: one[0])
    seconds, work = lab.later.pop(0)
    lab.clock.advance(seconds)
    lab.later = [(max(0.0, other - seconds), then) for other, then in lab.later]
    await work()


async def member_of(lab: DrainLab) -> UUID:
    (row,) = await lab.rows("SELECT id FROM members")
    found: UUID = row.id
    return found


async def test_an_agent_reads_a_page_before_it_goes_on_and_writes_its_answer(database: Database) -> None:
    lab = DrainLab(database)
    began = lab.clock.now()
    await lab.start(study())

    await lab.drain()

    (call,) = await calls(lab)
    (written,) = await lab.rows("SELECT value ->> 'why' AS why FROM answers")
    read = (call.started_at - began).total_seconds()
    filled_in = ((await times(lab))[""] - call.finished_at).total_seconds()
    least = 60 + len(written.why.split()) * 2
    assert 45 <= read <= 75 + 1
    assert 0.75 * least <= filled_in <= 1.25 * (least + 40)
    assert await lab.rows("SELECT 1 AS one FROM experiments WHERE status = 'ended'")


async def test_the_same_seed_takes_the_same_time(database: Database) -> None:
    taken = []
    for _ in range(2):
        lab = DrainLab(database)
        began = lab.clock.now()
        experiment_id = await lab.start(study())
        await lab.drain()
        rows = await lab.rows("SELECT ended_at FROM experiments WHERE id = :id", id=experiment_id)
        taken.append(rows[0].ended_at - began)

    assert taken[0] == taken[1]


@pytest.mark.parametrize(
    "document",
    [
        study(pace="fast"),
        study(pages="{reading_words_per_minute: 0, writing_words_per_minute: null}"),
    ],
    ids=["fast", "off"],
)
async def test_no_one_takes_time_in_pace_fast_or_without_a_speed(database: Database, document: str) -> None:
    lab = DrainLab(database)
    began = lab.clock.now()
    await lab.start(document)

    await lab.drain()

    assert set((await times(lab)).values()) == {began}
    assert await lab.rows("SELECT 1 AS one FROM timers") == []
    assert await lab.rows("SELECT 1 AS one FROM drafts WHERE due_at IS NOT NULL") == []


async def test_questions_that_are_asked_at_the_same_time_are_answered_one_after_another(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(study(ask="independent"))

    await lab.drain()

    (first, second) = await lab.rows("SELECT due_at FROM drafts ORDER BY due_at")
    (early, late) = await calls(lab)
    assert (first.due_at - early.finished_at).total_seconds() >= 0.75 * 60
    assert (second.due_at - first.due_at).total_seconds() >= 0.75 * 60
    assert abs((late.finished_at - early.finished_at).total_seconds()) < 1


async def test_what_a_worker_that_died_had_kept_is_given_by_another_without_a_call(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(study())
    kept = await until_kept(lab)
    lab.later.clear()

    lab.clock.advance((kept.due_at - lab.clock.now()).total_seconds() + 1)
    async with database.transaction() as session:
        due = await page_times.due_members(session, lab.clock.now())
    for member_id in due:
        await lab.thinker.give_due(member_id)
    await lab.drain()

    assert len(await calls(lab)) == 1
    assert await lab.rows("SELECT 1 AS one FROM members WHERE status = 'completed'")


async def test_a_pause_holds_what_is_read_and_what_is_written(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(study())

    async def paused_for(hours: float) -> None:
        async with database.transaction() as session:
            await pausing.pause(session, experiment_id, lab.clock.now())
        lab.clock.advance(hours * 3600)
        await lab.fire_timers()
        await lab.thinker.give_due(await member_of(lab))
        assert await times(lab) == {}
        async with database.transaction() as session:
            await pausing.resume(session, experiment_id, lab.clock.now())

    while not await lab.rows("SELECT 1 AS one FROM timers WHERE state = 'armed'"):
        await lab.deliver(lab.next_hints())
    (reading,) = await lab.rows("SELECT due_at FROM timers")
    left_to_read = reading.due_at - lab.clock.now()
    await paused_for(hours=2)
    (after,) = await lab.rows("SELECT due_at FROM timers")
    assert abs((after.due_at - lab.clock.now() - left_to_read).total_seconds()) < 0.01

    lab.later.append((left_to_read.total_seconds() + 0.01, lab.fire_timers))
    kept = await until_kept(lab)
    left_to_write = kept.due_at - lab.clock.now()
    await paused_for(hours=2)
    again = await until_kept(lab)
    assert again.due_at - lab.clock.now() == left_to_write

    lab.clock.advance(left_to_write.total_seconds())
    await lab.thinker.give_due(await member_of(lab))
    await lab.drain()
    assert len(await calls(lab)) == 1
    assert await lab.rows("SELECT 1 AS one FROM experiments WHERE status = 'ended'")


async def test_an_answer_that_comes_back_in_a_pause_takes_its_time_after_it(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(study())
    kept = await until_kept(lab)
    async with database.transaction() as session:
        since = lab.clock.now()
        await pausing.pause(session, experiment_id, since)
        # As if the call had come back an hour after the pause.
        await session.run(_LATER)
    lab.clock.advance(7200)

    async with database.transaction() as session:
        await pausing.resume(session, experiment_id, lab.clock.now())

    again = await until_kept(lab)
    assert again.due_at - lab.clock.now() == kept.due_at - since


async def test_of_a_member_who_has_left_nothing_is_kept_and_nothing_given(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(study())
    kept = await until_kept(lab)

    async with database.transaction() as session:
        standing = await standings.lock_standing(session, kept.member_id)
        await advancing.end_member(session, standing, "removed", "gone", lab.clock.now(), cause="test")
    await lab.drain()

    (draft,) = await lab.rows("SELECT state FROM drafts")
    assert draft.state == "cancelled"
    assert await times(lab) == {}


async def test_an_experiment_that_is_ended_waits_for_no_one(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(study())
    await until_kept(lab)

    async with database.transaction() as session:
        await ending.end(session, experiment_id, lab.clock.now())
    await lab.drain()

    assert await times(lab) == {}
    assert await lab.rows("SELECT 1 AS one FROM drafts WHERE state = 'ready'") == []


async def test_a_player_reads_the_rules_once_and_then_what_is_new(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(GAME)

    await lab.drain()

    rows = await lab.rows(
        """
        SELECT d.path, k.key, extract(epoch FROM k.closed_at - k.opened_at) AS seconds
        FROM drafts d JOIN asks k ON k.id = d.ask_id
        """
    )
    taken = {(row.path.split("/")[1], row.key): float(row.seconds) for row in rows}
    assert {key for who, key in taken if who == "m1"} == {
        "round:1/message", "round:1/move", "round:2/message", "round:2/move"
    }  # fmt: skip
    assert taken["m1", "round:1/message"] > 0.75 * 30
    assert 0 < taken["m1", "round:2/move"] < taken["m1", "round:1/message"] / 2
    assert all(seconds < 1 for (who, _), seconds in taken.items() if who == "m2")
    assert await lab.rows("SELECT 1 AS one FROM experiments WHERE status = 'ended'")


async def test_who_is_interviewed_reads_what_was_said_since_and_writes(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(INTERVIEW)

    await lab.drain()

    rows = await lab.rows(
        "SELECT path, extract(epoch FROM closed_at - opened_at) AS seconds FROM asks ORDER BY opened_at, path"
    )
    talk, _, share, _ = [float(row.seconds) for row in rows]
    assert talk > 0.75 * 60
    assert 0 < share < talk / 2


_LATER = text(
    "WITH call AS (UPDATE model_calls SET finished_at = finished_at + interval '1 hour')"
    " UPDATE drafts SET due_at = due_at + interval '1 hour' WHERE state = 'ready'"
)
