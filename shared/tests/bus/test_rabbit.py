"""What only a broker on the other side of a network can do to us."""

import asyncio
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from parley_lab.bus import BusMisconfigured, BusUnavailable
from parley_lab.bus.rabbit_link import Patience
from parley_lab.contracts.hints import Hint
from parley_lab.testing.buses import Inbox, RabbitBroker, a_hint
from parley_lab.testing.tcp_proxy import TcpProxy

pytestmark = [pytest.mark.rabbitmq, pytest.mark.services, pytest.mark.timeout(30)]


def proxy_before(broker: RabbitBroker) -> TcpProxy:
    address = urlsplit(broker.url)
    return TcpProxy(address.hostname or "127.0.0.1", address.port or 5672)


def url_through(proxy: TcpProxy, broker: RabbitBroker) -> str:
    address = urlsplit(broker.url)
    credentials, _, _ = address.netloc.rpartition("@")
    return address._replace(netloc=f"{credentials}@{proxy.host}:{proxy.port}").geturl()


async def test_publishing_without_a_broker_is_refused_within_a_second(rabbit: RabbitBroker) -> None:
    async with proxy_before(rabbit) as proxy:
        bus = rabbit.bus_at(url_through(proxy, rabbit))
        await bus.publish([a_hint()])
        await proxy.cut()
        never_connected = rabbit.bus_at(url_through(proxy, rabbit))

        for disconnected in (bus, never_connected):
            async with asyncio.timeout(1):
                with pytest.raises(BusUnavailable):
                    await disconnected.publish([a_hint()])
            assert not await disconnected.ping()


async def test_a_broker_that_swallows_everything_is_given_up(rabbit: RabbitBroker) -> None:
    async with proxy_before(rabbit) as proxy:
        bus, back = rabbit.bus_at(url_through(proxy, rabbit), answer_seconds=0.3), asyncio.Event()
        bus.on_reconnect(back.set)
        await bus.publish([a_hint()])

        proxy.freeze()
        with pytest.raises(BusUnavailable):
            await bus.publish([a_hint()])
        await proxy.restore()
        await back.wait()

        await bus.publish([a_hint()])


async def test_a_new_connection_does_not_wait_until_the_silent_one_has_closed(rabbit: RabbitBroker) -> None:
    async with proxy_before(rabbit) as proxy:
        bus, back = rabbit.bus_at(url_through(proxy, rabbit), answer_seconds=2.0), asyncio.Event()
        bus.on_reconnect(back.set)
        await bus.publish([a_hint()])

        with capture_logs() as logs:
            proxy.swallow()
            with pytest.raises(BusUnavailable):
                await bus.publish([a_hint()])
            await back.wait()

        assert "bus.connection_left_open" not in [line["event"] for line in logs]
        await bus.publish([a_hint()])


async def test_consumers_begun_without_a_broker_take_once_it_is_there(rabbit: RabbitBroker) -> None:
    async with proxy_before(rabbit) as proxy:
        bus, back, work = rabbit.bus_at(url_through(proxy, rabbit)), asyncio.Event(), Inbox()
        bus.on_reconnect(back.set)
        await proxy.cut()
        await bus.consume("work", work.handle, prefetch=10)

        await proxy.restore()
        await back.wait()
        hint = a_hint()
        await bus.publish([hint])

        assert await work.next() == hint


async def test_consumers_go_on_after_each_of_several_cuts(rabbit: RabbitBroker) -> None:
    async with proxy_before(rabbit) as proxy:
        bus, back, work = rabbit.bus_at(url_through(proxy, rabbit)), asyncio.Event(), Inbox()
        bus.on_reconnect(back.set)
        await bus.consume("work", work.handle, prefetch=10)

        for _ in range(3):
            back.clear()
            await proxy.cut()
            await proxy.restore()
            await back.wait()
            hint = a_hint()
            await bus.publish([hint])

            await work.until(hint)


