"""Does memory grow with the sessions that are done? Workbooks one after another in one embedded lab.

docs/benchmarks.md says what is measured and how to read it.
"""

import gc
import os
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psycopg
import uvloop

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.processes import StartFailed, fake_model
from benchmarks.report import write_samples
from benchmarks.servers import own_database
from benchmarks.workbook_run import created, ended, many
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.experiments import starting
from parley_lab.formats.workbook import Compiled, compile_designs

LATENCY_SECONDS: Final = 0.05
SESSIONS: Final = 20
WAVES: Final = 10
_PAGE_MB: Final = os.sysconf("SC_PAGE_SIZE") / 1024**2


@dataclass(frozen=True)
class Sample:
    """The lab's process when all these sessions are over."""

    sessions_done: int
    memory_mb: float
    objects: int

    @property
    def summary(self) -> str:
        return f"{self.sessions_done} sessions done: {self.memory_mb:.0f} MB, {self.objects} objects"


async def run(compiled: Compiled, waves: int, database_url: str, model_url: str) -> list[Sample]:
    """One experiment after another, each with all its sessions at once."""
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    environ = {**os.environ, "OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "any", "LLM_USE_MOCK": "false"}
    samples = []
    with TemporaryDirectory() as folder:
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=environ, port=None) as lab:
            for wave in range(1, waves + 1):
                experiment_id = await created(lab, compiled)
                async with lab.database.transaction() as session:
                    await starting.start(session, experiment_id, lab.clock.now())
                await ended(lab, [experiment_id])
                samples.append(_sample(wave * len(compiled.sessions)))
                print(samples[-1].summary, flush=True)
    return samples


def _sample(sessions_done: int) -> Sample:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Sample(sessions_done, pages * _PAGE_MB, len(gc.get_objects()))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(description="Measure the memory of a lab that runs one workbook after another.")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="of each workbook (default: %(default)s)")
    parser.add_argument("--waves", type=int, default=WAVES, help="how many workbooks (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    (compiled,) = compile_designs(many(options.sessions))
    try:
        with fake_model(LATENCY_SECONDS) as (model_url, _), own_database("workbook") as database_url:
            samples = uvloop.run(run(compiled, options.waves, database_url, model_url))
    except (StartFailed, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    print(f"All numbers: {write_samples('workbook-memory', samples, model_latency_seconds=LATENCY_SECONDS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
