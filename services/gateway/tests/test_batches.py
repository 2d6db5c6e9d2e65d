"""Messages, pages and what is entered of several people by one statement: each gets what they would get alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, Final
from uuid import uuid4

import httpx2
import pytest
from psycopg import AsyncConnection
from sqlalchemy import TextClause, text

from parley_lab.bus.in_process import InProcessBus
from parley_lab.experiments import ending
from parley_lab.gateway.app import create_app
from parley_lab.gateway.context import Queues
from parley_lab.gateway.routes import participants, threads
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import Api
from parley_lab.gateway.testing.said import assert_whole
from parley_lab.members.moved import after_going_on
from parley_lab.store.batches import Batches
from parley_lab.store.databases import connect
from parley_lab.store.session import Session
from parley_lab.talk import Change, Scene, said
from parley_lab.talk import stored_changes as changes
from parley_lab.testing.gathered import Gathered

pytestmark = pytest.mark.postgres

WHY: Final[dict[str, Any]] = {"kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why"}]}
SURVEYS: Final = [{"id": f"s{place}", **WHY} for place in range(4)]
TALK: Final = {"id": "talk", "kind": "group_chat", "post_limit": None}


@dataclass
class Group:
    """A cohort of two, and their conversation if they have come to one."""

    experiment_id: str
    tokens: list[str]
    thread_id: str = ""


async def groups(api: Api, number: int, *stages: dict[str, Any]) -> list[Group]:
    found = []
    for _ in range(number):
        experiment_id = await api.running(stages=[*stages], cohorts=[{"seats": [{"open": True, "count": 2}]}])
        group = Group(experiment_id, [await api.join(experiment_id, name) for name in ("Ada", "Bo")])
        await api.settle(experiment_id)
        if stages[0]["id"] == "talk":
            group.thread_id = await api.thread(group.tokens[0])
        found.append(group)
    return found


async def say(api: Api, group: Group, words: str, person: int = 0) -> httpx2.Response:
    """Say it, under an id that is the same for the same words."""
    body = {"text": words, "client_message_id": words[:40]}
    return await api.participant(group.tokens[person], "POST", f"/v1/me/threads/{group.thread_id}/messages", json=body)


async def save(api: Api, group: Group, value: Any, person: int = 0) -> httpx2.Response:
    path = "/v1/me/stages/s0/answer"
    return await api.participant(group.tokens[person], "PUT", path, json={"answer": value})


async def saved(api: Api, group: Group) -> Any:
    return (await api.participant(group.tokens[0], "GET", "/v1/me/stages/s0/answer")).json()["answer"]


@asynccontextmanager
async def another_gateway(api: Api, url: str) -> AsyncIterator[Api]:
    database, bus = connect(url), InProcessBus()
    app = create_app(database, bus, api.clock, GatewaySettings(), environ={})
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://another") as client,
    ):
        yield replace(api, client=client, database=database, app=app)
    await bus.close()
    await database.close()


@asynccontextmanager
async def hearing(url: str) -> AsyncIterator[Callable[[], Awaitable[set[str]]]]:
    """What was told of on the channel of facts in this block."""
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("LISTEN parley_facts")

        async def heard() -> set[str]:
            return {notice.payload async for notice in connection.notifies(timeout=0.2)}

        yield heard


async def test_messages_of_many_conversations_are_one_batch(
    api: Api, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of one conversation, and the same one twice, too: one of them goes with the batch, the others after it."""
    found = await groups(api, 4, TALK)
    monkeypatch.setattr(Queues, "turn", lambda *_: asyncio.timeout(None))
    said = [(group, f"{words}-{place}", place) for group in found for place in (0, 1) for words in ("Hi", "Ho 🙂 ø")]
    gathered = Gathered(monkeypatch, 2 * len(said))

    async with hearing(database_url) as heard:
        answers = await asyncio.gather(*(say(api, *one) for one in [*said, *said]))
        told = await heard()

    assert {answer.status_code for answer in answers} == {201}, [answer.text for answer in answers]
    for (_, words, _), first, again in zip(said, answers[: len(said)], answers[len(said) :], strict=True):
        assert first.json()["text"] == words
        assert first.json() == again.json()
    assert gathered.sizes[:2] == [2 * len(said)] * 2
    async with api.database.read() as session:
        cohorts = await session.all(text("SELECT cohort_id FROM threads"))
        messages = await session.all(text("SELECT thread_id, seq FROM messages"))
    assert told == {str(row.cohort_id) for row in cohorts}
    assert sorted(row.seq for row in messages) == sorted([1, 2, 3, 4] * 4)
    await assert_whole(api.database)


