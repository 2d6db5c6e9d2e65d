"""How a gateway reads events for its streams: once for a cohort, at once, and without holding on to a connection."""

import asyncio
import gc
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.gateway import live as live_streams
from parley_lab.gateway.events import Frame
from parley_lab.gateway.live import Listener, Live
from parley_lab.gateway.testing import Api, served
from parley_lab.gateway.testing.streams import listening, say, take, talkers
from parley_lab.store.session import Database, ReadSession
from parley_lab.talk import streams


async def test_idle_streams_hold_no_connection(api: Api, address: str, database: Database) -> None:
    _, ada, bo = await talkers(api)

    async with listening(address, "/v1/me/stream", ada) as one, listening(address, "/v1/me/stream", bo) as other:
        await say(api, ada, "Hello")
        await take(one, 1)
        await take(other, 1)
        # The gateway looks for what it may have missed every 0.1 s, for a moment.
        async with asyncio.timeout(10):
            pool: Any = database._engine.pool
            while pool.checkedout():  # noqa: ASYNC110 - the pool sends no word of it
                await asyncio.sleep(0.01)


async def test_streams_of_a_cohort_share_one_reader_which_goes_with_the_last(api: Api) -> None:
    _, ada, _ = await talkers(api)
    live: Live = api.app.state.context.live
    cohort_id = UUID((await api.participant(ada, "GET", "/v1/me")).json()["cohort_id"])
    streams = [live.follow({cohort_id: 0}, lambda frame: frame.for_experimenters) for _ in range(2)]

    chunks = [await anext(stream) for stream in streams]
    counted = [(live.count(), len(live._readers))]
    reading = live._readers[cohort_id].task
    for stream in streams:
        await stream.aclose()
        counted.append((live.count(), len(live._readers)))

    assert chunks[0] == chunks[1]
    assert counted == [(2, 1), (1, 1), (0, 0)]
    await asyncio.wait([reading], timeout=10)
    assert reading.cancelled()


async def test_an_idle_stream_keeps_nothing_of_what_it_has_sent(api: Api) -> None:
    _, ada, _ = await talkers(api)
    live: Live = api.app.state.context.live
    cohort_id = UUID((await api.participant(ada, "GET", "/v1/me")).json()["cohort_id"])
    stream = live.follow({cohort_id: 0}, lambda frame: frame.for_experimenters)
    assert await anext(stream)
    for words in (None, "Hello"):
        # In the backlog first, and then live.
        waiting = asyncio.create_task(anext(stream))
        if words is not None:
            await say(api, ada, words)
            assert b"Hello" in await waiting
            waiting = asyncio.create_task(anext(stream))
        await asyncio.sleep(0.05)
        kept = [one for one in gc.get_objects() if isinstance(one, Frame) and one.cohort_id == cohort_id]
        waiting.cancel()
        await asyncio.wait([waiting])
        assert kept == []
        stream = live.follow({cohort_id: 0}, lambda frame: frame.for_experimenters)
        assert await anext(stream)
    await stream.aclose()


