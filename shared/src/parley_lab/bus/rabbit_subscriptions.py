"""Subscriptions to RabbitMQ that survive the loss of a link."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage
from aio_pika.exceptions import CONNECTION_EXCEPTIONS

from parley_lab.bus.contract import Subscription
from parley_lab.bus.intake import Intake
from parley_lab.bus.rabbit_link import Link
from parley_lab.contracts.hints import Hint, HintInvalid

log = structlog.get_logger(__name__)


class Consumer(Subscription):
    """Takes the hints of one lane of a queue, over every new link; attaching twice to the same one is idempotent."""

    def __init__(
        self,
        queue: str,
        lane: str,
        intake: Intake,
        *,
        prefetch: int,
        on_cancel: Callable[[Subscription], None],
    ) -> None:
        self._queue = queue
        self._lane = lane
        self._intake = intake
        self._prefetch = prefetch
        self._on_cancel = on_cancel
        self._attaching = asyncio.Lock()
        self._link: Link | None = None
        self._channel: AbstractChannel | None = None
        self._tag = ""
        self._cancelled = False

    async def attach(self, link: Link) -> None:
        """Raises: BusMisconfigured; anything of aio-pika's when the broker is away."""
        async with self._attaching:
            if self._cancelled or self._link is link:
                return
            self._channel = await self._subscribe(link)
            self._link = link

    async def _subscribe(self, link: Link) -> AbstractChannel:
        """Start to consume over `link`; returns the channel."""
        await link.declare(self._queue)
        channel = await link.open_channel()
        await channel.set_qos(prefetch_count=self._prefetch)
        queue = await channel.get_queue(link.prefix + self._lane, ensure=False)

        async def on_message(message: AbstractIncomingMessage) -> None:
            await self._take(message, link)

        self._tag = await queue.consume(on_message)
        return channel

    def detach(self) -> None:
        """The link is lost."""
        # The broker redelivers these; trying them here too would double the work.
        self._intake.release_waiting()

    async def stop_taking(self) -> None:
        async with self._attaching:
            if self._cancelled:
                return
            self._cancelled = True
            if self._channel is None or self._link is None or self._link.lost.is_set():
                self._intake.refuse()
                return
            underlay = await self._channel.get_underlay_channel()
            # Before the command to stop: a hint that is returned later would come before it on the channel, and be
            # delivered here again.
            self._intake.refuse()
            await _settle(underlay.basic_cancel(self._tag), self._link)

    async def cancel(self) -> None:
        await self.stop_taking()
        await self._intake.stop()
        if self._channel is not None and self._link is not None and not self._link.lost.is_set():
            await _settle(self._link.close_channel(self._channel), self._link)
        self._on_cancel(self)

    async def _take(self, message: AbstractIncomingMessage, link: Link) -> None:
        try:
            hint = Hint.decode(self._queue, message.body)
        except HintInvalid as error:
            log.error("bus.hint.undecodable", queue=self._queue, reason=error.message)
            await _settle(message.reject(requeue=False), link)
        else:
            self._intake.take(_Lent(hint, message, link))


@dataclass(slots=True)
class _Lent:
    """A message that RabbitMQ holds for us; after the loss of its link it may be delivered to another consumer."""

    hint: Hint
    message: AbstractIncomingMessage
    link: Link

    async def acknowledge(self) -> None:
        await _settle(self.message.ack(), self.link)

    async def fail(self) -> None:
        # Since 4.3 only basic.reject counts towards the delivery limit; before, basic.nack counted too.
        await _settle(self.message.reject(requeue=True), self.link)

    async def give_back(self) -> None:
        await _settle(self.message.nack(requeue=True), self.link)


async def _settle(answer: Awaitable[object], link: Link) -> None:
    """Send it; when the link is lost meanwhile, the broker redelivers by itself."""
    try:
        async with asyncio.timeout(link.answer_seconds):
            await answer
    except TimeoutError:
        link.give_up()
    except asyncio.CancelledError:
        # aio-pika cancels pending futures of a broken connection; only a cancellation of this task is raised.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
    except CONNECTION_EXCEPTIONS as error:
        log.debug("bus.answer_lost", reason=repr(error))
        link.give_up()
