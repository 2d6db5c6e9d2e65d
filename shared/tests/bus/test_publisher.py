"""The outbox publisher: confirmed before deleted, nothing lost, memory bounded."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from parley_lab.bus import Bus
from parley_lab.bus.in_process import InProcessBus
from parley_lab.bus.publisher import OutboxPublisher
from parley_lab.contracts.hints import Hint
from parley_lab.testing.buses import Broker, Inbox, RabbitBroker, a_hint
from parley_lab.testing.tcp_proxy import TcpProxy

pytestmark = pytest.mark.timeout(30)

Row = tuple[int, Hint]


class Outbox:
    """A table of committed rows; `is_broken` makes its database refuse."""

    def __init__(self) -> None:
        self.rows: dict[int, Hint] = {}
        self.is_broken = False
        self.emptied = asyncio.Event()
        self._last_id = 0

    def commit(self, *hints: Hint) -> list[Row]:
        committed = [(self._last_id + place, hint) for place, hint in enumerate(hints, start=1)]
        self._last_id += len(hints)
        self.rows.update(committed)
        self.emptied.clear()
        return committed

    async def delete(self, row_ids: Sequence[int]) -> None:
        self._refuse_when_broken()
        for row_id in row_ids:
            self.rows.pop(row_id, None)
        if not self.rows:
            self.emptied.set()

    async def leftover(self, limit: int) -> list[Row]:
        self._refuse_when_broken()
        return list(self.rows.items())[:limit]

    def _refuse_when_broken(self) -> None:
        if self.is_broken:
            raise ConnectionError("the database is away")


def a_publisher(bus: Bus, outbox: Outbox, *, capacity: int = 100, batch_size: int = 10) -> OutboxPublisher:
    return OutboxPublisher(
        bus,
        delete=outbox.delete,
        leftover=outbox.leftover,
        capacity=capacity,
        batch_size=batch_size,
        sweep_seconds=3600,
    )


async def test_what_is_offered_is_published_and_then_deleted(broker: Broker) -> None:
    bus, outbox, inbox = broker.bus(), Outbox(), Inbox()
    publisher = a_publisher(bus, outbox)
    publisher.start()
    await bus.consume("work", inbox.handle, prefetch=10)
    hints = [a_hint() for _ in range(25)]

    publisher.offer(outbox.commit(*hints))

    assert set(await inbox.take(25)) == set(hints)
    await outbox.emptied.wait()
    await publisher.stop()
    assert inbox.is_empty


async def test_flush_works_without_the_background(broker: Broker) -> None:
    bus, outbox, inbox = broker.bus(), Outbox(), Inbox()
    publisher = a_publisher(bus, outbox)
    await bus.consume("work", inbox.handle, prefetch=10)
    publisher.offer(outbox.commit(a_hint()))

    await publisher.flush()

    assert not outbox.rows
    await inbox.next()


async def test_rows_left_by_a_dead_process_are_published_at_start(broker: Broker) -> None:
    bus, outbox, inbox = broker.bus(), Outbox(), Inbox()
    await bus.consume("work", inbox.handle, prefetch=10)
    hints = [a_hint() for _ in range(25)]
    outbox.commit(*hints)
    publisher = a_publisher(bus, outbox)

    publisher.start()

    assert set(await inbox.take(25)) == set(hints)
    await outbox.emptied.wait()
    await publisher.stop()


async def test_a_crash_between_publish_and_delete_publishes_again(broker: Broker) -> None:
    bus, outbox, inbox, hint = broker.bus(), Outbox(), Inbox(), a_hint()
    await bus.consume("work", inbox.handle, prefetch=10)
    outbox.is_broken = True
    crashing = a_publisher(bus, outbox)
    crashing.offer(outbox.commit(hint))
    await crashing.flush()
    assert await inbox.next() == hint

    outbox.is_broken = False
    successor = a_publisher(bus, outbox)
    successor.start()
    await outbox.emptied.wait()
    await successor.stop()

    assert await inbox.next() == hint


async def test_a_failed_delete_is_repeated_without_publishing_again(broker: Broker) -> None:
    bus, outbox, inbox = broker.bus(), Outbox(), Inbox()
    await bus.consume("work", inbox.handle, prefetch=10)
    publisher = a_publisher(bus, outbox)
    outbox.is_broken = True
    publisher.offer(outbox.commit(a_hint()))
    await publisher.flush()
    await inbox.next()

    outbox.is_broken = False
    assert await publisher.sweep() == 0
    await publisher.flush()

    assert not outbox.rows
    assert inbox.is_empty


async def test_memory_is_bounded_and_the_rest_is_left_to_the_sweep(broker: Broker) -> None:
    bus, outbox, inbox = broker.bus(), Outbox(), Inbox()
    await bus.consume("work", inbox.handle, prefetch=10)
    publisher = a_publisher(bus, outbox, capacity=10, batch_size=5)
    hints = [a_hint() for _ in range(25)]

    publisher.offer(outbox.commit(*hints))
    await publisher.flush()
    assert list(outbox.rows.values()) == hints[10:]
    publisher.start()
    await outbox.emptied.wait()
    await publisher.stop()

    assert set(await inbox.take(25)) == set(hints)
    assert inbox.is_empty


async def test_a_sweep_takes_nothing_while_the_memory_is_full_of_rows_to_delete(broker: Broker) -> None:
    bus, outbox = broker.bus(), Outbox()
    is_deletable = False

    async def delete(row_ids: Sequence[int]) -> None:
        if not is_deletable:
            raise ConnectionError("the database is away")
        await outbox.delete(row_ids)

    publisher = OutboxPublisher(bus, delete=delete, leftover=outbox.leftover, capacity=2)
    publisher.offer(outbox.commit(a_hint(), a_hint()))
    await publisher.flush()
    outbox.commit(a_hint())

    assert await publisher.sweep() == 0
    is_deletable = True
    await publisher.flush()
    assert await publisher.sweep() == 1


async def test_a_row_offered_twice_is_published_once(broker: Broker) -> None:
    bus, outbox, inbox = broker.bus(), Outbox(), Inbox()
    await bus.consume("work", inbox.handle, prefetch=10)
    publisher = a_publisher(bus, outbox)
    rows = outbox.commit(a_hint())

    publisher.offer(rows)
    publisher.offer(rows)
    await publisher.flush()

    await inbox.next()
    assert inbox.is_empty


async def test_rows_stay_while_the_bus_is_closed(broker: Broker) -> None:
    bus, outbox = broker.bus(), Outbox()
    publisher = a_publisher(bus, outbox)
    await bus.close()

    publisher.offer(outbox.commit(a_hint(), a_hint()))
    await publisher.flush()

    assert len(outbox.rows) == 2


@pytest.mark.rabbitmq
@pytest.mark.services
async def test_a_queue_to_which_nothing_can_be_published_does_not_hold_up_the_others(rabbit: RabbitBroker) -> None:
    await rabbit.bus().declare(["other"])
    bus, outbox, inbox = rabbit.bus_at(rabbit.url, delivery_limit=1), Outbox(), Inbox()
    await bus.consume("work", inbox.handle, prefetch=10)
    publisher = a_publisher(bus, outbox)
    stubborn, hints = a_hint("other"), [a_hint() for _ in range(4)]

    publisher.offer(outbox.commit(stubborn, *hints))
    await publisher.flush()

    assert set(await inbox.take(4)) == set(hints)
    assert list(outbox.rows.values()) == [stubborn]


@pytest.mark.rabbitmq
@pytest.mark.services
@pytest.mark.fault
async def test_rows_stay_while_the_broker_is_away_and_go_when_it_is_back(rabbit: RabbitBroker) -> None:
    outbox, inbox = Outbox(), Inbox()
    await rabbit.bus().consume("work", inbox.handle, prefetch=10)
    host, port = rabbit.url.rpartition("@")[2].rstrip("/").split(":")
    async with TcpProxy(host, int(port)) as proxy:
        bus = rabbit.bus_at(rabbit.url.replace(f"{host}:{port}", f"{proxy.host}:{proxy.port}"))
        publisher = a_publisher(bus, outbox)
        publisher.start()
        publisher.offer(outbox.commit(a_hint()))
        await outbox.emptied.wait()
        await inbox.next()

        await proxy.cut()
        hints = [a_hint() for _ in range(25)]
        publisher.offer(outbox.commit(*hints))
        await publisher.flush()
        assert list(outbox.rows.values()) == hints

        await proxy.restore()
        await outbox.emptied.wait()
        assert set(await inbox.take(25)) == set(hints)
        await publisher.stop()


async def test_an_urgent_row_is_published_before_the_rows_that_were_offered_earlier() -> None:
    outbox, bus = Outbox(), Counting()
    publisher = a_publisher(bus, outbox, capacity=1_000, batch_size=10)
    urgent = replace(a_hint(), urgent=True)
    publisher.offer(outbox.commit(*(a_hint() for _ in range(500))))
    publisher.offer(outbox.commit(urgent))

    publisher.start()
    bus.is_slow.clear()
    await asyncio.wait_for(bus.begun(urgent), 10)
    begun_before = bus.published.index(urgent)
    bus.is_slow.set()
    await outbox.emptied.wait()
    await publisher.stop()

    assert begun_before <= 4 * 10, "at most the batches that were on their way"


class Counting(InProcessBus):
    """A bus that takes its time, and tells in which order hints were begun with."""

    def __init__(self) -> None:
        super().__init__()
        self.published: list[Hint] = []
        self.is_slow = asyncio.Event()
        self._begun = asyncio.Condition()

    async def publish(self, hints: Sequence[Hint]) -> None:
        async with self._begun:
            self.published += hints
            self._begun.notify_all()
        await self.is_slow.wait()
        await super().publish(hints)

    async def begun(self, hint: Hint) -> None:
        async with self._begun:
            await self._begun.wait_for(lambda: hint in self.published)
