"""What does a page of a person in a browser cost? A study of surveys, against a hand-written floor.

docs/benchmarks.md says what is measured and how to read it.
"""

import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from select import select
from statistics import median
from typing import Any, Final

import httpx2
import orjson
import psycopg

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.contestants import API_KEY, Place, migrate
from benchmarks.floor import pages
from benchmarks.old_rows import fill
from benchmarks.page_load import Job
from benchmarks.processes import Service, StartFailed, Tool, cpu_seconds
from benchmarks.report import percentile, write_samples
from benchmarks.servers import backends, own_broker_corner, own_database
from parley_lab.testing.network import free_port

FLOOR_BAR: Final = 0.5
"""The lab makes at least this share of the floor's pages per second."""
GATEWAYS_BAR: Final = 1.15
"""With two gateways a page costs at most so many times the CPU."""
NAMES: Final = ("lab", "floor")
OLD_PEOPLE: Final = 50
"""Of so many people old answers are copies."""
_WARM_UP_PEOPLE: Final = 200
"""By then the connections of two gateways have planned their statements (docs/benchmarks.md)."""
_LOOK_SECONDS: Final = 0.25
_PATIENCE_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Contestant:
    """A running program: where it answers, its processes by name, and the code of a link for so many people."""

    name: str
    ports: tuple[int, ...]
    pids: Mapping[str, Sequence[int]]
    open_study: Callable[[int], str]
    database_url: str
    old_answers: int


@dataclass(frozen=True)
class Sample:
    """One run of one contestant: whole studies, from joining to the end. CPU is per page."""

    contestant: str
    old_answers: int
    pages: int
    seconds: float
    requests: int
    cpu_ms: Mapping[str, float]
    """By process; all of the server's side of Postgres is one."""
    load_cpu_ms: float
    advance_ms: tuple[float, ...]

    @property
    def per_second(self) -> float:
        return self.pages / self.seconds

    @property
    def all_cpu_ms(self) -> float:
        return sum(self.cpu_ms.values())

    @property
    def summary(self) -> str:
        costs = " + ".join(f"{name} {cost:.2f}" for name, cost in self.cpu_ms.items())
        p50, p95 = (percentile(self.advance_ms, percent) for percent in (50, 95))
        return (
            f"{self.contestant}, {self.old_answers:,} old answers: {self.pages:,} pages in {self.seconds:.1f} s, "
            f"{self.per_second:.0f} pages/s ({self.requests / self.pages:.1f} requests each), CPU each {costs} ms "
            f"(load {self.load_cpu_ms:.2f}), going on p50 {p50:.0f} p95 {p95:.0f} ms"
        )


def survey(stages: int, people: int) -> dict[str, Any]:
    """Everybody is alone in a cohort, so that a page changes only by what its participant does."""
    return {
        "parley": 1,
        "name": "People's pages",
        "seed": 1,
        "pace": "live",
        "stages": [{"id": f"p{number}", "kind": "survey", "questions": pages.QUESTIONS} for number in range(stages)],
        "cohorts": [{"count": people, "seats": [{"open": True}]}],
    }


@contextmanager
def lab(
    database_url: str, broker_url: str, gateways: int, study: Callable[[int], Mapping[str, Any]], old_answers: int = 0
) -> Iterator[Contestant]:
    """Gateways and an orchestrator, with the settings that they have by themselves on a loopback address.

    `study` gives the experiment file for so many people.
    """
    migrate(Place(database_url, broker_url, ""))
    common = {"PARLEY_DATABASE_URL": database_url, "PARLEY_AMQP_URL": broker_url, "PARLEY_BOOTSTRAP_API_KEY": API_KEY}
    ports = tuple(free_port() for _ in range(gateways))
    with ExitStack() as stack:
        services: dict[str, list[Service]] = {"gateway": [], "orchestrator": []}
        for name, port in [*(("gateway", port) for port in ports), ("orchestrator", 0)]:
            health = free_port()
            environment = {**common, "GATEWAY_PORT": str(port), "PARLEY_HEALTH_PORT": str(health)}
            service = stack.enter_context(Service(name, ["-m", f"parley_lab.{name}"], environment))
            services[name].append(service)
            service.wait_for_http(f"http://127.0.0.1:{health}/readyz")

        def open_study(people: int) -> str:
            created = _asked(ports[0], "POST", "/v1/experiments", json=study(people))
            _asked(ports[0], "POST", f"/v1/experiments/{created['id']}/start")
            _wait_for(database_url, "SELECT 1 FROM streams WHERE settled < unsettled", "The cohorts do not begin.")
            return str(_asked(ports[0], "GET", f"/v1/experiments/{created['id']}")["join_code"])

        pids = {name: [one.process.pid for one in found] for name, found in services.items()}
        yield Contestant(_named("lab", gateways), ports, pids, open_study, database_url, old_answers)


