"""How fast are surveys with a call per question? Agents times independent questions, in the embedded lab.

docs/benchmarks.md says what is measured and how to read it.
"""

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Final

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
QUESTIONS: Final = 20
BARS_SECONDS: Final = {50: 4.0, 500: 40.0}


@dataclass(frozen=True)
class Sample:
    """One run: so many agents, each asked `QUESTIONS` questions at once, which the file has or makes from rows."""

    agents: int
    of_rows: bool
    calls: int
    hints_per_draft: float
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
        asked = f"{QUESTIONS} questions{' from rows' if self.of_rows else ''}"
        return (
            f"{self.agents} agents x {asked}: {self.seconds:.2f} s{verdict}, "
            f"{self.calls / self.seconds:.0f} calls/s, CPU per call {cpu_ms:.2f} ms + Postgres {postgres_ms:.2f} ms, "
            f"{self.hints_per_draft:.2f} hints per draft, peak memory {self.peak_memory_mb:.0f} MB"
        )


def document(agents: int, asked: int = QUESTIONS) -> str:
    return _write(agents, {"questions": [_question(f"q{number}", number) for number in range(1, asked + 1)]})


def from_rows(agents: int, asked: int = QUESTIONS) -> str:
    """The same survey, with one question that is asked about as many rows."""
    rows = [{"id": f"q{number}", "number": number} for number in range(1, asked + 1)]
    return _write(agents, {"rows": rows, "questions": [_question("agree", "{{row.number}}")]})


def _question(question_id: str, sentence: int | str) -> dict[str, object]:
    return {
        "id": question_id,
        "kind": "scale",
        "title": f"How much do you agree with sentence {sentence}?",
        "upper": 10,
    }


def _write(agents: int, asked: dict[str, object]) -> str:
    content = {
        "parley": 1,
        "name": "Survey calls",
        "seed": 1,
        "pace": "fast",
        "model_mode": "real",
        "personas": [{"id": "one", "text": "You run a small bakery."}],
        "stages": [{"id": "page", "kind": "survey", "ask": "independent", **asked}],
        "cohorts": [{"count": agents, "seats": [{"persona": "one"}]}],
    }
    return orjson.dumps(content).decode()


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure surveys in which every question is a call of its own.")
    parser.add_argument("--agents", type=int, nargs="+", default=list(BARS_SECONDS), metavar="N")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured (default: %(default)s)")
    parser.add_argument("--rows", action="store_true", help="also measure as many questions that are made from rows")
    options = parser.parse_args(arguments)
    surveys = {False: document, **({True: from_rows} if options.rows else {})}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    samples = []
    try:
        with fake_model(LATENCY_SECONDS) as (model_url, model_pid):
            for _, agents, of_rows in product(range(options.rounds), options.agents, surveys):
                with own_database("survey") as database_url:
                    ran = uvloop.run(run(database_url, model_url, model_pid, surveys[of_rows](agents)))
                sample = Sample(agents=agents, of_rows=of_rows, **asdict(ran))
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
