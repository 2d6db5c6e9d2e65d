"""One experiment in an embedded lab that runs in the process of a benchmark: what it took, and how many hints."""

import asyncio
import os
import resource
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from unittest.mock import patch
from uuid import UUID

from sqlalchemy import text

from benchmarks.processes import cpu_seconds
from benchmarks.servers import backends
from parley_lab.base.errors import Unavailable
from parley_lab.base.logs import set_up_logs
from parley_lab.base.settings import ServerSettings
from parley_lab.bus.in_process import InProcessBus
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.contracts.hints import Hint
from parley_lab.design import load
from parley_lab.experiments import experiments, starting

_LOOK_SECONDS: Final = 0.05
_COUNTS = text(
    """
    SELECT (SELECT count(*) FROM model_calls WHERE status = 'ok') AS calls, (SELECT count(*) FROM drafts) AS drafts
    """
)


@dataclass(frozen=True)
class Run:
    """From the start of an experiment to its end, in a lab that was up."""

    calls: int
    hints_per_draft: float
    seconds: float
    lab_cpu_seconds: float
    postgres_cpu_seconds: float
    model_cpu_seconds: float
    peak_memory_mb: float


async def run(database_url: str, model_url: str, model_pid: int, document: str) -> Run:
    """Run this experiment with real calls to the endpoint."""
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    environ = {**os.environ, "OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "any", "LLM_USE_MOCK": "false"}
    with TemporaryDirectory() as folder, counted_hints() as hints, (Path(folder) / "log").open("w") as log:
        # As users have it: `parley run` writes all lines of the log into a file.
        set_up_logs("lab", stream=log)
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=environ, port=None) as lab:
            experiment = load(document, "benchmark.json")
            async with lab.database.transaction() as session:
                experiment_id = await starting.create(session, lab.operator_id, experiment, lab.clock.now())
            # What starting costs is no call; the clock starts with the work of the agents.
            own, model = time.process_time(), cpu_seconds(model_pid)
            postgres = postgres_seconds(database_url)
            began = time.perf_counter()
            async with lab.database.transaction() as session:
                await starting.start(session, experiment_id, lab.clock.now())
            await ended(lab, experiment_id)
            seconds = time.perf_counter() - began
            async with lab.database.transaction() as session:
                counts = await session.one(_COUNTS)
            return Run(
                calls=counts.calls,
                hints_per_draft=hints["draft.wanted"] / counts.drafts,
                seconds=seconds,
                lab_cpu_seconds=time.process_time() - own,
                postgres_cpu_seconds=postgres_seconds(database_url) - postgres,
                model_cpu_seconds=cpu_seconds(model_pid) - model,
                peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            )


@contextmanager
def counted_hints() -> Iterator[Counter[str]]:
    """How many hints of each type reach the bus of this process, those that are announced again included."""
    counts: Counter[str] = Counter()
    publish = InProcessBus.publish

    async def counting(bus: InProcessBus, hints: Sequence[Hint]) -> None:
        counts.update(hint.type for hint in hints)
        await publish(bus, hints)

    with patch.object(InProcessBus, "publish", counting):
        yield counts


def postgres_seconds(database_url: str) -> float:
    """What Postgres has used for the connections to this database so far."""
    return sum(map(cpu_seconds, backends(database_url)))


async def ended(lab: EmbeddedLab, experiment_id: UUID) -> None:
    """Return when the experiment is over, however busy the lab is."""
    while True:
        with suppress(Unavailable):
            async with lab.database.transaction() as session:
                if (await experiments.find(session, experiment_id)).status == "ended":
                    return
        await asyncio.sleep(_LOOK_SECONDS)
