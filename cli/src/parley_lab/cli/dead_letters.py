"""The commands about hints that a lab has given up: which there are, what is in them, once more, or away with them."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from parley_lab.base.errors import InvalidInput, Unavailable
from parley_lab.base.event_loop import new_event_loop
from parley_lab.base.settings import BrokerSettings, read_settings
from parley_lab.bus.contract import BusUnavailable, Fate, dead_queue
from parley_lab.bus.rabbit import RabbitBus
from parley_lab.cli import servers_away
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, Hint, HintInvalid, provider_queue
from parley_lab.contracts.named_providers import read_providers
from parley_lab.contracts.secret_files import ADDRESSES_OF_SERVERS, read_secret_files


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One body; equal bodies of a queue have one id."""

    queue: str
    body: bytes

    @property
    def id(self) -> str:
        return sha256(self.queue.encode() + b"\0" + self.body).hexdigest()[:8]

    @property
    def line(self) -> str:
        hint = self.hint
        what = "cannot be read" if hint is None else f"{hint.type}  {hint.id}  {hint.correlation or '-'}"
        return f"{self.id}  {self.queue}  {what}"

    @property
    def hint(self) -> Hint | None:
        try:
            return Hint.decode(self.queue, self.body)
        except HintInvalid:
            return None

    @property
    def lines(self) -> list[str]:
        """The whole letter, and what may be done about it."""
        body = self.body.decode(errors="backslashreplace")
        advice = (
            "It will never be understood; drop it."
            if self.hint is None
            else "Look for its correlation in the logs, mend the cause, then replay it. The row it names is looked at "
            "anyway, so that dropping it loses nothing."
        )
        return [f"id: {self.id}", f"queue: {dead_queue(self.queue)}", f"body: {body}", advice]


def letters() -> list[DeadLetter]:
    """All that there are.

    Raises:
        SettingsInvalid: PARLEY_AMQP_URL is not set or wrong.
        Unavailable: the broker is away.
    """
    found: list[DeadLetter] = []

    def keep(letter: DeadLetter) -> Fate:
        found.append(letter)
        return Fate.KEEP

    _sift(keep)
    return found


def decide(chosen: str | None, fate: Fate) -> int:
    """Give all letters with this id, or all (None), this fate; returns how many. Raises what `letters` does, and

    Raises:
        InvalidInput: there is no such letter.
    """
    count = 0

    def choose(letter: DeadLetter) -> Fate:
        nonlocal count
        if chosen not in (None, letter.id):
            return Fate.KEEP
        count += 1
        return fate

    _sift(choose)
    if chosen is not None and not count:
        raise no_such(chosen)
    return count


def no_such(chosen: str) -> InvalidInput:
    return InvalidInput(f"There is no dead letter {chosen!r}; parley dead list shows those that there are.")


def _sift(choose: Callable[[DeadLetter], Fate]) -> None:
    read_secret_files(os.environ, only=ADDRESSES_OF_SERVERS)
    settings = read_settings(BrokerSettings)

    async def sift() -> None:
        bus = RabbitBus(settings.amqp_url, prefix=settings.amqp_prefix)
        try:
            for queue in work_queues(os.environ):
                await bus.sift_dead(queue, partial(_chosen, choose, queue))
        except BusUnavailable as error:
            raise Unavailable(servers_away.of_broker(error)) from error
        finally:
            await bus.close()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(sift())


def _chosen(choose: Callable[[DeadLetter], Fate], queue: str, body: bytes) -> Fate:
    return choose(DeadLetter(queue, body))


def work_queues(environ: Mapping[str, str]) -> Iterator[str]:
    """Every work queue that a lab with this environment may have."""
    yield from (ORCHESTRATOR, AGENT_STEPS)
    for provider in dict.fromkeys(name.partition("/")[0] for name in read_providers(environ)):
        yield provider_queue(provider)