async def test_a_hint_whose_connection_breaks_under_the_handler_comes_again(rabbit: RabbitBroker) -> None:
    async with proxy_before(rabbit) as proxy:
        bus, back, begun = rabbit.bus_at(url_through(proxy, rabbit)), asyncio.Event(), Inbox()
        bus.on_reconnect(back.set)
        may_end = asyncio.Event()

        async def handle(hint: Hint) -> None:
            await begun.handle(hint)
            await may_end.wait()

        await bus.consume("work", handle, prefetch=2)
        hint = a_hint()
        await bus.publish([hint])
        await begun.next()

        await proxy.cut()
        await proxy.restore()
        await back.wait()

        assert await begun.next() == hint
        may_end.set()


async def test_handlers_that_outlive_a_connection_count_towards_prefetch(rabbit: RabbitBroker) -> None:
    async with proxy_before(rabbit) as proxy:
        bus, back, begun, echo = rabbit.bus_at(url_through(proxy, rabbit)), asyncio.Event(), Inbox(), Inbox()
        bus.on_reconnect(back.set)
        may_end = asyncio.Event()

        async def handle(hint: Hint) -> None:
            await begun.handle(hint)
            await may_end.wait()

        await bus.consume("work", handle, prefetch=1)
        await bus.consume("other", echo.handle, prefetch=1)
        await bus.publish([a_hint()])
        await begun.next()

        await proxy.cut()
        await proxy.restore()
        await back.wait()
        await bus.publish([a_hint("other")])
        await echo.next()

        assert begun.is_empty
        may_end.set()
        await begun.next()


async def test_a_process_that_dies_with_a_hint_leaves_it_to_another(rabbit: RabbitBroker) -> None:
    async with proxy_before(rabbit) as proxy:
        dying, begun, inbox, hint = rabbit.bus_at(url_through(proxy, rabbit)), Inbox(), Inbox(), a_hint()

        async def never_end(hint: Hint) -> None:
            await begun.handle(hint)
            await may_end.wait()

        may_end = asyncio.Event()
        await dying.consume("work", never_end, prefetch=1)
        await dying.publish([hint])
        await begun.next()

        await proxy.cut()
        await rabbit.bus().consume("work", inbox.handle, prefetch=1)

        assert await inbox.next() == hint
        may_end.set()


async def test_a_queue_deleted_under_us_is_declared_again(rabbit: RabbitBroker) -> None:
    bus, other, inbox, back = rabbit.bus(), rabbit.bus(), Inbox(), asyncio.Event()
    bus.on_reconnect(back.set)
    await bus.consume("work", inbox.handle, prefetch=1)
    publisher = rabbit.bus()
    await publisher.publish([a_hint("other")])

    await other.remove(["work", "other"])
    await back.wait()
    hint = a_hint()
    await publisher.publish([a_hint("other"), hint])

    assert await inbox.next() == hint


async def test_a_queue_with_other_properties_is_named(rabbit: RabbitBroker) -> None:
    await rabbit.bus().declare(["work"])
    stricter = rabbit.bus_at(rabbit.url, delivery_limit=1)

    with pytest.raises(BusMisconfigured, match=r"\.work' exists with other properties"):
        await stricter.publish([a_hint()])
    with pytest.raises(BusMisconfigured):
        await stricter.consume("work", Inbox().handle, prefetch=1)
    assert await stricter.ping()


async def test_a_prefix_keeps_labs_apart(rabbit: RabbitBroker) -> None:
    neighbour = RabbitBroker(rabbit.url, queues=["work"])
    theirs, ours = Inbox(), Inbox()
    await neighbour.bus().consume("work", theirs.handle, prefetch=1)
    await rabbit.bus().consume("work", ours.handle, prefetch=1)
    hint = a_hint()

    await rabbit.bus().publish([hint])

    assert await ours.next() == hint
    assert theirs.is_empty
    await neighbour.close()


def test_a_broker_that_goes_on_confirming_is_not_given_up_however_long_it_takes_in_all() -> None:
    patience = Patience(1.0)

    heard = [patience.is_over(confirmations // 5) for confirmations in range(100)]
    silent = [patience.is_over(19) for _ in range(20)]

    assert not any(heard)
    assert any(silent)
    assert silent.index(True) >= 4