async def test_long_messages_are_a_batch_like_others(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await groups(api, 6, TALK)
    Gathered(monkeypatch, 6)
    words = [f"{place}" + '\\"\u2028🙂é\t' * 1_400 for place in range(6)]

    answers = await asyncio.gather(*(say(api, group, one) for group, one in zip(found, words, strict=True)))

    assert [(answer.status_code, answer.json()["text"]) for answer in answers] == [(201, one) for one in words]
    await assert_whole(api.database)


async def test_who_goes_on_in_two_tabs_goes_on_once_and_the_others_go_on_as_well(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await groups(api, 3, *SURVEYS)
    people = [group.tokens[place] for group in found for place in (0, 1)]
    gathered = Gathered(monkeypatch, 2 * len(people))

    moves = (api.advance(token, "s0", {"why": str(place % len(people))}) for place, token in enumerate([*people] * 2))
    answers = await asyncio.gather(*moves)

    assert {answer.status_code for answer in answers} == {200}, [answer.text for answer in answers]
    assert {answer.json()["me"]["stage_id"] for answer in answers} == {"s1"}
    assert gathered.sizes[:2] == [2 * len(people)] * 2
    async with api.database.read() as session:
        rows = await session.all(text("SELECT value ->> 'why' AS why, revision FROM answers ORDER BY 1"))
    assert [(row.why, row.revision) for row in rows] == [(str(place), 1) for place in range(len(people))]
    await assert_whole(api.database)


async def test_two_conversations_of_one_cohort_are_in_one_batch(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = [
        {**TALK, "progress": {"wait_for_all": False}},
        {**TALK, "id": "more", "progress": {"wait_for_all": False}},
    ]
    cohort = {"stages": stages, "cohorts": [{"seats": [{"open": True, "count": 4}]}]}
    experiment_id = await api.running(**cohort)
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Bo", "Cy", "Di")]
    thread_id = await api.thread(tokens[0])
    for token in tokens[2:]:
        assert (await api.advance(token, "talk")).status_code == 200
        await api.settle(experiment_id)
    more = (await api.participant(tokens[2], "GET", "/v1/me/stages/more")).json()["thread"]["id"]
    gathered = Gathered(monkeypatch, 2)
    looked_at: list[Any] = []
    monkeypatch.setattr(threads, "_look_at", lambda *thread: looked_at.append(thread))

    here, there = Group(experiment_id, tokens[:2], thread_id), Group(experiment_id, tokens[2:], more)
    answers = await asyncio.gather(say(api, here, "Here."), say(api, there, "There."))

    assert [answer.status_code for answer in answers] == [201, 201]
    assert (gathered.sizes, looked_at) == ([2, 2], [])
    await assert_whole(api.database)


async def test_who_goes_on_beside_others_of_their_cohort_misses_none_of_their_events(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment_id = await api.running(stages=SURVEYS, cohorts=[{"seats": [{"open": True, "count": 5}]}])
    tokens = [await api.join(experiment_id) for _ in range(5)]
    await api.settle(experiment_id)
    gathered = Gathered(monkeypatch, len(tokens))
    async with api.database.read() as session:
        before = (await session.one(text("SELECT last FROM streams"))).last

    answers = await asyncio.gather(*(api.advance(token, "s0", {"why": "So"}) for token in tokens))

    assert gathered.sizes == [5, 5]
    # Only of the first one do the own events come directly after what was read.
    cursors = sorted(int(answer.json()["me"]["cursor"].rpartition(":")[2]) for answer in answers)
    assert cursors == [before, before, before, before, before + 1]
    await assert_whole(api.database)


VALUES: Final[list[Any]] = [None, {}, "", 0, [[], {"a": None}], {"why": "🙂 \\u0041 ø"}, {"why": "x" * 20_000}, 2**53]


async def test_what_many_enter_at_once_is_kept_for_each(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await groups(api, len(VALUES), *SURVEYS)
    gathered = Gathered(monkeypatch, len(VALUES) + 2)

    writes = [save(api, group, value) for group, value in zip(found, VALUES, strict=True)]
    answers = await asyncio.gather(*writes, save(api, found[1], "later"), save(api, found[1], "later"))

    assert {answer.status_code for answer in answers} == {204}
    assert gathered.sizes == [len(VALUES) + 2]
    for group, value in zip(found, VALUES, strict=True):
        assert await saved(api, group) == ("later" if group is found[1] else value)


async def test_who_is_refused_does_not_spoil_what_others_enter(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    here, gone = await groups(api, 2, *SURVEYS)
    await api.advance(gone.tokens[0], "s0", {"why": "So"})
    stranger = Group("", [uuid4().hex])
    Gathered(monkeypatch, 4)

    answers = await asyncio.gather(
        save(api, gone, 1), save(api, here, 2), save(api, stranger, 3), save(api, here, 4, person=1)
    )

    assert [answer.status_code for answer in answers] == [409, 204, 401, 204]
    assert await saved(api, here) == 2


OF_COHORT: Final = "JOIN cohorts c ON c.id = x.cohort_id WHERE c.experiment_id = :id"
LOCKS: Final = {
    "a conversation": [f"SELECT FROM threads x {OF_COHORT} FOR UPDATE OF x"],
    "a member": ["SELECT FROM members WHERE experiment_id = :id FOR UPDATE"],
    "a new token": ["UPDATE members SET token_hash = token_hash || 'x' WHERE experiment_id = :id"],
    "a counter": [f"SELECT FROM streams x {OF_COHORT} FOR UPDATE OF x"],
    "a pause": [
        f"SELECT FROM {table} x {of} FOR NO KEY UPDATE OF x"
        for table, of in (
            ("cohorts", "WHERE experiment_id = :id"),
            ("members", "WHERE experiment_id = :id"),
            ("threads", OF_COHORT),
        )
    ],
    "a deletion": [one.text for one in (*ending._LOCKS, *ending._DELETIONS)],
}


@pytest.mark.parametrize("statements", LOCKS.values(), ids=LOCKS)
async def test_what_one_cohort_waits_for_delays_no_other(api: Api, statements: list[str]) -> None:
    held, other = await groups(api, 2, TALK)
    held_page, other_page = await groups(api, 2, *SURVEYS)

    async def all_acts(talk: Group, page: Group) -> list[httpx2.Response]:
        acts = say(api, talk, "Hi."), save(api, page, {"why": "S"}), api.advance(page.tokens[1], "s0", {"why": "So"})
        return [*await asyncio.gather(*acts)]

    async with api.database.transaction() as session:
        for statement in statements:
            for group in (held, held_page):
                await session.run(text(statement), {"id": group.experiment_id})
        waiting = asyncio.create_task(all_acts(held, held_page))
        await asyncio.wait([waiting], timeout=0.2)
        async with asyncio.timeout(1):
            answers = await all_acts(other, other_page)
        assert not waiting.done()

    assert [answer.status_code for answer in answers] == [201, 204, 200]
    assert all(answer.status_code < 500 for answer in await waiting)
    await assert_whole(api.database)


async def test_two_gateways_save_pages_of_the_same_people_without_a_deadlock(
    api: Api, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await groups(api, 5, *SURVEYS)
    for group in found:
        await save(api, group, "before")

    async with another_gateway(api, database_url) as another:
        async with api.database.transaction() as session:
            # Both batches would come to the third person, having saved what the other one wants next.
            third = "SELECT FROM partial_answers p JOIN members m ON m.id = p.member_id WHERE m.experiment_id = :id"
            await session.run(text(f"{third} FOR UPDATE OF p"), {"id": found[2].experiment_id})
            Gathered(monkeypatch, len(found))
            saving = [asyncio.create_task(save(api, group, "one")) for group in found]
            saving += [asyncio.create_task(save(another, group, "another")) for group in reversed(found)]
            await asyncio.wait(saving, timeout=0.3)
        answers = await asyncio.gather(*saving)

    assert {answer.status_code for answer in answers} == {204}, [answer.text for answer in answers]


async def test_gateways_that_do_everything_at_once_do_each_thing_once(
    api: Api, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without the look of the fixture, which would find who has gone on once more meanwhile.
    monkeypatch.setattr(participants, "after_going_on", after_going_on)
    rng = Random(4)
    talks, pages = await groups(api, 4, TALK), await groups(api, 4, *SURVEYS)
    acts: list[Callable[[Api], Awaitable[httpx2.Response]]] = []
    for number in range(12):
        acts += [partial(say, group=group, words=f"{number}", person=number % 2) for group in talks]
    for group in pages:
        acts += [partial(move, group=group, place=place, person=person) for place in range(3) for person in (0, 1)]
        acts += [partial(save, group=group, value=number) for number in range(6)]
    acts = [*acts, *acts, *acts]
    rng.shuffle(acts)
    at_once = asyncio.Semaphore(60)

    async def done(act: Callable[[Api], Awaitable[httpx2.Response]], gateway: Api) -> httpx2.Response:
        async with at_once:
            return await act(gateway)

    async with another_gateway(api, database_url) as another:
        answers = await asyncio.gather(*(done(act, rng.choice([api, another])) for act in acts))

    assert {answer.status_code for answer in answers} <= {200, 201, 204, 409}, [answer.text for answer in answers]
    async with api.database.read() as session:
        said = await session.all(text("SELECT text, count(*) AS n FROM messages GROUP BY text"))
    assert {(row.text, row.n) for row in said} == {(f"{number}", len(talks)) for number in range(12)}
    await assert_whole(api.database)


async def move(api: Api, group: Group, place: int, person: int) -> httpx2.Response:
    return await api.advance(group.tokens[person], f"s{place}", {"why": f"{place}"})


async def test_only_a_cohort_whose_events_ask_for_it_is_to_be_settled(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await groups(api, 3, TALK)
    tell = changes.tell

    def telling(session: Session, scene: Scene, change: Change, cause: str) -> None:
        tell(session, scene, change, cause)
        asks = change.messages[0].text == "Settle!"
        session._events = [
            replace(event, unsettles=asks, payload={**event.payload, "unsettles": True}) for event in session._events
        ]

    monkeypatch.setattr(said, "tell", telling)
    gathered = Gathered(monkeypatch, 3)

    await asyncio.gather(
        *(say(api, group, words) for group, words in zip(found, ("No", "Settle!", "Nor"), strict=True))
    )

    assert gathered.sizes == [3, 3]
    async with api.database.read() as session:
        rows = await session.all(
            text(
                "SELECT c.experiment_id FROM streams s JOIN cohorts c ON c.id = s.cohort_id WHERE settled < unsettled"
                " AND unsettled = last"
            )
        )
    assert [str(row.experiment_id) for row in rows] == [found[1].experiment_id]


@pytest.mark.parametrize("statement_number", [0, 1], ids=["while it is read", "while it is stored"])
async def test_who_goes_away_leaves_the_others_and_says_it_once_when_back(
    api: Api, monkeypatch: pytest.MonkeyPatch, statement_number: int
) -> None:
    found = await groups(api, 4, TALK)
    work, begun, may_go_on = Batches._work, list[TextClause](), asyncio.Event()

    async def slowly(batches: Batches, statement: TextClause, asked: Any) -> Any:
        if statement not in begun:
            begun.append(statement)
            if len(begun) == statement_number + 1:
                await may_go_on.wait()
        return await work(batches, statement, asked)

    monkeypatch.setattr(Batches, "_work", slowly)
    saying = [asyncio.create_task(say(api, group, "Hi.")) for group in found]
    await asyncio.wait(saying, timeout=0.2)
    saying[0].cancel()
    saying[3].cancel()
    may_go_on.set()
    answers = [*await asyncio.gather(*saying[1:3]), await say(api, found[0], "Hi."), await say(api, found[3], "Hi.")]

    assert [(answer.status_code, answer.json()["seq"]) for answer in answers] == [(201, 1)] * 4
    await assert_whole(api.database)
