"""What both buses promise, on both."""

import asyncio
from dataclasses import replace

import pytest

from parley_lab.base.urgency import is_urgent
from parley_lab.bus import Bus, BusUnavailable
from parley_lab.bus.contract import Fate
from parley_lab.contracts.hints import Hint
from parley_lab.testing.buses import Broker, Inbox, a_hint

pytestmark = pytest.mark.timeout(30)


async def test_a_published_hint_is_delivered_as_it_was(broker: Broker) -> None:
    bus, inbox, hint = broker.bus(), Inbox(), a_hint()
    await bus.consume("work", inbox.handle, prefetch=10)

    await bus.publish([hint])

    assert await inbox.next() == hint


async def test_a_hint_published_before_any_consumer_exists_waits(broker: Broker) -> None:
    bus, inbox, hint = broker.bus(), Inbox(), a_hint()

    await bus.publish([hint])
    await bus.consume("work", inbox.handle, prefetch=10)

    assert await inbox.next() == hint


async def test_a_handled_hint_is_gone(broker: Broker) -> None:
    bus, first, second = broker.bus(), Inbox(), Inbox()
    subscription = await bus.consume("work", first.handle, prefetch=10)
    await bus.publish([a_hint()])
    await first.next()

    await subscription.cancel()
    sentinel = a_hint()
    await bus.publish([sentinel])
    await bus.consume("work", second.handle, prefetch=10)

    assert await second.next() == sentinel
    assert second.is_empty


async def test_a_queue_gets_only_its_own_hints(broker: Broker) -> None:
    bus, inbox, hint = broker.bus(), Inbox(), a_hint("work")
    await bus.consume("work", inbox.handle, prefetch=10)

    await bus.publish([a_hint("other"), hint])

    assert await inbox.next() == hint
    assert inbox.is_empty


async def test_a_hint_comes_back_after_an_exception(broker: Broker) -> None:
    bus, inbox, hint = broker.bus(), Inbox(), a_hint()

    async def fail_once(hint: Hint) -> None:
        await inbox.handle(hint)
        if attempts := len(seen):
            assert attempts == 1
        else:
            seen.append(hint)
            raise RuntimeError("the first attempt fails")

    seen: list[Hint] = []
    await bus.consume("work", fail_once, prefetch=10)

    await bus.publish([hint])

    assert await inbox.take(2) == [hint, hint]


async def test_a_handler_that_is_cancelled_from_inside_counts_as_failed(broker: Broker) -> None:
    bus, hint = broker.bus(), a_hint()

    async def cancelled(_: Hint) -> None:
        raise asyncio.CancelledError

    await bus.consume("work", cancelled, prefetch=10)

    await bus.publish([hint])

    assert await bus.take_dead("work") == hint.encode()


async def until_dead(bus: Bus, bodies: int) -> None:
    """Wait until so many bodies are in the dead-letter queue."""
    async with asyncio.timeout(10):
        while await bus.dead("work") != bodies:  # noqa: ASYNC110 - the broker sends no word of it
            await asyncio.sleep(0.05)


async def test_a_hint_that_always_fails_is_dead_after_the_limit(broker: Broker) -> None:
    bus, inbox, hint = broker.bus(), Inbox(), a_hint()

    async def fail(hint: Hint) -> None:
        await inbox.handle(hint)
        raise RuntimeError("this hint is poison")

    await bus.consume("work", fail, prefetch=10)

    await bus.publish([hint])

    await until_dead(bus, 1)
    assert await bus.take_dead("work") == hint.encode()
    await until_dead(bus, 0)
    assert await inbox.take(3) == [hint] * 3  # one delivery and two returns
    assert inbox.is_empty


async def test_dead_bodies_are_looked_at_replayed_and_dropped(broker: Broker) -> None:
    bus, seen = broker.bus(), list[bytes]()
    fates = {b"kept": Fate.KEEP, b"replayed": Fate.REPLAY, b"dropped": Fate.DROP}

    def look(body: bytes) -> Fate:
        seen.append(body)
        return Fate.KEEP

    subscription = await bus.consume("work", Inbox().handle, prefetch=3)
    for body in fates:
        await bus.put("work", body)
    await until_dead(bus, 3)
    await subscription.cancel()
    await bus.sift_dead("work", look)
    await until_dead(bus, 3)
    await bus.sift_dead("work", fates.__getitem__)
    await bus.sift_dead("elsewhere", look)

    await until_dead(bus, 1)
    assert sorted(seen) == sorted(fates)
    assert await bus.waiting("work") == 1
    assert await bus.take_dead("work") == b"kept"


