"""Asks that depend on what others answered: rounds of a game, for agents and people."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from sqlalchemy import text

from parley_lab.answers import answering
from parley_lab.answers.advancing import end_member
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.kinds import Ask, OwnView, Parts, Question
from parley_lab.kinds.stages.info.config import InfoStage
from parley_lab.members.standings import lock_standing, sign_in
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from parley_lab.testing.rounds import FALLBACK, RoundQuestions, Rounds, rounds_for_info
from tests.flows.drain import DrainLab, empty

pytestmark = pytest.mark.postgres

GAME = """
parley: 1
name: A game
seed: 5
personas: [{id: ada}, {id: bob}, {id: cid}]
stages:
  - {id: game, kind: info, lines: ["4"], progress: {wait_for_all: true}}
  - {id: after, kind: survey, questions: [{id: q, kind: text, title: Q}]}
cohorts: [{count: 2, seats: [{persona: ada}, {persona: bob}, {persona: cid}]}]
"""
WITH_A_PERSON = """
parley: 1
name: A game with a person
seed: 0
personas: [{id: ada}]
stages: [{id: game, kind: info, lines: ["2"], progress: {wait_for_all: true}}]
cohorts: [{seats: [{persona: ada}, {open: true}]}]
"""


@pytest.fixture(autouse=True)
def _game() -> Iterator[None]:
    with rounds_for_info():
        yield


async def data(lab: DrainLab) -> list[Any]:
    return await lab.rows(
        "SELECT m.path, a.stage_id, a.key, a.value FROM answers a JOIN members m ON m.id = a.member_id ORDER BY 1, 2, 3"
    )


async def prompts(lab: DrainLab) -> list[tuple[str, Any]]:
    return [(call.path, call.prompt) for call in await lab.calls()]


async def test_a_game_of_agents_is_played_round_by_round_to_its_end(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(GAME)

    await lab.drain()

    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}
    assert len([row for row in await data(lab) if row.key.startswith("round:")]) == 2 * 3 * 4
    pages = await lab.rows("SELECT value FROM answers WHERE stage_id = 'game' AND key = ''")
    assert len(pages) == 6
    assert {row.state for row in await lab.rows("SELECT state FROM asks")} == {"answered"}


async def test_a_prompt_shows_the_rounds_before_it_and_nothing_of_its_own(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(GAME)

    await lab.drain()

    for row in await lab.calls():
        if "/game/round:" in row.path:
            number = int(row.path.partition("round:")[2].partition("/")[0])
            shown = row.prompt[1]["content"]
            assert shown.count("Seen: ") == number - 1
            assert shown.count("Own: ") == number - 1


@pytest.mark.parametrize("seed", quick_first(range(3), 1))
async def test_shuffled_and_doubled_hints_change_no_answer_and_no_prompt(database: Database, seed: int) -> None:
    plain = DrainLab(database)
    await plain.start(GAME)
    await plain.drain()
    expected = await data(plain), await prompts(plain)
    await empty(database)
    wild = DrainLab(database, deliveries=2, together=6, rng=Random(seed))

    await wild.start(GAME)
    await wild.drain()

    assert (await data(wild), await prompts(wild)) == expected


async def test_a_prompt_that_is_made_late_knows_only_what_was_known_when_its_ask_was_opened(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(GAME)
    while not await lab.rows("SELECT 1 FROM drafts"):
        await lab.deliver(lab.next_hints())
    draft = (await lab.rows("SELECT id, member_id, cohort_id, ask_id FROM drafts ORDER BY path"))[0]
    before = await lab.prompts.build(draft.id)

    async with database.transaction() as session:
        others = await session.all(
            text("SELECT id, member_id, key, purpose FROM asks WHERE cohort_id = :c AND id <> :a"),
            {"c": draft.cohort_id, "a": draft.ask_id},
        )
        for other in others:
            standing = await lock_standing(session, other.member_id)
            ask = Ask(other.member_id, other.key, other.purpose)
            await answering.answer(session, other.id, 7, lab.clock.now())
            answering.record_answer(session, standing, "game", ask, 7, lab.clock.now(), cause="test")
    await lab.deliver([hint for hint in lab.hints if hint.queue == "orchestrator"])
    kept = await lab.rows("SELECT count(counted_at) AS counted FROM answers")

    assert [row.counted for row in kept] == [2]
    assert await lab.prompts.build(draft.id) == before


class Failing:
    """A model that never gives a number."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        if request.purpose == "number":
            return ModelReply(status="ok", parsed={"number": "none"}, raw="none")
        return ModelReply(status="ok", parsed={"q": "Well."}, raw="{}")

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_an_ask_that_a_model_cannot_answer_gets_the_kinds_default_marked_as_not_valid(
    database: Database,
) -> None:
    lab = DrainLab(database, models={"mock": Failing()})
    await lab.start(GAME)

    await lab.drain()

    moves = await lab.rows("SELECT value, valid FROM answers WHERE key LIKE 'round:%'")
    assert {(row.value, row.valid) for row in moves} == {(FALLBACK, False)}
    assert len(moves) == 24
    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}
    assert {row.state for row in await lab.rows("SELECT state FROM asks WHERE stage_id = 'game'")} == {"failed"}


class Forgetting(RoundQuestions):
    """A kind that has no question any more under the key of an ask that is open."""

    is_gone = False

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        return None if Forgetting.is_gone else super().question(view, ask)


async def test_an_ask_under_whose_key_nothing_is_asked_any_more_is_closed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Failing):
        async def reply(self, request: ModelRequest) -> ModelReply:
            monkeypatch.setattr(Forgetting, "is_gone", True)
            return await super().reply(request)

    class Forgetful(Rounds):
        def parts(self, stage: InfoStage) -> Parts:
            return replace(super().parts(stage), questions=Forgetting(stage))

    with rounds_for_info(Forgetful()):
        lab = DrainLab(database, models={"mock": Slow()})
        await lab.start(GAME)
        await lab.drain()

    asks = await lab.rows("SELECT state FROM asks WHERE stage_id = 'game'")
    assert {row.state for row in asks} == {"failed"}
    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"in_progress"}
    assert await lab.rows("SELECT 1 FROM answers WHERE stage_id = 'game'") == []


async def test_who_leaves_is_asked_nothing_more_and_the_others_go_on(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(WITH_A_PERSON)
    member_id, token = await lab.join(experiment_id)
    await lab.drain()
    async with database.transaction() as session:
        standing = await sign_in(session, token, lock=True)
        assert [ask.key for ask in standing.asks] == ["round:1/number"]

        await end_member(session, standing, "left", "left", lab.clock.now(), cause="test")
    await lab.drain()

    agents = await lab.rows("SELECT status FROM members WHERE player = 'agent'")
    assert [row.status for row in agents] == ["completed"]
    passed = await lab.rows(
        "SELECT key, value, valid, passed FROM answers WHERE member_id = :m ORDER BY key", m=member_id
    )
    assert [(row.key, row.value, row.valid, row.passed) for row in passed] == [
        (f"round:{number}/number", FALLBACK, False, True) for number in (1, 2)
    ]
    assert {row.state for row in await lab.rows("SELECT state FROM asks WHERE member_id = :m", m=member_id)} == {
        "cancelled"
    }
