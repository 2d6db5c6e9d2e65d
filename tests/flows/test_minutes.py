"""The minutes of interviews: what is said is in a thread, for all who are there, once and in order."""

from random import Random
from typing import Any
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import text

from parley_lab.answers.advancing import end_member
from parley_lab.contracts.prompts import MemberPreview
from parley_lab.members.standings import lock_standing
from parley_lab.prompt_builder.previews import preview
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab, empty
from tests.flows.interviewing import PLAYERS, Person, Telling, small

pytestmark = pytest.mark.postgres


async def minutes(lab: DrainLab) -> list[tuple[str, str | None, str, str]]:
    """Topic, who said it, as what, and what, in order."""
    rows = await lab.rows(
        """
        SELECT g.topic, m.path, coalesce(g.author_name, g.author_kind) AS author, g.text
        FROM messages g LEFT JOIN members m ON m.id = g.member_id ORDER BY g.thread_id, g.seq
        """
    )
    return [(row.topic, row.path, row.author, row.text) for row in rows]


async def seats(lab: DrainLab) -> dict[str, str]:
    """The path of each role."""
    return {row.name: row.path for row in await lab.rows("SELECT path, profile ->> 'name' AS name FROM members")}


async def undisturbed(database: Database) -> list[Any]:
    """The minutes of a run in a straight line."""
    lab = DrainLab(database, models={"mock": Telling()})
    await lab.start(small())
    await lab.drain()
    said = await minutes(lab)
    await empty(database)
    return said


async def test_the_thread_of_an_interview_has_what_was_read_out_and_every_reply(database: Database) -> None:
    lab = DrainLab(database, models={"mock": Telling()})
    await lab.start(small())

    await lab.drain()

    at = await seats(lab)
    order = sorted(PLAYERS, key=lambda role: at[role])

    def put(task: str, role: str, question: str) -> tuple[str, None, str, str]:
        return (task, None, "system", f"Facilitator{role and f' (to {role})'}: {question}")

    def said(task: str, role: str) -> tuple[str, str, str, str]:
        return (task, at[role], role, f"<{at[role]}/interview/task:{task}>")

    assert await minutes(lab) == [
        put("talk", "", "Let us talk."),
        *(said("talk", role) for role in [*order, "Summarizer"]),
        *(line for role in "BA" for line in (put("open", role, "open?"), said("open", role))),
        *(line for role in "CA" for line in (put("closed", role, f"{role.lower()}?"), said("closed", role))),
        put("closed", "Summarizer", "sum?"),
        said("closed", "Summarizer"),
        put("closed", "B", "b?"),
        said("closed", "B"),
        put("news", "", "It has begun to rain."),
        put("last", "A", "And now?"),
        *(said("last", role) for role in PLAYERS),
    ]
    (thread,) = await lab.rows("SELECT scope, last_seq, end_reason, ended_at FROM threads")
    assert (thread.scope, thread.last_seq, thread.end_reason) == ("group", len(await minutes(lab)), "finished")
    events = await lab.rows("SELECT type, count(*) AS n FROM events WHERE subject LIKE '%/group%' GROUP BY type")
    once = {"thread.opened": 1, "thread.ended": 1}
    assert {row.type: row.n for row in events} == {"message.created": thread.last_seq, **once}


@pytest.mark.parametrize("seed", quick_first(range(3), 1))
async def test_hints_that_come_twice_at_once_and_in_any_order_write_the_same_minutes(
    database: Database, seed: int
) -> None:
    expected = await undisturbed(database)
    lab = DrainLab(database, models={"mock": Telling()}, deliveries=2, rng=Random(seed), together=3)

    await lab.start(small())
    await lab.drain()

    assert await minutes(lab) == expected


async def test_a_person_reads_along_and_hears_nothing_of_a_private_round_before_it_is_over(
    database: Database, gateway: httpx2.AsyncClient
) -> None:
    lab = DrainLab(database, models={"mock": Telling()})
    reader = Reader(lab, gateway)
    await reader.join(await lab.start(small(people=("A",))))

    await reader.answer_everything()

    heard = {task: [line["topic"] for line in lines if line["author"]] for task, lines in reader.read.items()}
    talk, opened, closed = ["talk"] * 4, ["open"] * 2, ["closed"] * 4
    assert heard["open"] == [*talk, "open"]
    assert heard["closed"] == [*talk, *opened]
    assert heard["last"] == [*talk, *opened, *closed]
    names = {line["author"]["profile"]["name"] for line in reader.read["last"] if line["author"]}
    assert names == {*PLAYERS, "Summarizer"}
    public = [row.public for row in await lab.rows("SELECT public FROM events WHERE type = 'message.created'")]
    assert {said["author"]["profile"]["name"] for said in public if said["author"]} == names
    assert "Zoe" not in str(reader.read) + str(public)


