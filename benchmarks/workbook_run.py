"""How close does a workbook come to the time that its calls take at least? The public goods demo, in the embedded lab.

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
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

import psycopg
import uvloop
from sqlalchemy import text

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.processes import StartFailed, cpu_seconds, fake_model
from benchmarks.report import write_samples
from benchmarks.servers import backends, own_database
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.experiments import starting
from parley_lab.formats.workbook import Compiled, Design, Workbook, compile_designs, estimates, read, read_xlsx

DEMO: Final = Path(__file__).resolve().parent.parent / "demos" / "public_goods.xlsx"
LATENCY_SECONDS: Final = 1.0
MANY: Final = 50
BARS: Final = {"demo": 1.15, "many": 1.3}
_LOOK_SECONDS: Final = 0.02


@dataclass(frozen=True)
class Sample:
    """One run of all experiments at once; `floor_seconds` is the longest chain of calls that wait for each other."""

    name: str
    sessions: int
    calls: int
    seconds: float
    floor_seconds: float
    lab_cpu_seconds: float
    postgres_cpu_seconds: float
    model_cpu_seconds: float
    peak_memory_mb: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.floor_seconds

    @property
    def summary(self) -> str:
        bar = BARS[self.name]
        return (
            f"{self.name}: {self.sessions} sessions, {self.calls} calls in {self.seconds:.2f} s, "
            f"{self.ratio:.3f} times the critical path of {self.floor_seconds:g} s "
            f"(bar: {bar:g}, {'met' if self.ratio <= bar else 'NOT MET'}), "
            f"CPU per call {1000 * self.lab_cpu_seconds / self.calls:.1f} ms "
            f"+ Postgres {1000 * self.postgres_cpu_seconds / self.calls:.1f} ms, "
            f"peak memory {self.peak_memory_mb:.0f} MB"
        )


def demo() -> Workbook:
    return read(read_xlsx(DEMO.read_bytes(), DEMO.name))


def many(sessions: int) -> Workbook:
    """The first permutation of the demo with its sessions over and over, each with agents of its own."""
    return Workbook((_repeated(demo().designs[0], sessions),))


def _repeated(design: Design, sessions: int) -> Design:
    column = design.settings.session_column
    assert column is not None
    size = design.settings.num_agents_per_session
    profiles = []
    for number in range(sessions * size):
        one = design.profiles[number % len(design.profiles)]
        row = number + 3
        cells = {at: replace(cell, row=row) for at, cell in one.cells.items()}
        cells[column] = replace(cells[column], value=f"session {number // size + 1}")
        profiles.append(replace(one, id=str(number + 1), row=row, cells=cells))
    return replace(design, settings=replace(design.settings, num_sessions=sessions), profiles=tuple(profiles))


async def run(name: str, compiled: Sequence[Compiled], database_url: str, model_url: str, model_pid: int) -> Sample:
    """From the start of the experiments to the end of the last, in a lab that is up."""
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    environ = {**os.environ, "OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "any", "LLM_USE_MOCK": "false"}
    found = [session for one in compiled for session in estimates(one)]
    with TemporaryDirectory() as folder:
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=environ, port=None) as lab:
            ids = [await created(lab, one) for one in compiled]
            own, model, postgres = time.process_time(), cpu_seconds(model_pid), _postgres_seconds(database_url)
            began = time.perf_counter()
            for experiment_id in ids:
                async with lab.database.transaction() as session:
                    await starting.start(session, experiment_id, lab.clock.now())
            await ended(lab, ids)
            seconds = time.perf_counter() - began
            return Sample(
                name=name,
                sessions=len(found),
                calls=await _calls(lab),
                seconds=seconds,
                floor_seconds=LATENCY_SECONDS * max(session.chain for session in found),
                lab_cpu_seconds=time.process_time() - own,
                postgres_cpu_seconds=_postgres_seconds(database_url) - postgres,
                model_cpu_seconds=cpu_seconds(model_pid) - model,
                peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            )


async def created(lab: EmbeddedLab, compiled: Compiled) -> UUID:
    experiment = compiled.experiment.model_copy(update={"model_mode": "real"})
    async with lab.database.transaction() as session:
        return await starting.create(session, lab.operator_id, experiment, lab.clock.now())


def _postgres_seconds(database_url: str) -> float:
    return sum(map(cpu_seconds, backends(database_url)))


_GOING_ON: Final = text("SELECT count(*) AS n FROM experiments WHERE id = ANY(:ids) AND status <> 'ended'")


async def ended(lab: EmbeddedLab, ids: Sequence[UUID]) -> None:
    """Without reading the experiments: those of many sessions are long."""
    while True:
        async with lab.database.transaction() as session:
            if not (await session.one(_GOING_ON, {"ids": list(ids)})).n:
                return
        await asyncio.sleep(_LOOK_SECONDS)


async def _calls(lab: EmbeddedLab) -> int:
    async with lab.database.transaction() as session:
        row = await session.one(text("SELECT count(*) AS calls FROM model_calls WHERE status = 'ok'"))
    return int(row.calls)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure the public goods demo, alone and with many sessions.")
    parser.add_argument("--sessions", type=int, default=MANY, help="sessions of the large run (default: %(default)s)")
    parser.add_argument("--only", choices=list(BARS), help="measure one of the two")
    parser.add_argument("--rounds", type=int, default=1, help="how often each is measured (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    workbooks = {"demo": demo(), "many": many(options.sessions)}
    samples = []
    try:
        with fake_model(LATENCY_SECONDS) as (model_url, model_pid):
            for _ in range(options.rounds):
                for name in [options.only] if options.only else list(workbooks):
                    with own_database("workbook") as database_url:
                        compiled = compile_designs(workbooks[name])
                        sample = uvloop.run(run(name, compiled, database_url, model_url, model_pid))
                    print(sample.summary, flush=True)
                    samples.append(sample)
    except (StartFailed, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    path = write_samples("workbook-run", samples, model_latency_seconds=LATENCY_SECONDS)
    print(f"All numbers: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
