"""What takes hints from RabbitMQ, and survives the links over which it takes them."""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage
from aio_pika.exceptions import CONNECTION_EXCEPTIONS

from shared.bus.contract import Listener, Subscription
from shared.bus.intake import Intake
from shared.bus.rabbit_link import Link
from shared.bus.topology import declare_listening_queue
from shared.contracts.hints import FACTS, Hint, HintInvalid

log = structlog.get_logger(__name__)


class LinkedSubscription(Subscription):
    """A subscription that is attached anew to every link; attaching twice to the same one does nothing."""

    def __init__(self, *, on_cancel: Callable[[Subscription], None]) -> None:
        self._on_cancel = on_cancel
        self._attaching = asyncio.Lock()
        self._link: Link | None = None
        self._channel: AbstractChannel | None = None
        self._cancelled = False

    async def attach(self, link: Link) -> None:
        """Raises: BusMisconfigured; anything of aio-pika's when the broker is away."""
        async with self._attaching:
            if self._cancelled or self._link is link:
                return
            self._channel = await self._subscribed(link)
            self._link = link

    @abstractmethod
    async def _subscribed(self, link: Link) -> AbstractChannel:
        """Begin to take over `link` and return the channel used."""

    def detach(self) -> None:
        """The link is lost."""

    async def _close_channel(self) -> None:
        if self._channel is not None and self._link is not None and not self._link.lost.is_set():
            await _settled(self._link.close_channel(self._channel), self._link)


class Consumer(LinkedSubscription):
    def __init__(
        self,
        queue: str,
        lane: str,
        intake: Intake,
        *,
        prefetch: int,
        on_cancel: Callable[[Subscription], None],
    ) -> None:
        super().__init__(on_cancel=on_cancel)
        self._queue = queue
        self._lane = lane
        self._intake = intake
        self._prefetch = prefetch
        self._tag = ""

    async def _subscribed(self, link: Link) -> AbstractChannel:
        await link.declare(self._queue)
        channel = await link.open_channel()
        await channel.set_qos(prefetch_count=self._prefetch)
        queue = await channel.get_queue(link.prefix + self._lane, ensure=False)

        async def on_message(message: AbstractIncomingMessage) -> None:
            await self._take(message, link)

        self._tag = await queue.consume(on_message)
        return channel

    def detach(self) -> None:
        # The broker gives these to whoever takes next; trying them here too would only double the work.
        self._intake.release_waiting()

    async def cancel(self) -> None:
        async with self._attaching:
            self._cancelled = True
            if self._channel is not None and self._link is not None and not self._link.lost.is_set():
                underlay = await self._channel.get_underlay_channel()
                await _settled(underlay.basic_cancel(self._tag), self._link)
        await self._intake.stop()
        await self._close_channel()
        self._on_cancel(self)

    async def _take(self, message: AbstractIncomingMessage, link: Link) -> None:
        try:
            hint = Hint.decode(self._queue, message.body)
        except HintInvalid as error:
            log.error("bus.hint.undecodable", queue=self._queue, reason=error.message)
            await _settled(message.reject(requeue=False), link)
        else:
            self._intake.take(_Lent(hint, message, link))


@dataclass(slots=True)
class _Lent:
    """A message that RabbitMQ keeps for us; over a lost link it is already someone else's."""

    hint: Hint
    message: AbstractIncomingMessage
    link: Link

    async def acknowledge(self) -> None:
        await _settled(self.message.ack(), self.link)

    async def fail(self) -> None:
        # From 4.3 on only basic.reject counts towards the delivery limit, before that basic.nack did too.
        await _settled(self.message.reject(requeue=True), self.link)

    async def give_back(self) -> None:
        await _settled(self.message.nack(requeue=True), self.link)


class Listening(LinkedSubscription):
    def __init__(self, handler: Listener, *, on_cancel: Callable[[Subscription], None]) -> None:
        super().__init__(on_cancel=on_cancel)
        self._handler = handler

    async def _subscribed(self, link: Link) -> AbstractChannel:
        channel = await link.open_channel()
        queue = await declare_listening_queue(channel, prefix=link.prefix)
        await queue.consume(self._hear, no_ack=True)
        return channel

    async def cancel(self) -> None:
        async with self._attaching:
            self._cancelled = True
        await self._close_channel()
        self._on_cancel(self)

    async def _hear(self, message: AbstractIncomingMessage) -> None:
        if self._cancelled:
            return
        for line in message.body.splitlines():
            try:
                self._handler(Hint.decode(FACTS, line))
            except Exception:
                log.exception("bus.listener.failed")


async def _settled(answer: Awaitable[object], link: Link) -> None:
    """Send it; when the link is or gets lost meanwhile, the broker settles by itself and delivers again."""
    try:
        async with asyncio.timeout(link.answer_seconds):
            await answer
    except TimeoutError:
        link.give_up()
    except asyncio.CancelledError:
        # aio-pika cancels what was pending on a broken connection; only a cancellation of this task is ours.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
    except CONNECTION_EXCEPTIONS as error:
        log.debug("bus.answer_lost", reason=repr(error))
        link.give_up()
