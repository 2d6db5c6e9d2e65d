"""How fast are surveys with a call per question? Agents times independent questions, in the embedded lab.

docs/benchmarks.md says what is measured and how to read it.
"""

import asyncio
import os
import resource
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

import orjson
import psycopg
import uvloop

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.processes import StartFailed, cpu_seconds, fake_model
from benchmarks.report import write_samples
from benchmarks.servers import backends, own_database
from parley.embedded import EmbeddedLab
from shared.db import experiments
from shared.experiment import load
from shared.settings import ServerSettings

LATENCY_SECONDS: Final = 0.2
QUESTIONS: Final = 20
BARS_SECONDS: Final = {50: 4.0, 500: 40.0}
_LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True)
class Sample:
    """One run: so many agents, each asked `QUESTIONS` questions at once."""

    agents: int
    calls: int
    seconds: float
    lab_cpu_seconds: float
    postgres_cpu_seconds: float
    model_cpu_seconds: float
    peak_memory_mb: float

    @property
    def summary(self) -> str:
        cpu_ms = 1000 * self.lab_cpu_seconds / self.calls
        postgres_ms = 1000 * self.postgres_cpu_seconds / self.calls
        bar = BARS_SECONDS.get(self.agents)
        verdict = "" if bar is None else f" (bar: {bar:g} s, {'met' if self.seconds <= bar else 'NOT MET'})"
        return (
            f"{self.agents} agents x {QUESTIONS} questions: {self.seconds:.2f} s{verdict}, "
            f"{self.calls / self.seconds:.0f} calls/s, CPU per call {cpu_ms:.2f} ms + Postgres {postgres_ms:.2f} ms, "
            f"peak memory {self.peak_memory_mb:.0f} MB"
        )


def document(agents: int) -> str:
    questions = [
        {"id": f"q{number}", "kind": "scale", "title": f"How much do you agree with sentence {number}?", "upper": 10}
        for number in range(1, QUESTIONS + 1)
    ]
    content = {
        "parley": 1,
        "name": "Survey calls",
        "seed": 1,
        "pace": "fast",
        "model_mode": "real",
        "personas": [{"id": "one", "text": "You run a small bakery."}],
        "stages": [{"id": "page", "kind": "survey", "ask": "independent", "questions": questions}],
        "cohorts": [{"count": agents, "seats": [{"persona": "one"}]}],
    }
    return orjson.dumps(content).decode()


async def run(database_url: str, model_url: str, model_pid: int, agents: int) -> Sample:
    """From the start of the experiment to its end, in a lab that is up."""
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    environ = {**os.environ, "OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "any", "LLM_USE_MOCK": "false"}
    with TemporaryDirectory() as folder:
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=environ, port=None) as lab:
            experiment = load(document(agents), "survey.json")
            async with lab.database.transaction() as session:
                experiment_id = await experiments.create(session, lab.operator_id, experiment, lab.clock.now())
            # What starting costs is no call; the clock starts with the work of the agents.
            own, model = time.process_time(), cpu_seconds(model_pid)
            postgres = _postgres_seconds(database_url)
            began = time.perf_counter()
            async with lab.database.transaction() as session:
                await experiments.start(session, experiment_id, lab.clock.now())
            await _ended(lab, experiment_id)
            seconds = time.perf_counter() - began
            return Sample(
                agents=agents,
                calls=await _calls(lab),
                seconds=seconds,
                lab_cpu_seconds=time.process_time() - own,
                postgres_cpu_seconds=_postgres_seconds(database_url) - postgres,
                model_cpu_seconds=cpu_seconds(model_pid) - model,
                peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            )


def _postgres_seconds(database_url: str) -> float:
    return sum(map(cpu_seconds, backends(database_url)))


async def _ended(lab: EmbeddedLab, experiment_id: UUID) -> None:
    while True:
        async with lab.database.transaction() as session:
            if (await experiments.find(session, experiment_id)).status == "ended":
                return
        await asyncio.sleep(_LOOK_SECONDS)


async def _calls(lab: EmbeddedLab) -> int:
    from sqlalchemy import text

    async with lab.database.transaction() as session:
        row = await session.one(text("SELECT count(*) AS calls FROM model_calls WHERE status = 'ok'"))
    return int(row.calls)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure surveys in which every question is a call of its own.")
    parser.add_argument("--agents", type=int, nargs="+", default=list(BARS_SECONDS), metavar="N")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    samples = []
    try:
        with fake_model(LATENCY_SECONDS) as (model_url, model_pid):
            for _ in range(options.rounds):
                for agents in options.agents:
                    with own_database("survey") as database_url:
                        sample = uvloop.run(run(database_url, model_url, model_pid, agents))
                    print(sample.summary, flush=True)
                    samples.append(sample)
    except (StartFailed, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    path = write_samples("survey-calls", samples, questions=QUESTIONS, model_latency_seconds=LATENCY_SECONDS)
    print(f"All numbers: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
