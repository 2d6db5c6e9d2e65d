"""One connection to RabbitMQ, from its opening to its loss; a lost link is replaced, never repaired."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aio_pika
import structlog
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from aio_pika.exceptions import (
    AuthenticationError,
    ChannelNotFoundEntity,
    ChannelPreconditionFailed,
    ConnectionClosed,
    InvalidFrameError,
    ProbableAuthenticationError,
    PublishError,
)

from parley_lab.bus.contract import BusMisconfigured, BusUnavailable, Fate, dead_queue, lane_of, urgent_lane
from parley_lab.contracts.hints import Hint

log = structlog.get_logger(__name__)

_LOOKS = 10

# Newer brokers limit every quorum queue to 20 returns and drop messages beyond it. A person who reads a dead-letter
# queue many times must not lose messages, and older brokers refuse "unlimited".
_DEAD_DELIVERY_LIMIT = 1_000_000


async def attempt(awaitable: Awaitable[Any]) -> BaseException | None:
    """Run it to its end and return what it raised.

    aio-pika cancels pending futures of a broken connection, which would end the awaiting task; gather tells that
    CancelledError from a cancellation of the task itself, which is still raised.
    """
    result: object = (await asyncio.gather(awaitable, return_exceptions=True))[0]
    return result if isinstance(result, BaseException) else None


def refusal_in(error: BaseException | None) -> str:
    """The words with which a broker refuses a connection; empty if none has answered."""
    if isinstance(error, InvalidFrameError) and "Connection.Close" in str(error):
        # Its answer to the virtual host, of which the library does not tell the words.
        return "it closes the connection when the virtual host is named"
    refused = isinstance(error, (AuthenticationError, ProbableAuthenticationError, ConnectionClosed))
    return " ".join(str(part) for part in error.args) if refused and error is not None else ""


class Patience:
    """How long to wait for signs of life, measured in the time in which this process could listen.

    Time is counted in steps; a step in which the process was late counts as its length, not as the time that passed.
    """

    def __init__(self, seconds: float) -> None:
        self.look_seconds = seconds / _LOOKS
        self._heard = -1
        self._looks = 0

    def is_over(self, heard: int) -> bool:
        """Whether nothing beyond `heard` came for all of the time."""
        self._looks = self._looks + 1 if heard == self._heard else 0
        self._heard = heard
        return self._looks >= _LOOKS


class Link:
    """A connection, its publishing channel with confirms, and the queues declared over it.

    `lost` is set as soon as the connection, a channel or a consumer breaks, or a request stays unanswered.
    """

    def __init__(
        self,
        connection: AbstractConnection,
        *,
        prefix: str,
        delivery_limit: int,
        answer_seconds: float,
    ) -> None:
        self.lost = asyncio.Event()
        self.prefix = prefix
        self.answer_seconds = answer_seconds
        self._connection = connection
        self._delivery_limit = delivery_limit
        self._declared: set[str] = set()
        self._declaring = asyncio.Lock()
        self._confirmations = 0
        self._publishing: AbstractChannel
        connection.close_callbacks.add(self._on_lost)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        prefix: str,
        delivery_limit: int,
        answer_seconds: float,
        heartbeat_seconds: int,
    ) -> "Link":
        # The library's default of 60 s notices a silent network after three minutes.
        if "heartbeat=" not in url:
            url = f"{url}{'&' if '?' in url else '?'}heartbeat={heartbeat_seconds}"
        connection = await aio_pika.connect(url)
        link = cls(connection, prefix=prefix, delivery_limit=delivery_limit, answer_seconds=answer_seconds)
        try:
            await link._prepare()
        except BaseException:
            await link.close()
            raise
        return link

    async def _prepare(self) -> None:
        self._publishing = self._connection.channel(publisher_confirms=True, on_return_raises=True)
        await self._publishing.initialize()
        self._publishing.close_callbacks.add(self._on_lost)

    def give_up(self) -> None:
        self.lost.set()

    async def close(self) -> None:
        self.lost.set()
        try:
            async with asyncio.timeout(self.answer_seconds):
                await attempt(self._connection.close())
        except TimeoutError:
            log.warning("bus.connection_left_open")

    async def open_channel(self) -> AbstractChannel:
        """A channel without confirms; the link is lost with the channel or one of its consumers."""
        channel = self._connection.channel(publisher_confirms=False)
        await channel.initialize()
        channel.close_callbacks.add(self._on_lost)
        underlay = await channel.get_underlay_channel()
        underlay.on_consumer_cancel_callbacks.add(lambda _: self.give_up())
        return channel

    async def close_channel(self, channel: AbstractChannel) -> None:
        """Close it on purpose, which does not lose the link."""
        channel.close_callbacks.discard(self._on_lost)
        await channel.close()

    async def declare(self, queue: str) -> None:
        """Raises: BusMisconfigured; anything of aio-pika's when the broker is away."""
        async with self._declaring:
            if queue in self._declared:
                return
            # A refused declaration closes its channel, so it gets one of its own.
            channel = self._connection.channel(publisher_confirms=False)
            await channel.initialize()
            try:
                await declare_work_queue(channel, self.prefix + queue, delivery_limit=self._delivery_limit)
            except ChannelPreconditionFailed as error:
                raise BusMisconfigured(
                    f"the queue {self.prefix + queue!r} exists with other properties; delete it on the broker "
                    f"when it is empty and start again ({error})"
                ) from error
            await channel.close()
            self._declared.add(queue)

    async def publish(self, hints: Sequence[Hint]) -> None:
        """Raises: BusUnavailable, BusMisconfigured."""
        unroutable = await self._confirm(hints)
        if unroutable:
            # The queue was deleted while we were connected.
            self._declared.difference_update(hint.queue for hint in unroutable)
            unroutable = await self._confirm(unroutable)
        if unroutable:
            raise BusUnavailable(f"the broker has no queue {unroutable[0].queue!r} although it was just declared")

    async def _confirm(self, hints: Sequence[Hint]) -> list[Hint]:
        """Publish, and wait while the broker goes on confirming; returns the unroutable hints.

        A busy process reads confirms late, and many hints take long although each is in time. The broker is given up
        only after `answer_seconds` without a confirm, counted in time in which this process could listen.
        """
        publishing = asyncio.ensure_future(self._publish(hints))
        patience = Patience(self.answer_seconds)
        try:
            while not (await asyncio.wait((publishing,), timeout=patience.look_seconds))[0]:
                if patience.is_over(self._confirmations):
                    self.give_up()
                    raise BusUnavailable(f"the broker did not confirm within {self.answer_seconds} s")
            return publishing.result()
        finally:
            publishing.cancel()

    async def _publish(self, hints: Sequence[Hint]) -> list[Hint]:
        """Publish all at once and return the unroutable ones."""
        for queue in {hint.queue for hint in hints} - self._declared:
            if (error := await attempt(self.declare(queue))) is not None:
                if isinstance(error, BusMisconfigured):
                    raise error
                raise BusUnavailable(f"the broker went away: {error!r}") from error
        work = [self.put(lane_of(hint), hint.encode()) for hint in hints]
        results = await asyncio.gather(*work, return_exceptions=True)
        unroutable = []
        for hint, result in zip(hints, results, strict=True):
            if isinstance(result, PublishError):
                unroutable.append(hint)
            elif isinstance(result, BaseException):
                raise BusUnavailable(f"the broker did not confirm: {result!r}") from result
        return unroutable

    async def put(self, queue: str, body: bytes) -> None:
        await self._publishing.default_exchange.publish(_message(body), routing_key=self.prefix + queue)
        self._confirmations += 1

    async def take_dead(self, queue: str) -> bytes:
        bodies: asyncio.Queue[bytes] = asyncio.Queue()

        async def keep(message: AbstractIncomingMessage) -> None:
            if bodies.empty():
                bodies.put_nowait(message.body)
                await message.ack()

        await self.declare(queue)
        channel = await self.open_channel()
        await channel.set_qos(prefetch_count=1)
        await (await channel.get_queue(self.prefix + dead_queue(queue), ensure=False)).consume(keep)
        try:
            return await bodies.get()
        finally:
            # Further messages are returned when the channel closes.
            await self.close_channel(channel)

    async def sift_dead(self, queue: str, decide: Callable[[bytes], Fate]) -> None:
        # A question about a queue that is not there closes its channel, so it gets one of its own.
        channel = self._connection.channel(publisher_confirms=False)
        await channel.initialize()
        try:
            dead = await channel.declare_queue(self.prefix + dead_queue(queue), passive=True)
        except ChannelNotFoundEntity:
            return
        # All are held until the end, so that none that is kept is looked at twice; the closing channel returns them.
        for _ in range(dead.declaration_result.message_count or 0):
            message = await dead.get(fail=False)
            if message is None:
                break
            fate = decide(message.body)
            if fate is Fate.REPLAY:
                await self.put(queue, message.body)
            if fate is not Fate.KEEP:
                await message.ack()
        await channel.close()

    async def consumers(self, queue: str) -> int | None:
        # A question about a queue that is not there closes its channel, so it gets one of its own.
        channel = self._connection.channel(publisher_confirms=False)
        await channel.initialize()
        try:
            found = await channel.declare_queue(self.prefix + queue, passive=True)
        except ChannelNotFoundEntity:
            return None
        await channel.close()
        return found.declaration_result.consumer_count or 0

    async def counted(self, *names: str) -> int:
        """How many messages wait in these queues, which must be there."""
        channel = await self.open_channel()
        counts = []
        for name in names:
            found = await channel.declare_queue(self.prefix + name, passive=True)
            counts.append(found.declaration_result.message_count or 0)
        await self.close_channel(channel)
        return sum(counts)

    async def remove(self, queues: Sequence[str]) -> None:
        channel = await self.open_channel()
        for queue in queues:
            for name in (queue, urgent_lane(queue), dead_queue(queue)):
                await channel.queue_delete(self.prefix + name)
        await self.close_channel(channel)
        self._declared.difference_update(queues)

    async def answers(self) -> bool:
        """Send a request that needs an answer, to check that the broker is alive."""
        try:
            async with asyncio.timeout(self.answer_seconds):
                return await attempt(self._ask()) is None
        except TimeoutError:
            self.give_up()
            return False

    async def _ask(self) -> None:
        channel = self._connection.channel(publisher_confirms=False)
        await channel.initialize()
        await channel.close()

    def _on_lost(self, *_: object) -> None:
        self.lost.set()


def _message(body: bytes) -> aio_pika.Message:
    return aio_pika.Message(body, content_type="application/json", delivery_mode=aio_pika.DeliveryMode.PERSISTENT)


async def declare_work_queue(channel: AbstractChannel, name: str, *, delivery_limit: int) -> None:
    """Declare `name`, its urgent queue and their dead-letter queue; the arguments can never change for existing
    queues."""
    await channel.declare_queue(
        dead_queue(name),
        durable=True,
        arguments={"x-queue-type": "quorum", "x-delivery-limit": _DEAD_DELIVERY_LIMIT},
    )
    for lane in (name, urgent_lane(name)):
        await channel.declare_queue(
            lane,
            durable=True,
            arguments={
                "x-queue-type": "quorum",
                "x-delivery-limit": delivery_limit,
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": dead_queue(name),
            },
        )
