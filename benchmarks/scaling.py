"""What do replies, pages and rounds cost as a lab grows? By workers, by cohorts, and beside old rows.

docs/benchmarks.md says what is measured and how to read it.
"""

import re
import signal
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx2
import psycopg

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.contestants import Place, Running, distributed
from benchmarks.load import OBSERVER
from benchmarks.old_rows import fill
from benchmarks.processes import StartFailed, cpu_seconds, fake_model
from benchmarks.report import write_samples
from benchmarks.servers import amqp_url, own_broker_corner, own_database

LATENCY_SECONDS: Final = 0.05
LEAST_UNITS: Final = 100
"""Few cohorts are run again and again, until there are so many units."""
COHORTS: Final = 20
BAR: Final = 1.2
"""Beside old rows a unit costs at most so many times what it costs in an empty lab."""
_IDLE_SECONDS: Final = 4.0
_LOOK_SECONDS: Final = 0.1
_FLUSH_SECONDS: Final = 1.5
"""After so long Postgres has told its statistics."""
_BACKENDS: Final = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name <> %s"
_STATEMENTS: Final = re.compile(r"^parley_statement_seconds_count ([0-9.e+]+)$", re.MULTILINE)

_SCALE: Final = {"kind": "scale", "title": "Your view", "upper": 10}
_SURVEY: Final = {"kind": "survey", "questions": [{"id": "view", **_SCALE}]}
_TALK: Final = {"kind": "group_chat", "turn_taking": "round"}
_GAME: Final = {"kind": "matrix_game", "name": "prisoners_dilemma", "horizon": {"type": "fixed", "rounds": 5}}


class Unit(NamedTuple):
    """What is counted, and the stages in which two agents make so many of them in a cohort."""

    stages: list[dict[str, Any]]
    in_a_cohort: int
    counted: str


UNITS: Final = {
    "reply": Unit(
        [{"id": "talk", **_TALK}],
        in_a_cohort=10,
        counted="SELECT count(*) FROM messages WHERE author_kind = 'agent'",
    ),
    "page": Unit(
        [{"id": f"page{number}", **_SURVEY} for number in range(3)],
        in_a_cohort=6,
        counted="SELECT count(*) FROM answers WHERE key = ''",
    ),
    "round": Unit(
        [{"id": "game", **_GAME}],
        in_a_cohort=5,
        counted="SELECT count(*) / 2 FROM answers WHERE key LIKE 'round:%'",
    ),
}
OLD_STAGES: Final[list[dict[str, Any]]] = [
    {"id": "talk", **_TALK},
    {"id": "views", "kind": "survey", "ask": "independent", "questions": [{"id": name, **_SCALE} for name in "abcd"]},
]


