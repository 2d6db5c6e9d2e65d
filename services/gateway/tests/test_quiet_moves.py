"""A move after which the lab has nothing to do leaves the cohort settled, and is made without a lock; every other move
has it settled."""

import asyncio
from typing import Any, Final
from uuid import UUID

import pytest
from psycopg import AsyncConnection
from sqlalchemy import text

from parley_lab.answers import advancing, going_on, partial_answers
from parley_lab.experiments import pausing
from parley_lab.gateway.routes import participants
from parley_lab.gateway.testing import Api
from parley_lab.members.standing import Standing
from parley_lab.members.standings import hash_token
from parley_lab.store.session import Database, Session
from parley_lab.store.statements import compiled

pytestmark = pytest.mark.postgres

WHY: Final[dict[str, Any]] = {"kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why"}]}
READ: Final[dict[str, Any]] = {"kind": "info", "lines": ["Read this."]}
TERMS: Final[dict[str, Any]] = {"kind": "terms_of_service", "lines": ["Agree."]}
RANK: Final[dict[str, Any]] = {
    "kind": "ranking",
    "rank": "items",
    "items": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}],
    "strategy": "condorcet",
}
ANSWERS: Final[dict[str, Any]] = {"survey": {"why": "So"}, "ranking": {"ranking": ["a", "b"]}}

QUIET: Final = {
    "a survey after a survey": [WHY, WHY],
    "a page to read": [WHY, READ],
    "a survey after a page to read": [READ, WHY],
    "terms": [WHY, TERMS],
}
LOUD: Final = {
    "the last page": [WHY],
    "a stage that waits for all": [WHY, {**WHY, "progress": {"wait_for_all": True}}],
    "a stage for two at least": [WHY, {**WHY, "progress": {"min_participants": 2}}],
    "a stage with a least time": [WHY, {**WHY, "stay": {"at_least_seconds": 6}}],
    "a stage with a most time": [WHY, {**WHY, "stay": {"at_most_seconds": 600}}],
    "a conversation": [WHY, {"kind": "group_chat"}],
    "a private conversation": [WHY, {"kind": "private_chat", "progress": {"wait_for_all": False}}],
    "a game": [WHY, {"kind": "beauty_contest", "rounds": 2}],
    "a drawn profile": [WHY, {"kind": "profile", "set": "animals"}],
    "out of a stage that comes to a result": [RANK, WHY],
    "out of a stage that a later one reads of all": [
        WHY,
        READ,
        {"kind": "reveal", "items": [{"stage": "s0", "audience": "all"}]},
    ],
}


async def is_settled_after_going_on(api: Api, stages: list[dict[str, Any]]) -> bool:
    numbered = [{"id": f"s{place}", **stage} for place, stage in enumerate(stages)]
    seats = [{"open": True}, {"open": True}]
    experiment_id = await api.running(stages=numbered, cohorts=[{"seats": seats}])
    tokens = [await api.join(experiment_id), await api.join(experiment_id)]
    await api.settle(experiment_id)
    async with api.database.transaction() as session:
        await session.run(text("DELETE FROM outbox"))

    moved = await api.advance(tokens[0], "s0", ANSWERS.get(numbered[0]["kind"]))

    assert moved.status_code == 200, moved.text
    async with api.database.transaction() as session:
        row = await session.one(text("SELECT settled >= unsettled AS is_settled FROM streams"))
        hints = await session.all(text("SELECT 1 FROM outbox WHERE queue = 'orchestrator'"))
    is_settled: bool = row.is_settled
    assert is_settled is (not hints), "what leaves a cohort unsettled is announced, and nothing else"
    return is_settled


@pytest.mark.parametrize("stages", QUIET.values(), ids=QUIET)
async def test_between_pages_that_each_does_alone_the_cohort_stays_settled(api: Api, stages: list[Any]) -> None:
    assert await is_settled_after_going_on(api, stages)


@pytest.mark.parametrize("stages", LOUD.values(), ids=LOUD)
async def test_where_the_lab_has_something_to_do_the_cohort_is_settled(api: Api, stages: list[Any]) -> None:
    assert not await is_settled_after_going_on(api, stages)


