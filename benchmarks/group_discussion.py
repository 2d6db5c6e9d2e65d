"""How long does a discussion of agents take, and how many calls does it pay? By the way of taking turns.

docs/benchmarks.md says what is measured and how to read it.
"""

import asyncio
import json
import os
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

import psycopg
import uvloop
from sqlalchemy import text

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.processes import StartFailed, fake_model
from benchmarks.report import write_samples
from benchmarks.servers import own_database
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.design import load
from parley_lab.experiments import experiments, starting

LATENCY_SECONDS: Final = 0.2
AGENTS: Final = 4
MESSAGES: Final = 20
WAYS: Final = ("race", "select", "round")
BARS: Final = {"select": (5.0, 25)}
"""Seconds and calls at most."""
_LOOK_SECONDS: Final = 0.02

_CALLS = text(
    """
    SELECT count(*) FILTER (WHERE d.purpose <> 'ready') AS speaking,
        count(*) FILTER (WHERE d.purpose = 'ready') AS ready
    FROM model_calls k JOIN drafts d ON d.id = k.draft_id
    """
)
_MESSAGES = text("SELECT count(*) AS said FROM messages WHERE author_kind = 'agent'")


@dataclass(frozen=True)
class Sample:
    """One discussion, from the start of its experiment to its end."""

    turn_taking: str
    messages: int
    speaking_calls: int
    ready_calls: int
    seconds: float
    lab_cpu_seconds: float
    load_average: float

    @property
    def summary(self) -> str:
        calls = self.speaking_calls + self.ready_calls
        return (
            f"{self.turn_taking}: {self.messages} messages of {AGENTS} agents in {self.seconds:.2f} s, {calls} calls "
            f"({self.speaking_calls} to speak, {self.ready_calls} about readiness), lab CPU {self.lab_cpu_seconds:.2f} "
            f"s, load {self.load_average:.1f}{self._verdict(calls)}"
        )

    def _verdict(self, calls: int) -> str:
        if self.turn_taking not in BARS:
            return ""
        seconds, most = BARS[self.turn_taking]
        is_met = self.seconds <= seconds and calls <= most
        return f" (bar: {seconds:g} s and {most} calls, {'met' if is_met else 'NOT MET'})"


def document(turn_taking: str) -> str:
    names = ["Ada", "Bob", "Cid", "Dee"][:AGENTS]
    content = {
        "parley": 1,
        "name": "A discussion",
        "seed": 1,
        "pace": "live",
        "model_mode": "real",
        "personas": [
            {"id": name.lower(), "profile": {"name": name}, "text": "You live in a small town."} for name in names
        ],
        "stages": [{"id": "talk", "kind": "group_chat", "turn_taking": turn_taking, "max_agent_run": MESSAGES}],
        "cohorts": [{"seats": [{"persona": name.lower()} for name in names]}],
    }
    return json.dumps(content)


async def run(database_url: str, model_url: str, turn_taking: str) -> Sample:
    """One discussion in a lab that is up."""
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    environ = {**os.environ, "OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "any", "LLM_USE_MOCK": "false"}
    with TemporaryDirectory() as folder:
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=environ, port=None) as lab:
            experiment = load(document(turn_taking), "discussion.json")
            async with lab.database.transaction() as session:
                experiment_id = await starting.create(session, lab.operator_id, experiment, lab.clock.now())
            own, began = time.process_time(), time.perf_counter()
            async with lab.database.transaction() as session:
                await starting.start(session, experiment_id, lab.clock.now())
            await _ended(lab, experiment_id)
            seconds, cpu = time.perf_counter() - began, time.process_time() - own
            async with lab.database.transaction() as session:
                calls = await session.one(_CALLS)
                said = (await session.one(_MESSAGES)).said
    return Sample(turn_taking, said, calls.speaking, calls.ready, seconds, cpu, os.getloadavg()[0])


async def _ended(lab: EmbeddedLab, experiment_id: UUID) -> None:
    while True:
        async with lab.database.transaction() as session:
            if (await experiments.find(session, experiment_id)).status == "ended":
                return
        await asyncio.sleep(_LOOK_SECONDS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure a discussion of agents, by the way of taking turns.")
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    samples = []
    try:
        with fake_model(LATENCY_SECONDS, always_speaks=True) as (model_url, _):
            for _ in range(options.rounds):
                for turn_taking in options.only:
                    with own_database("talk") as database_url:
                        sample = uvloop.run(run(database_url, model_url, turn_taking))
                    print(sample.summary, flush=True)
                    samples.append(sample)
    except (StartFailed, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    path = write_samples("group-discussion", samples, agents=AGENTS, model_latency_seconds=LATENCY_SECONDS)
    print(f"All numbers: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