@dataclass(frozen=True)
class Counts:
    """Of the lab's processes and of Postgres, since they began, or between two moments."""

    at: float
    units: int
    statements: float
    postgres_seconds: float
    lab_seconds: float
    bytes_stored: int
    scanned: Counter[str]
    """Rows that were read without an index, by table."""

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(*(mine - its for mine, its in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass(frozen=True)
class Sample:
    """So many cohorts from their start to their end. Figures are of one unit, without what an idle lab does."""

    unit: str
    workers: int
    cohorts: int
    old_messages: int
    units: int
    per_second: float
    statements: float
    postgres_ms: float
    lab_ms: float
    bytes_stored: float
    rows_scanned: float
    most_scanned: str

    @property
    def row(self) -> str:
        return (
            f"| {self.unit} | {self.workers} | {self.cohorts:,} | {self.old_messages:,} | {self.units:,} "
            f"| {self.per_second:.0f} | {self.statements:.1f} | {self.postgres_ms:.2f} | {self.lab_ms:.1f} "
            f"| {self.bytes_stored:,.0f} | {self.rows_scanned:,.0f} ({self.most_scanned}) |"
        )


HEAD: Final = """
| unit | workers | cohorts | old messages | units | per s | statements | Postgres, ms | lab, ms | bytes | rows scanned |
|---|---|---|---|---|---|---|---|---|---|---|"""


class Lab:
    """A distributed lab, and the database on which it runs."""

    def __init__(self, running: Running, database_url: str, model_pid: int, workers: int, old_messages: int) -> None:
        self._running = running
        self._database_url = database_url
        self._workers = workers
        self._old_messages = old_messages
        self._idle: Counts | None = None
        self._backends: dict[int, float] = {}

    def measure(self, unit: str, cohorts: int) -> Sample:
        """Run so many cohorts, again and again while these are few."""
        idle = self._idle = self._idle or self._while_idle()
        times = max(1, -(-LEAST_UNITS // (cohorts * UNITS[unit].in_a_cohort)))
        made = [self.create(UNITS[unit].stages, cohorts) for _ in range(times)]
        before = self._counts(unit)
        began = time.monotonic()
        for experiment_id in made:
            self.run(experiment_id)
        seconds = time.monotonic() - began
        time.sleep(_FLUSH_SECONDS)
        found = self._counts(unit) - before
        units, share = found.units, found.at / idle.at
        return Sample(
            unit=unit,
            workers=self._workers,
            cohorts=cohorts,
            old_messages=self._old_messages,
            units=units,
            per_second=units / seconds,
            statements=(found.statements - share * idle.statements) / units,
            postgres_ms=1000 * (found.postgres_seconds - share * idle.postgres_seconds) / units,
            lab_ms=1000 * (found.lab_seconds - share * idle.lab_seconds) / units,
            bytes_stored=found.bytes_stored / units,
            rows_scanned=(found.scanned.total() - share * idle.scanned.total()) / units,
            most_scanned=", ".join(name for name, _ in found.scanned.most_common(2)),
        )

    def create(self, stages: Sequence[dict[str, Any]], cohorts: int) -> str:
        found = self._ask("POST", "/v1/experiments", json=experiment(stages, cohorts))
        return str(found["id"])

    def run(self, experiment_id: str) -> None:
        """Start the experiment, and return at its end."""
        self._ask("POST", f"/v1/experiments/{experiment_id}/start")
        with self._looking() as connection:
            while True:
                row = connection.execute("SELECT status FROM experiments WHERE id = %s", (experiment_id,)).fetchone()
                if row == ("ended",):
                    return
                self._postgres_seconds(connection)
                time.sleep(_LOOK_SECONDS)

    def _ask(self, method: str, path: str, **content: Any) -> Any:
        headers = {"authorization": f"Bearer {self._running.key}"}
        url = f"http://127.0.0.1:{self._running.port}{path}"
        answer = httpx2.request(method, url, headers=headers, timeout=300, **content)
        if not answer.is_success:
            raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text[:1000]}")
        return answer.json()

    def _looking(self) -> psycopg.Connection[Any]:
        # By indexes alone, so that what it counts is not among the rows scanned.
        options = "-c enable_seqscan=off"
        return psycopg.connect(self._database_url, autocommit=True, application_name=OBSERVER, options=options)

    def _while_idle(self) -> Counts:
        time.sleep(_FLUSH_SECONDS)
        before = self._counts("reply")
        time.sleep(_IDLE_SECONDS)
        return self._counts("reply") - before

    def _counts(self, unit: str) -> Counts:
        with self._looking() as connection:
            row = connection.execute(
                f"SELECT ({UNITS[unit].counted}), (SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables)"  # noqa: S608 - of this module
            ).fetchone()
            postgres_seconds = self._postgres_seconds(connection)
            scanned = connection.execute("SELECT relname, seq_tup_read FROM pg_stat_user_tables").fetchall()
        assert row is not None
        return Counts(
            at=time.monotonic(),
            units=int(row[0]),
            statements=sum(map(_statements, self._running.health_ports)),
            postgres_seconds=postgres_seconds,
            lab_seconds=sum(map(cpu_seconds, self._running.pids.values())),
            bytes_stored=int(row[1]),
            scanned=Counter({name: rows for name, rows in scanned if rows}),
        )

    def _postgres_seconds(self, connection: psycopg.Connection[Any]) -> float:
        """What Postgres has used for all connections that were ever seen: a pool closes some that are idle."""
        pids = connection.execute(_BACKENDS, (OBSERVER,)).fetchall()
        self._backends |= {pid: used for (pid,) in pids if (used := cpu_seconds(pid))}
        return sum(self._backends.values())


def _statements(health_port: int) -> float:
    found = _STATEMENTS.search(httpx2.get(f"http://127.0.0.1:{health_port}/metrics", timeout=30).text)
    return float(found[1]) if found else 0.0


def experiment(stages: Sequence[dict[str, Any]], cohorts: int) -> dict[str, Any]:
    """Cohorts of two agents, whose model answers at once."""
    chat = {"max_responses": 5}
    return {
        "parley": 1,
        "name": "Scaling",
        "seed": 1,
        "pace": "fast",
        "model_mode": "real",
        "stages": stages,
        "personas": [{"id": name, "text": "You run a small bakery.", "chat": chat} for name in ("one", "two")],
        "cohorts": [{"seats": [{"persona": "one"}, {"persona": "two"}], "count": cohorts}],
    }


@contextmanager
def lab(database_url: str, broker_url: str, model: tuple[str, int], workers: int, old_messages: int) -> Iterator[Lab]:
    with distributed(Place(database_url, broker_url, model[0]), workers) as running:
        found = Lab(running, database_url, model[1], workers, old_messages)
        # Warmed up: the first of its kind reads more and is slower.
        for unit in UNITS.values():
            found.run(found.create(unit.stages, 2))
        yield found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure what replies, pages and rounds cost as a lab grows.")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4], metavar="N")
    parser.add_argument("--cohorts", type=int, nargs="*", default=[1, 10, 100, 1_000], metavar="N")
    parser.add_argument("--old", type=int, default=1_000_000, metavar="N", help="old messages; 0: leave this part out")
    parser.add_argument("--units", nargs="+", choices=list(UNITS), default=list(UNITS), metavar="UNIT")
    parser.add_argument("--rounds", type=int, default=2, help="how often old rows are compared (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    samples: list[Sample] = []

    def take(sample: Sample) -> None:
        samples.append(sample)
        print(sample.row, flush=True)

    print(HEAD)
    try:
        with fake_model(LATENCY_SECONDS, always_speaks=True) as model, own_broker_corner() as broker_url:
            for workers in options.workers:
                with own_database("scaling") as url, lab(url, broker_url, model, workers, 0) as running:
                    for unit in options.units:
                        take(running.measure(unit, COHORTS))
            for cohorts in options.cohorts:
                with own_database("scaling") as url, lab(url, broker_url, model, 2, 0) as running:
                    for unit in options.units:
                        take(running.measure(unit, cohorts))
            if options.old:
                compare_with_old(options, broker_url, model, take)
    except (StartFailed, RuntimeError, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    for line in verdicts(samples):
        print(line)
    broker = re.sub(r"//.*@", "//", amqp_url())
    print(f"All numbers: {write_samples('scaling', samples, model_latency_seconds=LATENCY_SECONDS, broker=broker)}")
    return 0


def compare_with_old(options: Any, broker_url: str, model: tuple[str, int], take: Callable[[Sample], None]) -> None:
    """The same beside nothing and beside old rows, in turns."""
    with own_database("old") as full_url, own_database("empty") as empty_url:
        with lab(full_url, broker_url, model, 1, 0) as running:
            running.run(running.create(OLD_STAGES, 10))
        began = time.monotonic()
        counts = fill(full_url, options.old)
        told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        print(f"Filled in {time.monotonic() - began:.0f} s: {told}", file=sys.stderr, flush=True)
        for _ in range(options.rounds):
            for url, old in ((empty_url, 0), (full_url, options.old)):
                with lab(url, broker_url, model, 2, old) as running:
                    for unit in options.units:
                        take(running.measure(unit, COHORTS))


def verdicts(samples: Sequence[Sample]) -> Iterator[str]:
    """For each unit what the old rows cost, by the cheapest of each: other work on the machine only makes it dearer."""
    for unit in UNITS:
        full = [one for one in samples if one.unit == unit and one.old_messages]
        empty = [
            one
            for one in samples
            if one.unit == unit and not one.old_messages and one.cohorts == COHORTS and one.workers == 2
        ]
        if full and empty:
            ratio = min(one.postgres_ms for one in full) / min(one.postgres_ms for one in empty)
            verdict = "met" if ratio <= BAR else "NOT MET"
            yield f"{unit}: beside old rows Postgres takes {ratio:.2f} times the CPU (bar: {BAR}, {verdict})"


if __name__ == "__main__":
    sys.exit(main())
