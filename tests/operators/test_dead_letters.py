"""`parley dead`: what a lab has given up is listed, shown, put back and dropped, from the command line."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from parley_lab.cli import forked
from parley_lab.cli.testing import COMMAND, environment
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, Hint
from parley_lab.testing.buses import RabbitBroker

Parley = Callable[..., "subprocess.CompletedProcess[str]"]
NONSENSE = (b"nonsense", b"more nonsense")


async def _bury(broker: RabbitBroker) -> None:
    """Have the broker keep two bodies that no one understands."""
    bus = broker.bus()

    async def handle(_: Hint) -> None: ...

    subscription = await bus.consume(AGENT_STEPS, handle, prefetch=5)
    for body in NONSENSE:
        await bus.put(AGENT_STEPS, body)
    async with asyncio.timeout(10):
        while await bus.dead(AGENT_STEPS) < 2:  # noqa: ASYNC110 - the broker sends no word of it
            await asyncio.sleep(0.05)
    await subscription.cancel()
    await bus.close()


@pytest.fixture
def parley(amqp_url: str, tmp_path: Path) -> Iterator[Parley]:
    """The command line at a broker with two dead letters."""
    broker = RabbitBroker(amqp_url, queues=[ORCHESTRATOR, AGENT_STEPS])
    asyncio.run(_bury(broker))
    variables = environment({"PARLEY_AMQP_URL": amqp_url, "PARLEY_AMQP_PREFIX": broker.prefix})

    def call(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return forked.run(arguments, folder=tmp_path, variables=variables)

    yield call
    asyncio.run(broker.close())


def test_dead_letters_are_listed_shown_put_back_and_dropped(parley: Parley) -> None:
    listed = parley("dead", "list")
    first, second = (line.split()[0] for line in listed.stdout.splitlines())

    shown = parley("dead", "show", first)
    dropped = parley("dead", "drop", first)
    replayed = parley("dead", "replay", second)
    left = parley("dead", "list")
    again = parley("dead", "drop", first)

    assert f"queue: {AGENT_STEPS}.dead" in shown.stdout
    assert "body: nonsense" in shown.stdout
    assert "drop it" in shown.stdout
    assert (dropped.stdout, replayed.stdout) == ("Dropped: 1\n", "Put back: 1\n")
    assert left.stdout == ""
    assert (again.returncode, again.stderr.startswith("There is no dead letter")) == (2, True)


def test_a_broker_that_is_away_is_said_with_what_to_do(tmp_path: Path) -> None:
    variables = environment({"PARLEY_AMQP_URL": "amqp://parley:hush-hush@127.0.0.1:9/"})

    told = forked.run(["dead", "list"], folder=tmp_path, variables=variables)

    assert told.returncode == 1
    assert told.stdout == ""
    assert told.stderr.startswith("RabbitMQ does not answer at PARLEY_AMQP_URL. See that it runs")
    assert len(told.stderr.splitlines()) == 1
    assert "hush" not in told.stderr


def test_without_a_broker_it_says_what_is_missing() -> None:
    told = subprocess.run([*COMMAND, "dead", "list"], env=environment({}), capture_output=True, text=True, check=False)

    assert told.returncode == 2
    assert "PARLEY_AMQP_URL" in told.stderr
