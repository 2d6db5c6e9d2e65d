"""A person's message is stored without a lock where nothing but the message follows; else under the thread's lock."""

import asyncio
from typing import Any, Final
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from parley_lab.gateway.routes import threads
from parley_lab.gateway.testing import Api
from parley_lab.gateway.testing.said import stored, told
from parley_lab.members.standings import hash_token
from parley_lab.store.failures import StaleRead
from parley_lab.talk import posting
from parley_lab.talk.conversation import advance_thread
from parley_lab.talk.posting import post_message, post_unlocked
from parley_lab.talk.said import write_unlocked
from parley_lab.testing.statements import counted

pytestmark = pytest.mark.postgres

Data = dict[str, Any]
TALK: Final[Data] = {"id": "talk", "kind": "group_chat", "post_limit": None}
PERSONA: Final[Data] = {"id": "robin", "profile": {"name": "Robin"}}


async def group(api: Api, number: int, **talk: Any) -> tuple[str, list[str]]:
    """A conversation of so many people, and their tokens."""
    experiment_id = await api.running(stages=[{**TALK, **talk}], cohorts=[{"seats": [{"open": True, "count": number}]}])
    tokens = [await api.join(experiment_id, f"P{place}") for place in range(number)]
    await api.settle(experiment_id)
    return experiment_id, tokens


async def post(api: Api, token: str, words: str, key: str | None = None) -> Any:
    path = f"/v1/me/threads/{await api.thread(token)}/messages"
    body = {"text": words, "client_message_id": key or str(uuid4())}
    return await api.participant(token, "POST", path, json=body)


async def unlocked(api: Api, token: str, words: str) -> None:
    thread_id = UUID(await api.thread(token))
    async with api.database.autocommit() as session:
        await post_unlocked(session, thread_id, hash_token(token), words, api.clock.now(), client_key=words)


async def test_a_message_among_people_takes_two_statements(api: Api) -> None:
    _, (ada, bo) = await group(api, 2)
    thread_id = UUID(await api.thread(ada))
    await unlocked(api, ada, "Warm.")

    with counted() as sent:
        async with api.database.autocommit() as session:
            await post_unlocked(session, thread_id, hash_token(bo), "Hello.", api.clock.now(), client_key="1")

    assert len(sent) == 2, sent
    assert await stored(api.database) == [(1, "Warm."), (2, "Hello.")]


async def test_a_message_waits_for_no_author_who_is_just_joining_again(api: Api) -> None:
    """Their row has a new token, which what refers to it would wait for: with the counters of others."""
    _, (ada, _) = await group(api, 2)
    await api.thread(ada)

    async with api.database.transaction() as other:
        await other.run(text("UPDATE members SET token_hash = 'new' WHERE token_hash = :old"), {"old": hash_token(ada)})
        async with asyncio.timeout(2):
            with pytest.raises(StaleRead):
                await unlocked(api, ada, "Hello.")

    assert await stored(api.database) == []


@pytest.mark.parametrize("beside", [False, True], ids=["in turn", "beside each other"])
async def test_of_many_messages_at_once_each_is_stored_and_told_once(
    api: Api, monkeypatch: pytest.MonkeyPatch, beside: bool
) -> None:
    """Also of several gateways, which do not wait for each other's messages."""
    _, tokens = await group(api, 4)
    await api.thread(tokens[0])
    if beside:
        monkeypatch.setattr(type(api.app.state.context.posts), "turn", lambda *_: asyncio.timeout(None))
    said = [(token, f"{place}-{number}") for number in range(8) for place, token in enumerate(tokens)]

    answers = await asyncio.gather(*(post(api, token, words, words) for token, words in [*said, *said]))

    assert {answer.status_code for answer in answers} == {201}
    messages = await stored(api.database)
    assert [seq for seq, _ in messages] == list(range(1, len(said) + 1))
    assert sorted(words for _, words in messages) == sorted(words for _, words in said)
    events = await told(api.database)
    assert [words for _, words in events] == [words for _, words in messages]
    numbers = [number for number, _ in events]
    assert numbers == sorted(set(numbers))
    async with api.database.read() as session:
        gaps = await session.one(text("SELECT max(stream_seq) - count(*) AS n FROM events WHERE cohort_id IS NOT NULL"))
    assert gaps.n == 0
    for (_, words), answer in zip([*said, *said], answers, strict=True):
        assert answer.json()["text"] == words
        assert (answer.json()["seq"], words) in messages


