"""What both buses promise when a consumer pauses or stops, on both."""

import asyncio
from dataclasses import replace

import pytest

from parley_lab.base.errors import GivenUp, Unavailable
from parley_lab.contracts.hints import Hint
from parley_lab.testing.buses import Broker, Inbox, ManualPause, a_hint

pytestmark = pytest.mark.timeout(30)


async def test_not_now_stops_the_consumer_until_a_try_succeeds(broker: Broker) -> None:
    pause, inbox = ManualPause(), Inbox()
    bus = broker.bus(pause=pause)
    tries = 0
    postgres_is_away = True

    async def handle(hint: Hint) -> None:
        nonlocal tries
        tries += 1
        if postgres_is_away:
            raise Unavailable("Postgres is away")
        await inbox.handle(hint)

    hints = [a_hint() for _ in range(4)]
    await bus.consume("work", handle, prefetch=10)
    await bus.publish(hints[:1])
    assert await pause.begun() == 1
    await bus.publish(hints[1:])

    # More tries than the delivery limit allows, and one at a time: being away is not an attempt.
    for failures in range(2, 7):
        pause.end()
        assert await pause.begun() == failures
        assert tries == failures
    postgres_is_away = False
    pause.end()

    assert set(await inbox.take(4)) == set(hints)
    assert tries == 6 + 4


async def test_a_failing_hint_ends_the_pause_too(broker: Broker) -> None:
    pause, inbox, poison = ManualPause(), Inbox(), a_hint(kind="poison")
    bus = broker.bus(pause=pause)
    is_away = True

    async def handle(hint: Hint) -> None:
        if is_away:
            raise Unavailable("the broker is away")
        if hint == poison:
            raise RuntimeError("this hint is poison")
        await inbox.handle(hint)

    await bus.consume("work", handle, prefetch=1)
    await bus.publish([poison])
    await pause.begun()
    is_away = False
    pause.end()
    hint = a_hint()
    await bus.publish([hint])

    assert await inbox.next() == hint
    assert await bus.take_dead("work") == poison.encode()


async def test_what_the_database_gives_up_each_time_holds_up_no_other_hint(broker: Broker) -> None:
    pause, inbox, heavy, light = ManualPause(), Inbox(), a_hint(kind="heavy"), a_hint()
    bus = broker.bus(pause=pause)

    async def handle(hint: Hint) -> None:
        if hint == heavy:
            raise GivenUp("it was cancelled after ten seconds")
        await inbox.handle(hint)

    await bus.consume("work", handle, prefetch=1)
    await bus.publish([heavy, light])

    assert await inbox.next() == light
    assert await bus.take_dead("work") == heavy.encode()


async def test_cancel_gives_back_what_a_pause_held(broker: Broker) -> None:
    pause, inbox, hint = ManualPause(), Inbox(), a_hint()
    bus = broker.bus(pause=pause)

    async def away(_: Hint) -> None:
        raise Unavailable("Postgres is away")

    subscription = await bus.consume("work", away, prefetch=10)
    await bus.publish([hint])
    await pause.begun()

    await subscription.cancel()
    await bus.consume("work", inbox.handle, prefetch=10)

    assert await inbox.next() == hint


async def test_cancel_waits_for_running_handlers_and_takes_no_more(broker: Broker) -> None:
    bus, begun, echo, rest = broker.bus(), Inbox(), Inbox(), Inbox()
    may_end = asyncio.Event()
    ended: list[Hint] = []

    async def handle(hint: Hint) -> None:
        await begun.handle(hint)
        await may_end.wait()
        ended.append(hint)

    hints = [a_hint() for _ in range(3)]
    subscription = await bus.consume("work", handle, prefetch=1)
    await bus.consume("other", echo.handle, prefetch=1)
    await bus.publish(hints)
    running = await begun.next()

    cancelling = asyncio.create_task(subscription.cancel())
    await bus.publish([a_hint("other")])
    await echo.next()  # a whole way through the bus, which cancel has outlasted
    assert not cancelling.done()
    may_end.set()
    await cancelling

    assert ended == [running]
    await bus.consume("work", rest.handle, prefetch=10)
    assert set(await rest.take(2)) == set(hints) - {running}
    assert rest.is_empty


async def test_cancel_takes_nothing_ordinary_while_an_urgent_handler_runs(broker: Broker) -> None:
    bus, begun, echo, rest = broker.bus(), Inbox(), Inbox(), Inbox()
    may_end = {urgent: asyncio.Event() for urgent in (True, False)}

    async def handle(hint: Hint) -> None:
        await begun.handle(hint)
        await may_end[hint.urgent].wait()

    urgent, ordinary, later = replace(a_hint(), urgent=True), a_hint(), a_hint()
    subscription = await bus.consume("work", handle, prefetch=1)
    await bus.consume("other", echo.handle, prefetch=1)
    await bus.publish([urgent, ordinary])
    assert set(await begun.take(2)) == {urgent, ordinary}

    cancelling = asyncio.create_task(subscription.cancel())
    may_end[False].set()
    await bus.publish([later])
    await bus.publish([a_hint("other")])
    await echo.next()  # a whole way through the bus, in which `later` would have come
    may_end[True].set()
    await cancelling

    assert begun.is_empty
    await bus.consume("work", rest.handle, prefetch=10)
    assert await rest.next() == later


async def test_a_handler_may_cancel_its_own_subscription(broker: Broker) -> None:
    bus, inbox = broker.bus(), Inbox()

    async def handle(hint: Hint) -> None:
        await subscription.cancel()
        await inbox.handle(hint)

    subscription = await bus.consume("work", handle, prefetch=1)
    await bus.publish([a_hint()])

    await inbox.next()