@pytest.mark.parametrize(
    "body",
    [
        b"\xff not JSON",
        b"[]",
        b'{"type": "cohort.changed"}',
        b'{"type": "cohort.changed", "id": "7"}',
        b'{"type": 7, "id": "0f8fad5b-d9cb-469f-a165-70867728950e"}',
    ],
)
async def test_an_undecodable_body_is_dead_at_once(broker: Broker, body: bytes) -> None:
    bus, inbox, hint = broker.bus(), Inbox(), a_hint()
    await bus.consume("work", inbox.handle, prefetch=10)

    await bus.put("work", body)
    await bus.publish([hint])

    assert await bus.take_dead("work") == body
    assert await inbox.next() == hint
    assert inbox.is_empty


async def test_prefetch_is_how_many_handlers_run_at_once(broker: Broker) -> None:
    bus, inbox = broker.bus(), Inbox()
    running: list[int] = []
    peaks: list[int] = []
    pair = asyncio.Barrier(2)

    async def meet_another(hint: Hint) -> None:
        running.append(1)
        peaks.append(len(running))
        await pair.wait()
        running.pop()
        await inbox.handle(hint)

    await bus.publish([a_hint() for _ in range(6)])

    await bus.consume("work", meet_another, prefetch=2)
    await inbox.take(6)

    assert max(peaks) == 2


async def test_the_same_hint_twice_is_delivered_twice(broker: Broker) -> None:
    bus, inbox, hint = broker.bus(), Inbox(), a_hint()
    await bus.consume("work", inbox.handle, prefetch=10)

    await bus.publish([hint, hint])

    assert await inbox.take(2) == [hint, hint]


async def test_two_consumers_share_a_queue(broker: Broker) -> None:
    both = asyncio.Barrier(2)
    inboxes = [Inbox(), Inbox()]

    async def first(hint: Hint) -> None:
        await both.wait()
        await inboxes[0].handle(hint)

    async def second(hint: Hint) -> None:
        await both.wait()
        await inboxes[1].handle(hint)

    await broker.bus().consume("work", first, prefetch=1)
    await broker.bus().consume("work", second, prefetch=1)
    hints = {a_hint(), a_hint()}

    await broker.bus().publish(list(hints))

    assert {await inboxes[0].next(), await inboxes[1].next()} == hints


async def test_a_busy_consumer_holds_no_more_than_its_prefetch(broker: Broker) -> None:
    begun, idle = Inbox(), Inbox()
    may_end = asyncio.Event()

    async def be_busy(hint: Hint) -> None:
        await begun.handle(hint)
        await may_end.wait()

    bus = broker.bus()
    await bus.consume("work", be_busy, prefetch=1)
    await bus.publish([a_hint()])
    await begun.next()
    hints = {a_hint(), a_hint()}

    await bus.publish(list(hints))
    await broker.bus().consume("work", idle.handle, prefetch=1)

    assert set(await idle.take(2)) == hints
    may_end.set()


async def test_declared_queues_can_be_declared_again(broker: Broker) -> None:
    await broker.bus().declare(["work", "other"])
    await broker.bus().declare(["work", "other"])


async def test_a_closed_bus_refuses_to_publish(broker: Broker) -> None:
    bus = broker.bus()
    assert await bus.ping()

    await bus.close()

    assert not await bus.ping()
    with pytest.raises(BusUnavailable):
        await bus.publish([a_hint()])


async def test_an_urgent_hint_is_handled_though_all_hands_are_full(broker: Broker) -> None:
    bus, inbox, done = broker.bus(), Inbox(), asyncio.Event()
    urgent = replace(a_hint(), urgent=True)

    async def handle(hint: Hint) -> None:
        if not hint.urgent:
            await done.wait()
        await inbox.handle(hint)

    await bus.consume("work", handle, prefetch=2)
    await bus.publish([a_hint() for _ in range(6)])
    await bus.publish([urgent])

    assert await inbox.next() == urgent
    assert await bus.waiting("work") == 4
    done.set()
    await inbox.take(6)


async def test_what_follows_from_an_urgent_hint_is_urgent(broker: Broker) -> None:
    bus, seen = broker.bus(), asyncio.Queue[bool]()

    async def handle(hint: Hint) -> None:
        seen.put_nowait(is_urgent())

    await bus.consume("work", handle, prefetch=1)
    await bus.publish([replace(a_hint(), urgent=True)])
    first = await seen.get()
    await bus.publish([a_hint()])

    assert (first, await seen.get()) == (True, False)