VALUES: Final = {"stage_ids": b"'{}'", "member_id": b"gen_random_uuid()", "now": b"now()", "is_step": b"true"}
SURVEYS: Final[list[dict[str, Any]]] = [{"id": f"s{place}", **WHY} for place in range(4)]


async def people_of_one_cohort(api: Api, number: int) -> tuple[str, list[str]]:
    """An experiment of surveys, and the tokens of those who take part."""
    experiment_id = await api.running(stages=SURVEYS, cohorts=[{"seats": [{"open": True, "count": number}]}])
    tokens = [await api.token_of(experiment_id) for _ in range(number)]
    await api.settle(experiment_id)
    return experiment_id, tokens


async def positions(database: Database) -> list[int]:
    async with database.read() as session:
        rows = await session.all(text("SELECT position FROM members ORDER BY length(path), path"))
    return [row.position for row in rows]


async def moves(database: Database) -> list[int]:
    """The numbers of the events that tell of moves."""
    async with database.read() as session:
        rows = await session.all(text("SELECT stream_seq FROM events WHERE type = 'member.moved' ORDER BY stream_seq"))
    return [row.stream_seq for row in rows]


async def test_many_who_go_on_at_once_move_once_each_though_all_send_it_twice(api: Api) -> None:
    _, tokens = await people_of_one_cohort(api, 8)
    for stage in SURVEYS[:3]:
        sent = [api.advance(token, stage["id"], {"why": "So"}) for token in [*tokens, *tokens]]
        answered = await asyncio.gather(*sent)
        assert {one.status_code for one in answered} == {200}

    assert await positions(api.database) == [3] * 8
    assert len(await moves(api.database)) == 24
    async with api.database.read() as session:
        stored = await session.one(text("SELECT count(*) AS n, max(revision) AS revision FROM answers"))
        gaps = await session.one(text("SELECT max(stream_seq) - count(*) AS n FROM events WHERE cohort_id IS NOT NULL"))
    assert (stored.n, stored.revision) == (24, 1)
    assert gaps.n == 0


async def test_what_happens_after_the_participant_was_read_has_them_read_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (ada, bo) = await people_of_one_cohort(api, 2)
    left, read = participants._left, list[int]()

    async def bo_goes_on_meanwhile(session: Session, context: Any, standing: Standing, *where: Any) -> Any:
        found = await left(session, context, standing, *where)
        read.append(standing.cursor)
        if len(read) == 1:
            monkeypatch.setattr(participants, "_left", left)
            await api.advance(bo, "s0", {"why": "Bo"})
            monkeypatch.setattr(participants, "_left", bo_goes_on_meanwhile)
        return found

    monkeypatch.setattr(participants, "_left", bo_goes_on_meanwhile)
    moved = await api.advance(ada, "s0", {"why": "Ada"})

    assert moved.status_code == 200, moved.text
    assert moved.json()["page"]["stage_id"] == "s1"
    assert read == [read[0], read[0] + 1]
    assert await positions(api.database) == [1, 1]


