"""What does a large cohort cost? The same agents in one cohort and in cohorts of one, in turns.

docs/benchmarks.md says what is measured and how to read it.
"""

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson
import psycopg
import uvloop

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.lab_runs import run
from benchmarks.processes import StartFailed, fake_model
from benchmarks.report import write_samples
from benchmarks.servers import own_database

LATENCY_SECONDS: Final = 0.2
BAR: Final = 0.8
"""One big cohort makes at least this share of the calls per second that cohorts of one make."""
_SURVEY: Final = {
    "kind": "survey",
    "questions": [
        {"id": "rate", "kind": "scale", "title": "How much do you agree?", "upper": 10},
        {"id": "pick", "kind": "choice", "title": "Which one?", "options": [{"id": i, "text": i} for i in "abcd"]},
    ],
}
_TALK: Final = {"kind": "private_chat", "max_turns": 2}
STAGES: Final[Mapping[str, Sequence[dict[str, Any]]]] = {
    "surveys": [
        {"id": "intro", "kind": "info", "lines": ["Welcome."]},
        {"id": "before", **_SURVEY},
        {"id": "after", **_SURVEY},
    ],
    "talks": [{"id": "talk", **_TALK}, {"id": "after", **_SURVEY}],
}


@dataclass(frozen=True)
class Sample:
    """One run: so many agents, all in one cohort or each alone."""

    stages: str
    cohorts: int
    agents: int
    calls: int
    seconds: float
    lab_cpu_seconds: float
    postgres_cpu_seconds: float

    @property
    def cpu_ms_per_call(self) -> float:
        return 1000 * (self.lab_cpu_seconds + self.postgres_cpu_seconds) / self.calls

    @property
    def summary(self) -> str:
        per_call = 1000 / self.calls
        return (
            f"{self.stages}, {self.cohorts} x {self.agents // self.cohorts} agents: {self.calls} calls in "
            f"{self.seconds:.1f} s, {self.calls / self.seconds:.0f} calls/s, CPU per call lab "
            f"{per_call * self.lab_cpu_seconds:.2f} ms + Postgres {per_call * self.postgres_cpu_seconds:.2f} ms"
        )


def document(stages: str, cohorts: int, agents: int) -> str:
    mediator = {"mediators": ["host"]} if stages == "talks" else {}
    content = {
        "parley": 1,
        "name": "Big cohorts",
        "seed": 1,
        "pace": "fast",
        "model_mode": "real",
        "personas": [{"id": "one", "text": "You run a small bakery."}, {"id": "host", "text": "You ask about work."}],
        "stages": STAGES[stages],
        "cohorts": [{"count": cohorts, "seats": [{"persona": "one", "count": agents // cohorts}], **mediator}],
    }
    return orjson.dumps(content).decode()


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure what it costs to be many in one cohort.")
    parser.add_argument("--agents", type=int, nargs="+", default=[600, 2000], metavar="N")
    parser.add_argument("--stages", choices=list(STAGES), nargs="+", default=["surveys"])
    parser.add_argument("--rounds", type=int, default=2, help="how often each pair is measured (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    samples: list[Sample] = []
    try:
        with fake_model(LATENCY_SECONDS, always_speaks=True) as (model_url, model_pid):
            for stages in options.stages:
                for agents in options.agents:
                    for _ in range(options.rounds):
                        for cohorts in (1, agents):
                            with own_database("cohorts") as database_url:
                                text = document(stages, cohorts, agents)
                                ran = uvloop.run(run(database_url, model_url, model_pid, text))
                            figures = ran.calls, ran.seconds, ran.lab_cpu_seconds, ran.postgres_cpu_seconds
                            samples.append(Sample(stages, cohorts, agents, *figures))
                            print(samples[-1].summary, flush=True)
                    print(_verdict([one for one in samples if (one.stages, one.agents) == (stages, agents)]))
    except (StartFailed, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    print(f"All numbers: {write_samples('big-cohorts', samples, model_latency_seconds=LATENCY_SECONDS)}")
    return 0


def _verdict(samples: Sequence[Sample]) -> str:
    """What the pairs, each measured one after the other, come to."""
    pairs = list(zip(samples[::2], samples[1::2], strict=True))
    speed = median(alone.seconds / together.seconds for together, alone in pairs)
    cost = median(together.cpu_ms_per_call / alone.cpu_ms_per_call for together, alone in pairs)
    verdict = "met" if speed >= BAR else "NOT MET"
    return f"one cohort makes {speed:.2f} of the calls per second (bar: {BAR}, {verdict}), CPU per call x {cost:.2f}"


if __name__ == "__main__":
    sys.exit(main())