class Reader(Person):
    """Reads the thread before every answer, as a frontend would."""

    def __init__(self, lab: DrainLab, client: httpx2.AsyncClient) -> None:
        super().__init__(lab, client)
        self.read: dict[str, list[dict[str, Any]]] = {}

    async def says(self, key: str) -> Any:
        self.read[key.removeprefix("task:")] = await self.messages()
        told = await self._lab.rows("SELECT CAST(public AS text) AS told FROM events WHERE type <> 'ask.answered'")
        assert "/task:closed>" not in str(told) or key == "task:last"
        return await super().says(key)

    async def messages(self) -> list[dict[str, Any]]:
        thread = (await self._page())["thread"]
        page = (await self._request("GET", f"/v1/me/threads/{thread['id']}/messages")).json()
        assert page["messages"][-1]["seq"] == thread["last_seq"]
        found: list[dict[str, Any]] = page["messages"]
        return found

    async def tries(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """What the API says to a request that it refuses."""
        answer = await self._request(method, f"/v1/me/{path}", body)
        assert answer.status_code == 409, answer.text
        refused: dict[str, Any] = answer.json()
        return refused


async def test_no_one_posts_reacts_or_goes_on_in_minutes(database: Database, gateway: httpx2.AsyncClient) -> None:
    lab = DrainLab(database, models={"mock": Telling()})
    reader = Reader(lab, gateway)
    await reader.join(await lab.start(small(people=("C",))))
    before = await minutes(lab)
    (line, *_) = await reader.messages()

    thread = f"threads/{line['thread_id']}"
    posted = await reader.tries("POST", f"{thread}/messages", {"text": "Let me in.", "client_message_id": "k1"})
    await reader.tries("POST", f"{thread}/go-on", {"topic": "talk"})
    await reader.tries("POST", f"{thread}/call-off")
    await reader.tries("PUT", f"messages/{line['id']}/reactions/heart")

    assert posted["reason"] == "not_now"
    assert "answer the question that is put to you" in posted["detail"]
    assert await minutes(lab) == before


async def test_who_leaves_is_waited_for_no_more_and_the_last_one_ends_the_thread(database: Database) -> None:
    lab = DrainLab(database, models={"mock": Telling()})
    await lab.start(small())
    while not await lab.rows("SELECT 1 FROM messages WHERE topic = 'open'"):
        await lab.deliver(lab.next_hints())
    before = await minutes(lab)

    for role in PLAYERS:
        await remove(lab, role)
    await lab.drain()

    assert await minutes(lab) == before
    (thread,) = await lab.rows("SELECT end_reason FROM threads WHERE ended_at IS NOT NULL")
    assert thread.end_reason == "everyone left"


async def remove(lab: DrainLab, role: str) -> None:
    (row,) = await lab.rows("SELECT id FROM members WHERE profile ->> 'name' = :role", role=role)
    async with lab.database.transaction() as session:
        standing = await lock_standing(session, row.id)
        await end_member(session, standing, "removed", "asked to", lab.clock.now(), cause="request")


async def test_of_two_who_are_there_one_may_go_and_the_minutes_go_on_with_the_other(database: Database) -> None:
    lab = DrainLab(database, models={"mock": Telling()})
    await lab.start(small())
    while not await lab.rows("SELECT 1 FROM messages WHERE topic = 'open' AND author_name = 'B'"):
        await lab.deliver(lab.next_hints())
    before = await minutes(lab)

    await remove(lab, "A")
    await lab.drain()

    after = await minutes(lab)
    assert after[: len(before)] == before
    assert {(topic, author) for topic, path, author, _ in after[len(before) :] if path} == {
        *(("closed", role) for role in ("B", "C", "Summarizer")),
        *(("last", role) for role in ("B", "C")),
    }


async def test_what_a_mediator_is_asked_can_be_looked_at_like_what_others_are(database: Database) -> None:
    lab = DrainLab(database, models={"mock": Telling()})
    await lab.start(small())
    query = "SELECT id, member_id FROM drafts WHERE path LIKE '%/med%/task:closed/draft'"
    while not (asked := await lab.rows(query)):
        await lab.deliver(lab.next_hints())

    shown = await preview(database, MemberPreview(member_id=asked[0].member_id, stage_id=None))

    assert shown.draft_id == asked[0].id
    assert "sum?" in shown.prompt.messages[1].content


async def test_prompts_and_hints_for_the_mock_are_made_of_answers_and_not_of_the_thread(database: Database) -> None:
    lab = DrainLab(database, models={"mock": Telling()})
    await lab.start(small())
    await lab.drain()
    (draft,) = await lab.rows("SELECT id FROM drafts WHERE path LIKE '%/task:open/draft' ORDER BY path LIMIT 1")

    prompt = await lab.prompts.build(UUID(str(draft.id)))
    async with database.transaction() as session:
        await session.run(text("UPDATE messages SET text = 'Something else.'"))

    assert await lab.prompts.build(UUID(str(draft.id))) == prompt
    assert prompt.hints["message_count"] == 0