async def test_readers_that_wake_while_others_are_read_are_read_together(
    database: Database, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ada, _ = await talkers(api)
    cohort_ids = [UUID((await api.participant(ada, "GET", "/v1/me")).json()["cohort_id"]), UUID(int=1), UUID(int=2)]
    live = Live(database, ping_seconds=60, look_seconds=60, backlog=10)
    is_reading, may_read, have_read = asyncio.Event(), asyncio.Event(), asyncio.Event()
    read = streams.events_after
    batches: list[list[UUID]] = []

    async def slowly(session: ReadSession, places: Any, **how: Any) -> Any:
        batches.append([cohort_id for cohort_id, _, _ in places])
        is_reading.set()
        if len(batches) == 2:
            have_read.set()
        await may_read.wait()
        return await read(session, places, **how)

    monkeypatch.setattr(streams, "events_after", slowly)
    listeners = [Listener(10) for _ in cohort_ids]
    await live._attach(listeners[0], [cohort_ids[0]])
    await is_reading.wait()
    for listener, cohort_id in zip(listeners[1:], cohort_ids[1:], strict=True):
        await live._attach(listener, [cohort_id])
    may_read.set()
    await asyncio.wait_for(have_read.wait(), timeout=10)
    await live.close()

    assert batches == [cohort_ids[:1], cohort_ids[1:]]


async def test_a_cohort_that_is_followed_anew_during_a_read_is_told_of_once_and_to_the_end(
    database: Database, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ada, _ = await talkers(api)
    cohort_id = UUID((await api.participant(ada, "GET", "/v1/me")).json()["cohort_id"])
    live = Live(database, ping_seconds=60, look_seconds=60, backlog=10)
    is_reading, may_read = asyncio.Event(), asyncio.Event()
    read = streams.events_after

    async def slowly(session: ReadSession, places: Any, **how: Any) -> Any:
        is_reading.set()
        await may_read.wait()
        return await read(session, places, **how)

    monkeypatch.setattr(streams, "events_after", slowly)
    monkeypatch.setattr(live_streams, "BATCH", 2)
    other, left, heard = Listener(10), Listener(10), Listener(10)
    await live._attach(other, [UUID(int=1)])
    await is_reading.wait()
    await live._attach(left, [cohort_id])
    await asyncio.sleep(0)  # its reader has asked
    live._detach(left, [cohort_id])
    await live._attach(heard, [cohort_id])
    for said in ("one", "two", "three"):
        await say(api, ada, said)
    may_read.set()
    frames = list(await heard.next(10))
    while len(frames) < 3 and (more := await heard.next(2)):
        frames += more
    await live.close()

    seqs = [frame.seq for frame in frames if isinstance(frame, Frame)]
    assert seqs == list(range(seqs[0], seqs[0] + 3))


async def test_many_cohorts_that_are_behind_are_read_a_part_at_a_time_to_the_end(
    database: Database, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ada, _ = await talkers(api)
    cohort_ids = [UUID((await api.participant(ada, "GET", "/v1/me")).json()["cohort_id"]), UUID(int=1), UUID(int=2)]
    live = Live(database, ping_seconds=60, look_seconds=60, backlog=10)
    read = streams.events_after
    asked: list[int] = []

    async def counting(session: ReadSession, places: Any, *, most: int) -> Any:
        asked.append(len(places) * most)
        if len(asked) == 1:
            for said in ("one", "two", "three"):
                await say(api, ada, said)
        return await read(session, places, most=most)

    monkeypatch.setattr(streams, "events_after", counting)
    monkeypatch.setattr(live_streams, "_EVENTS_AT_ONCE", 3)
    listener = Listener(10)
    await live._attach(listener, cohort_ids)
    frames = list(await listener.next(10))
    while len(frames) < 3 and (more := await listener.next(2)):
        frames += more
    await live.close()

    seqs = [frame.seq for frame in frames if isinstance(frame, Frame)]
    assert seqs == list(range(seqs[0], seqs[0] + 3))
    assert max(asked) == 3


async def test_news_of_many_cohorts_at_once_cut_no_stream_off(
    database: Database, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment_id = await api.running(cohorts=[{"count": 9, "seats": [{"open": True, "count": 2}]}])
    live = Live(database, ping_seconds=60, look_seconds=60, backlog=2)

    async def nothing_yet(_: ReadSession, __: Any) -> dict[UUID, int]:
        return {}

    monkeypatch.setattr(streams, "last_of", nothing_yet)
    sent = dict.fromkeys(await live.cohorts_of(UUID(experiment_id)), 0)
    following = live.follow(sent, lambda frame: frame.for_experimenters)
    async with asyncio.timeout(10):
        async for _ in following:
            if all(sent.values()):
                break
    await following.aclose()
    await live.close()

    assert len(sent) == 9
    assert all(sent.values())


async def test_a_reader_that_falls_behind_is_cut_off(database: Database, api: Api) -> None:
    experiment_id, ada, _ = await talkers(api)
    live = Live(database, ping_seconds=5, look_seconds=5, backlog=2)
    await live.start()
    cohort_id = UUID((await api.participant(ada, "GET", "/v1/me")).json()["cohort_id"])
    stream = live.follow({cohort_id: 0}, lambda frame: frame.for_experimenters)
    await anext(stream)
    reader = live._readers[cohort_id]
    listener = next(iter(reader.listeners))

    for number in range(4):
        await say(api, ada, str(number))
        await reader._read()
    remaining = [chunk async for chunk in stream]
    await live.close()

    assert experiment_id
    assert listener.is_over
    assert len(remaining) <= 1


async def test_a_stored_message_wakes_a_reader_at_once(database: Database, api: Api) -> None:
    _, ada, _ = await talkers(api)
    live = Live(database, ping_seconds=60, look_seconds=60, backlog=10)
    await live.start()
    me = (await api.participant(ada, "GET", "/v1/me")).json()
    cohort_id = UUID(me["cohort_id"])
    stream = live.follow({cohort_id: int(me["cursor"].rpartition(":")[2])}, lambda frame: frame.for_members)
    waiting = asyncio.ensure_future(anext(stream))
    while cohort_id not in live._readers:
        await api.participant(ada, "GET", "/v1/me")

    await say(api, ada, "Hello")
    async with asyncio.timeout(10):
        chunk = await waiting
    await stream.aclose()
    await live.close()

    assert b"Hello" in chunk


async def test_a_reader_who_is_shown_none_of_many_events_has_a_sign_of_life(database: Database, api: Api) -> None:
    _, ada, _ = await talkers(api)
    live = Live(database, ping_seconds=1, look_seconds=60, backlog=1000)
    await live.start()
    cohort_id = UUID((await api.participant(ada, "GET", "/v1/me")).json()["cohort_id"])
    async with database.read() as session:
        event = Frame((await streams.events_after(session, [(cohort_id, 0, 1)]))[0][0])
    stream = live.follow({cohort_id: 0}, lambda _: None)

    async def tell() -> None:
        while True:
            for reader in live._readers.values():
                reader.tell((event,))
            await asyncio.sleep(0.01)

    telling = asyncio.create_task(tell())
    async with asyncio.timeout(10):
        chunk = await anext(stream)
    telling.cancel()
    await stream.aclose()
    await live.close()

    assert chunk.startswith(b":")


async def test_a_stream_that_ends_while_its_events_are_read_costs_no_connection(
    database: Database, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ada, _ = await talkers(api)
    cohort_id = UUID((await api.participant(ada, "GET", "/v1/me")).json()["cohort_id"])
    live = Live(database, ping_seconds=60, look_seconds=60, backlog=10)
    is_reading, may_read, read = asyncio.Event(), asyncio.Event(), streams.events_after
    connections: list[int] = []

    async def slowly(session: ReadSession, *where: Any, **how: Any) -> Any:
        connections.append((await session.one(text("SELECT pg_backend_pid() AS pid"))).pid)
        is_reading.set()
        await may_read.wait()
        return await read(session, *where, **how)

    monkeypatch.setattr(streams, "events_after", slowly)
    sent = {cohort_id: 2**62}
    listener = Listener(10)
    await live._attach(listener, sent)
    reader = live._readers[cohort_id]
    await is_reading.wait()
    live._detach(listener, sent)
    may_read.set()
    await asyncio.wait([reader.task], timeout=10)

    async with database.read() as session:
        alive = await session.all(
            text("SELECT pid FROM pg_stat_activity WHERE pid = ANY(:pids)"), {"pids": connections}
        )
    assert reader.task.cancelled()
    assert [row.pid for row in alive] == connections


async def test_a_gateway_that_stops_ends_its_streams(api: Api) -> None:
    _, ada, _ = await talkers(api)

    async with asyncio.timeout(10), served(api.app) as address:
        stream = listening(address, "/v1/me/stream", ada)
        events = await stream.__aenter__()
    rest = [one async for one in events]
    await stream.__aexit__(None, None, None)

    assert rest == []