async def test_no_message_is_stored_after_its_author_was_paused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    _, (ada, bo) = await group(api, 2)
    await api.thread(ada)
    member_id = (await api.participant(ada, "GET", "/v1/me")).json()["member_id"]

    async def paused_before(*change: Any, **how: Any) -> int | None:
        answer = await api.experimenter("POST", f"/v1/members/{member_id}/pause")
        assert answer.status_code == 200, answer.text
        return await write_unlocked(*change, **how)

    monkeypatch.setattr(posting, "write_unlocked", paused_before)
    refused = await post(api, ada, "Too late.")
    monkeypatch.undo()
    other = await post(api, bo, "And I?")

    assert (refused.status_code, other.status_code) == (409, 201)
    assert [words for _, words in await stored(api.database)] == ["And I?"]


async def test_a_message_that_another_one_overtakes_is_made_of_the_thread_as_it_is_then(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (ada, bo) = await group(api, 2)
    thread_id = UUID(await api.thread(ada))

    async def bo_is_faster(*change: Any, **how: Any) -> int | None:
        monkeypatch.setattr(posting, "write_unlocked", write_unlocked)
        async with api.database.transaction() as other:
            await post_message(other, thread_id, hash_token(bo), "First!", api.clock.now(), client_key="1")
        return await write_unlocked(*change, **how)

    monkeypatch.setattr(posting, "write_unlocked", bo_is_faster)
    answer = await post(api, ada, "Second.")

    assert (answer.status_code, answer.json()["seq"]) == (201, 2)
    assert await stored(api.database) == [(1, "First!"), (2, "Second.")]


async def test_nothing_of_a_message_is_stored_that_another_one_overtakes(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (ada, bo) = await group(api, 2)
    thread_id = UUID(await api.thread(ada))

    async def bo_is_faster(*change: Any, **how: Any) -> int | None:
        async with api.database.transaction() as other:
            await post_message(other, thread_id, hash_token(bo), "First!", api.clock.now(), client_key="1")
        return await write_unlocked(*change, **how)

    monkeypatch.setattr(posting, "write_unlocked", bo_is_faster)
    with pytest.raises(StaleRead):
        await unlocked(api, ada, "Second.")

    assert await stored(api.database) == [(1, "First!")]
    assert [words for _, words in await told(api.database)] == ["First!"]


async def test_nothing_that_asks_an_agent_is_stored_when_another_message_overtakes_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    seats = [{"open": True, "count": 2}, {"persona": "robin"}]
    experiment_id = await api.running(personas=[PERSONA], stages=[TALK], cohorts=[{"seats": seats}])
    ada, bo = [await api.join(experiment_id, f"P{place}") for place in range(2)]
    await api.settle(experiment_id)
    thread_id = UUID(await api.thread(ada))
    async with api.database.transaction() as other:
        await other.run(text("UPDATE drafts SET state = 'failed', closed_at = now()"))

    async def bo_is_faster(*change: Any, **how: Any) -> int | None:
        async with api.database.transaction() as other:
            await post_message(other, thread_id, hash_token(bo), "First!", api.clock.now(), client_key="1")
        return await write_unlocked(*change, **how)

    monkeypatch.setattr(posting, "write_unlocked", bo_is_faster)
    with pytest.raises(StaleRead):
        await unlocked(api, ada, "Second.")

    assert await stored(api.database) == [(1, "First!")]
    assert [words for _, words in await told(api.database)] == ["First!"]


async def test_a_message_waits_for_who_holds_the_thread(api: Api) -> None:
    _, (ada, bo) = await group(api, 2)
    thread_id = UUID(await api.thread(ada))
    has_lock, may_commit = asyncio.Event(), asyncio.Event()

    async def post_slowly() -> None:
        async with api.database.transaction() as other:
            await post_message(other, thread_id, hash_token(bo), "First!", api.clock.now(), client_key="1")
            has_lock.set()
            await may_commit.wait()

    holding = asyncio.create_task(post_slowly())
    await has_lock.wait()
    posted = asyncio.create_task(post(api, ada, "Second."))
    await asyncio.wait([posted], timeout=0.3)
    assert not posted.done()
    may_commit.set()
    await holding

    assert (await posted).json()["seq"] == 2
    assert await stored(api.database) == [(1, "First!"), (2, "Second.")]


@pytest.mark.parametrize("path", ["pause", "end"])
async def test_no_message_is_stored_after_a_pause_or_an_end_that_came_between(
    api: Api, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    experiment_id, (ada, _) = await group(api, 2)

    async def after_it(*change: Any, **how: Any) -> int | None:
        done = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/{path}")
        assert done.is_success, done.text
        return await write_unlocked(*change, **how)

    await api.thread(ada)
    monkeypatch.setattr(posting, "write_unlocked", after_it)
    answer = await post(api, ada, "Too late.")

    assert answer.status_code == 409, answer.text
    assert await stored(api.database) == []


async def test_where_an_agent_is_about_to_say_something_a_message_is_stored_under_the_lock(api: Api) -> None:
    experiment_id = await api.running(
        stages=[TALK], personas=[PERSONA], cohorts=[{"seats": [{"open": True}, {"persona": "robin"}]}]
    )
    ada = await api.join(experiment_id, "Ada")
    await api.settle(experiment_id)
    answer = await post(api, ada, "What do you think?")
    assert answer.status_code == 201, answer.text
    async with api.database.read() as session:
        assert await session.all(text("SELECT 1 FROM drafts WHERE state = 'wanted'"))

    with pytest.raises(StaleRead):
        await unlocked(api, ada, "Robin?")

    assert (await post(api, ada, "Robin?")).json()["seq"] == 2


async def test_another_number_of_posts_than_the_usual_is_limited_too(api: Api) -> None:
    _, (ada, _) = await group(api, 2, post_limit={"posts": 2, "seconds": 60})

    answers = [await post(api, ada, f"{number}") for number in range(3)]

    assert [answer.status_code for answer in answers] == [201, 201, 429]


async def test_a_message_to_a_thread_of_others_is_told_to_no_one(api: Api) -> None:
    _, (ada, _) = await group(api, 2)
    _, (cleo, _) = await group(api, 2)

    path = f"/v1/me/threads/{await api.thread(ada)}/messages"
    refused = await api.participant(cleo, "POST", path, json={"text": "Hi", "client_message_id": "1"})
    unknown = await api.participant("nobody", "POST", path, json={"text": "Hi", "client_message_id": "1"})

    assert (refused.status_code, unknown.status_code) == (404, 401)
    assert await stored(api.database) == []


async def test_one_message_waits_a_second_for_another_and_no_longer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    _, (ada, bo) = await group(api, 2)
    await api.thread(ada)
    unlocked_at_first, begun, never = threads._posted_unlocked, asyncio.Event(), asyncio.Event()

    async def stuck(*message: Any) -> Data:
        monkeypatch.setattr(threads, "_posted_unlocked", unlocked_at_first)
        begun.set()
        await never.wait()
        raise StaleRead

    monkeypatch.setattr(threads, "_posted_unlocked", stuck)
    first = asyncio.create_task(post(api, ada, "Stuck."))
    await begun.wait()
    second = await post(api, bo, "Beside it.")
    never.set()

    assert (second.status_code, second.json()["seq"]) == (201, 1)
    assert (await first).json()["seq"] == 2


WITH_AGENT: Final[Data] = {"seats": [{"open": True}, {"persona": "robin"}]}
ALIKE: Final[dict[str, Data]] = {
    "among people": {"stages": [TALK], "cohorts": [{"seats": [{"open": True, "count": 2}]}]},
    "with an agent": {"stages": [TALK], "personas": [PERSONA], "cohorts": [WITH_AGENT]},
    "with agents who are asked in turn": {
        "stages": [{**TALK, "turn_taking": "select"}],
        "personas": [PERSONA],
        "cohorts": [{"seats": [{"open": True}, {"persona": "robin", "count": 2}]}],
    },
    "with topics": {
        "stages": [{**TALK, "topics": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}],
        "personas": [PERSONA],
        "cohorts": [WITH_AGENT],
    },
    "with a quiet time": {"stages": [{**TALK, "quiet_seconds": 2}], "personas": [PERSONA], "cohorts": [WITH_AGENT]},
    "in private": {
        "stages": [{"id": "talk", "kind": "private_chat", "progress": {"wait_for_all": False}}],
        "personas": [PERSONA],
        "cohorts": [{"seats": [{"open": True}], "mediators": ["robin"]}],
    },
}
_ROWS: Final = text(
    """
    SELECT
        (SELECT jsonb_agg(jsonb_build_array(m.seq, m.text, m.author_kind, m.known_as, m.topic, m.elapsed_ms)
            ORDER BY m.seq) FROM messages m JOIN threads t ON t.id = m.thread_id WHERE t.cohort_id = c.id) AS messages,
        (SELECT jsonb_agg(jsonb_build_array(t.path, t.last_seq, t.agent_run, t.clock_ms, t.last_spoken_trigger IS NULL,
            (SELECT jsonb_agg(k ORDER BY k) FROM jsonb_object_keys(t.turn_state) k))) FROM threads t
            WHERE t.cohort_id = c.id) AS threads,
        (SELECT jsonb_agg(jsonb_build_array(d.path, d.wave, d.as_of_seq, d.purpose, d.state, d.provider)
            ORDER BY d.path) FROM drafts d WHERE d.cohort_id = c.id) AS drafts,
        (SELECT jsonb_agg(jsonb_build_array(i.path, i.purpose, i.generation, i.state) ORDER BY i.path) FROM timers i
            WHERE i.cohort_id = c.id) AS timers,
        (SELECT jsonb_agg(jsonb_build_array(e.type, e.actor, e.cause, e.subject, e.payload ->> 'text')
            ORDER BY e.stream_seq) FROM events e WHERE e.cohort_id = c.id) AS events
    FROM cohorts c WHERE c.experiment_id = :experiment_id
    """
)


@pytest.mark.parametrize("study", ALIKE.values(), ids=ALIKE)
async def test_a_message_has_the_same_effects_with_and_without_the_lock(api: Api, study: Data) -> None:
    found = []
    for is_locked in (False, True):
        experiment_id = await api.running(seed=3, **study)
        ada = await api.join(experiment_id, "Ada")
        if study["cohorts"][0]["seats"][0].get("count"):
            await api.join(experiment_id, "Bo")
        async with api.database.transaction() as session:
            # The agents do not begin.
            await session.run(text("UPDATE drafts SET state = 'declined', closed_at = now() WHERE state = 'wanted'"))
            await session.run(text("DELETE FROM outbox"))
        if is_locked:
            async with api.database.transaction() as session:
                thread_id = UUID(await api.thread(ada))
                await post_message(session, thread_id, hash_token(ada), "Hi", api.clock.now(), client_key="Hi")
        else:
            await unlocked(api, ada, "Hi")
        async with api.database.read() as session:
            rows = await session.one(_ROWS, {"experiment_id": UUID(experiment_id)})
            hints = await session.all(text("SELECT queue, type, urgent FROM outbox ORDER BY queue, type"))
        found.append(([*rows], [tuple(hint) for hint in hints]))

    without, with_lock = found
    assert without == with_lock
    assert without[0][0], "the message is there"


async def test_a_message_that_more_follows_from_is_stored_under_the_lock(api: Api) -> None:
    experiment_id, (ada, bo) = await group(api, 2)
    await api.thread(ada)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    assert (await api.participant(bo, "POST", "/v1/me/leave")).is_success
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    assert await stored(api.database) == []

    with pytest.raises(StaleRead):
        await unlocked(api, ada, "Hello?")
    answer = await post(api, ada, "Hello?")

    assert answer.status_code == 201, answer.text
    assert await stored(api.database) == [(1, "Hello?"), (2, "P1 has left the chat.")]


async def robin_and_ada(api: Api, **persona: Any) -> tuple[str, str, str]:
    """A conversation of a person and an agent who does not begin: the person's token, the thread, the agent."""
    personas = [{**PERSONA, **persona}]
    cohorts = [{"seats": [{"open": True}, {"persona": "robin"}]}]
    experiment_id = await api.running(stages=[TALK], personas=personas, cohorts=cohorts)
    ada = await api.join(experiment_id, "Ada")
    async with api.database.transaction() as session:
        await session.run(text("UPDATE members SET position = 0, status = 'in_progress'"))
        await session.run(text("UPDATE drafts SET state = 'declined', closed_at = now() WHERE state = 'wanted'"))
        robin = await session.one(text("SELECT id FROM members WHERE player = 'agent'"))
    await api.settle(experiment_id)
    return ada, await api.thread(ada), str(robin.id)


async def staff(api: Api, member_id: str, what: str) -> None:
    done = await api.experimenter("POST", f"/v1/members/{member_id}/{what}")
    assert done.is_success, done.text


async def test_an_agent_who_comes_back_while_a_message_is_stored_is_asked_about_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, thread_id, robin = await robin_and_ada(api, chat={"min_messages_before_responding": 2})
    assert (await post(api, ada, "One.")).status_code == 201
    await staff(api, robin, "pause")

    async def robin_comes_back(*change: Any, **how: Any) -> int | None:
        await staff(api, robin, "resume")
        async with api.database.transaction() as session:
            # It finds one message only: nothing is due, and nothing is written.
            await advance_thread(session, UUID(thread_id), api.clock.now(), cause="test")
        return await write_unlocked(*change, **how)

    monkeypatch.setattr(posting, "write_unlocked", robin_comes_back)
    answer = await post(api, ada, "Two.")

    assert (answer.status_code, answer.json()["seq"]) == (201, 2)
    async with api.database.read() as session:
        asked = await session.all(text("SELECT as_of_seq FROM drafts WHERE state = 'wanted'"))
    assert [row.as_of_seq for row in asked] == [2]


async def test_what_a_message_was_read_with_is_not_kept_while_the_thread_is_locked(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is paused while their message waits for a look that finds nothing to do says nothing."""
    _, (ada, _) = await group(api, 2)
    thread_id, me = await api.thread(ada), await api.participant(ada, "GET", "/v1/me")
    has_lock, may_commit = asyncio.Event(), asyncio.Event()

    async def look_slowly() -> None:
        async with api.database.transaction() as session:
            await advance_thread(session, UUID(thread_id), api.clock.now(), cause="test")
            has_lock.set()
            await may_commit.wait()

    async def while_it_is_locked(*change: Any, **how: Any) -> int | None:
        asyncio.get_running_loop().call_later(0.3, may_commit.set)
        await staff(api, me.json()["member_id"], "pause")
        return await write_unlocked(*change, **how)

    looking = asyncio.create_task(look_slowly())
    await has_lock.wait()
    monkeypatch.setattr(posting, "write_unlocked", while_it_is_locked)
    answer = await post(api, ada, "Too late.")
    await looking

    assert (answer.status_code, answer.json()["reason"]) == (409, "paused"), answer.text
    assert await stored(api.database) == []