def _named(name: str, gateways: int) -> str:
    return name if gateways == 1 else f"{name} with {gateways} gateways"


def _asked(port: int, method: str, path: str, **content: Any) -> Any:
    headers = {"authorization": f"Bearer {API_KEY}"}
    answer = httpx2.request(method, f"http://127.0.0.1:{port}{path}", headers=headers, timeout=300, **content)
    if not answer.is_success:
        raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text[:1000]}")
    return answer.json()


def _wait_for(database_url: str, what_is_left: str, otherwise: str) -> None:
    """Return when the query finds nothing. Raises: RuntimeError after the patience of two minutes."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with psycopg.connect(database_url, autocommit=True) as connection:
        while connection.execute(what_is_left.encode()).fetchone():
            if time.monotonic() > deadline:
                raise RuntimeError(otherwise)
            time.sleep(_LOOK_SECONDS)


@contextmanager
def floor(database_url: str, stages: int, old_answers: int, processes: int = 1) -> Iterator[Contestant]:
    ports = tuple(free_port() for _ in range(processes))
    with ExitStack() as stack:
        pids = []
        for port in ports:
            environment = {
                "FLOOR_DATABASE_URL": database_url,
                "FLOOR_GATEWAY_PORT": str(port),
                "FLOOR_PAGES": str(stages),
            }
            service = stack.enter_context(Service("floor", ["-m", "benchmarks.floor.pages"], environment))
            service.wait_for_http(f"http://127.0.0.1:{port}/readyz")
            pids.append(service.process.pid)
        name = _named("floor", processes)
        yield Contestant(name, ports, {"gateway": pids}, lambda _: "study", database_url, old_answers)


class Meter:
    """The CPU of a contestant from here on. Each look remembers the connections, as Postgres closes some of them."""

    def __init__(self, contestant: Contestant) -> None:
        self._contestant = contestant
        self._postgres: dict[int, float] = {}
        self._before: Mapping[str, float] = {}
        self._before = self.spent()

    def spent(self) -> dict[str, float]:
        used = {name: sum(map(cpu_seconds, pids)) for name, pids in self._contestant.pids.items()}
        now = {pid: cpu_seconds(pid) for pid in backends(self._contestant.database_url)}
        self._postgres |= {pid: seconds for pid, seconds in now.items() if seconds}
        used["Postgres"] = sum(self._postgres.values())
        return {name: seconds - self._before.get(name, 0) for name, seconds in used.items()}


def measure(contestant: Contestant, options: Namespace) -> Sample:
    """Bring so many people through the study. Raises: RuntimeError when not every answer is stored."""
    code = contestant.open_study(_WARM_UP_PEOPLE + options.people)
    drive(contestant, Job(contestant.ports, code, _WARM_UP_PEOPLE, options.at_once))
    before, meter = _answers(contestant), Meter(contestant)
    found = drive(contestant, Job(contestant.ports, code, options.people, options.at_once), meter)
    spent, expected = meter.spent(), options.people * options.pages
    if (stored := _answers(contestant) - before) != expected:
        raise RuntimeError(f"{contestant.name} has stored {stored} of {expected} answers")
    return Sample(
        contestant=contestant.name,
        old_answers=contestant.old_answers,
        pages=expected,
        seconds=found["seconds"],
        requests=found["requests"],
        cpu_ms={name: 1000 * seconds / expected for name, seconds in spent.items()},
        load_cpu_ms=1000 * found["cpu_seconds"] / expected,
        advance_ms=tuple(1000 * seconds for seconds in found["advance_seconds"]),
    )


def drive(contestant: Contestant, job: Job, meter: Meter | None = None) -> dict[str, Any]:
    """What the load generator tells at its end; the meter looks now and then meanwhile."""
    with Tool("load generator", ["-m", "benchmarks.page_load"]) as load:
        load.tell_all(orjson.dumps(asdict(job)))
        assert load.process.stdout is not None
        while not select([load.process.stdout], [], [], _LOOK_SECONDS)[0]:
            if meter is not None:
                meter.spent()
        found: dict[str, Any] = orjson.loads(load.line())
        return found


def _answers(contestant: Contestant) -> int:
    with psycopg.connect(contestant.database_url) as connection:
        row = connection.execute("SELECT count(*) FROM answers").fetchone()
    assert row is not None
    return int(row[0])


def fill_lab(database_url: str, broker_url: str, options: Namespace) -> None:
    """A lab in which people have answered for years: copies of those who have just come to an end."""
    with lab(database_url, broker_url, 1, partial(survey, options.pages)) as running:
        drive(running, Job(running.ports, running.open_study(OLD_PEOPLE), OLD_PEOPLE, options.at_once))
        _wait_for(database_url, "SELECT 1 FROM experiments WHERE status <> 'ended'", "The first study does not end.")
    counts = fill(database_url, options.old_answers, of="answers")
    print(f"filled: {', '.join(f'{name} {count:,}' for name, count in counts.items())}", file=sys.stderr, flush=True)


def prepare_floor(database_url: str, options: Namespace) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(pages.SCHEMA)
        if options.old_answers:
            old = pages.OLD.format(pages=options.pages, members=options.old_answers // options.pages)
            connection.execute(old)
            connection.execute("VACUUM ANALYZE")


def run(options: Namespace, take: Callable[[Sample], None]) -> None:
    """Everybody in turns, round after round, on databases that are kept; with old answers beside those without."""
    with ExitStack() as stack:
        broker_url = stack.enter_context(own_broker_corner())
        places = []
        for old in sorted({0, options.old_answers}):
            lab_url, floor_url = (stack.enter_context(own_database(f"pages_{name}")) for name in ("lab", "floor"))
            if old:
                fill_lab(lab_url, broker_url, options)
            prepare_floor(floor_url, Namespace(pages=options.pages, old_answers=old))
            places.append((old, lab_url, floor_url))
        for _ in range(options.rounds):
            for old, lab_url, floor_url in places:
                for gateways in sorted({1, options.gateways}):
                    with floor(floor_url, options.pages, old, gateways) as running:
                        take(measure(running, options))
                    with lab(lab_url, broker_url, gateways, partial(survey, options.pages), old) as running:
                        take(measure(running, options))


def verdicts(samples: Sequence[Sample], gateways: int) -> Iterator[str]:
    """A ratio is the median of those within a round, followed by the lowest and the highest."""
    for old in sorted({sample.old_answers for sample in samples}):
        beside = f"beside {old:,} old answers: " if old else ""
        of = {
            name: [one for one in samples if (one.contestant, one.old_answers) == (name, old)]
            for name in (_named(each, count) for each in NAMES for count in (1, gateways))
        }
        ratios = [one.per_second / floor.per_second for one, floor in zip(of["lab"], of["floor"], strict=True)]
        yield f"{beside}the lab makes {_spread(ratios)} of the floor's pages per second (bar: {FLOOR_BAR})"
        yield f"{beside}a page of the lab costs {_spread(_costs(of['lab'], of['floor']))} times the CPU of the floor's"
        if gateways > 1:
            lab, floor = (_spread(_costs(of[_named(name, gateways)], of[name])) for name in NAMES)
            yield f"{beside}with {gateways} gateways a page costs {lab} times the CPU (bar: {GATEWAYS_BAR})"
            yield f"{beside}with {gateways} processes a page of the floor costs {floor} times the CPU"


def _costs(several: Sequence[Sample], of: Sequence[Sample]) -> list[float]:
    return [one.all_cpu_ms / other.all_cpu_ms for one, other in zip(several, of, strict=True)]


def _spread(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure people who take a study of surveys in their browsers.")
    parser.add_argument("--people", type=int, default=300, metavar="N", help="in one run (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=10, metavar="N", help="of each (default: %(default)s)")
    parser.add_argument("--at-once", type=int, default=64, metavar="N", help="people on the way (default: %(default)s)")
    parser.add_argument("--old-answers", type=int, default=0, metavar="N", help="the same beside so many, too")
    parser.add_argument("--gateways", type=int, default=1, metavar="N", help="the same with so many, too")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    samples: list[Sample] = []

    def take(sample: Sample) -> None:
        samples.append(sample)
        print(sample.summary, flush=True)

    try:
        run(options, take)
    except (StartFailed, RuntimeError, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    for line in verdicts(samples, options.gateways):
        print(line)
    print(f"All numbers: {write_samples('people-pages', samples, **vars(options))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