async def test_no_move_is_made_after_a_pause_that_came_between(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment_id, (ada,) = await people_of_one_cohort(api, 1)
    quietly = going_on.go_on_quietly

    async def after_a_pause(*move: Any, **how: Any) -> None:
        paused = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
        assert paused.status_code == 200, paused.text
        await quietly(*move, **how)

    monkeypatch.setattr(participants, "go_on_quietly", after_a_pause)
    refused = await api.advance(ada, "s0", {"why": "So"})

    assert (refused.status_code, refused.json()["reason"]) == (409, "paused")
    assert await positions(api.database) == [0]
    assert await moves(api.database) == []


async def test_what_was_begun_is_deleted_with_the_move(api: Api) -> None:
    _, (ada,) = await people_of_one_cohort(api, 1)
    saved = await api.participant(ada, "PUT", "/v1/me/stages/s0/answer", json={"answer": {"why": "So f"}})

    moved = await api.advance(ada, "s0", {"why": "So far"})

    assert (saved.status_code, moved.status_code) == (204, 200), moved.text
    async with api.database.read() as session:
        assert await session.all(text("SELECT stage_id FROM partial_answers")) == []


async def test_who_goes_on_in_a_study_that_is_deleted_meanwhile_is_told(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment_id, (ada,) = await people_of_one_cohort(api, 1)
    quietly = going_on.go_on_quietly

    async def after_the_deletion(*move: Any, **how: Any) -> None:
        assert (await api.experimenter("DELETE", f"/v1/experiments/{experiment_id}")).status_code == 204
        await quietly(*move, **how)

    monkeypatch.setattr(participants, "go_on_quietly", after_the_deletion)
    refused = await api.advance(ada, "s0", {"why": "So"})

    assert refused.status_code == 401, refused.text


@pytest.mark.parametrize("mode", ["auto", "force_custom_plan"])
async def test_a_move_is_planned_in_any_way(database_url: str, mode: str) -> None:
    """The error in the statement comes from its rows, and not from its parameters."""
    async with await AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute(f"SET plan_cache_mode = {mode}".encode())
        query, names = compiled(advancing._MOVE)
        await connection.execute(b"PREPARE one AS " + query)
        values = b", ".join(VALUES.get(name, b"'1'") for name in names)
        await connection.execute(b"EXPLAIN EXECUTE one(" + values + b")")


async def test_what_is_saved_while_the_person_goes_on_is_deleted_too(api: Api) -> None:
    _, (ada,) = await people_of_one_cohort(api, 1)
    has_saved, may_commit = asyncio.Event(), asyncio.Event()

    async def save_slowly() -> None:
        async with api.database.transaction() as session:
            page = {"token_hash": hash_token(ada), "stage_id": "s0", "value": '{"why": "So f"}', "now": api.clock.now()}
            assert await session.run(partial_answers._SAVE_PAGE, page)
            has_saved.set()
            await may_commit.wait()

    saving = asyncio.create_task(save_slowly())
    await has_saved.wait()
    going = asyncio.create_task(api.advance(ada, "s0", {"why": "So far"}))
    await asyncio.wait([going], timeout=0.3)
    may_commit.set()
    await saving
    moved = await going

    assert moved.status_code == 200, moved.text
    async with api.database.read() as session:
        assert await session.all(text("SELECT stage_id FROM partial_answers")) == []


async def test_a_move_in_a_deadlock_is_made_after_it(api: Api) -> None:
    _, (ada,) = await people_of_one_cohort(api, 1)
    has_counter = asyncio.Event()

    async def counter_and_then_member() -> None:
        async with api.database.transaction() as session:
            await session.run(text("SELECT last FROM streams FOR NO KEY UPDATE"))
            has_counter.set()
            await asyncio.wait([going], timeout=0.3)
            await session.run(text("UPDATE members SET version = version"))

    going: asyncio.Task[Any] = asyncio.create_task(asyncio.sleep(0))
    other = asyncio.create_task(counter_and_then_member())
    await has_counter.wait()
    going = asyncio.create_task(api.advance(ada, "s0", {"why": "So"}))
    moved = await going
    await asyncio.gather(other, return_exceptions=True)

    assert moved.status_code == 200, moved.text
    assert await positions(api.database) == [1]


async def test_a_move_that_waits_for_a_pause_is_refused_after_it(api: Api) -> None:
    experiment_id, (ada,) = await people_of_one_cohort(api, 1)
    has_locked, may_commit = asyncio.Event(), asyncio.Event()

    async def pause_slowly() -> None:
        async with api.database.transaction() as session:
            await pausing.pause(session, UUID(experiment_id), api.clock.now())
            has_locked.set()
            await may_commit.wait()

    pausing_now = asyncio.create_task(pause_slowly())
    await has_locked.wait()
    going = asyncio.create_task(api.advance(ada, "s0", {"why": "So"}))
    await asyncio.wait([going], timeout=0.3)
    may_commit.set()
    await pausing_now
    refused = await going

    assert (refused.status_code, refused.json()["reason"]) == (409, "paused"), refused.text
    assert await positions(api.database) == [0]
