"""How soon does a message of a person reach the last of their group? Groups of people who talk, against a floor.

docs/benchmarks.md says what is measured and how to read it.
"""

import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from select import select
from tempfile import NamedTemporaryFile
from typing import Any, Final

import orjson
import psycopg

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.floor import groups as floor_groups
from benchmarks.group_load import Job
from benchmarks.people_pages import Contestant, Meter, lab
from benchmarks.processes import Service, StartFailed, Tool
from benchmarks.report import percentile, write_samples
from benchmarks.servers import own_broker_corner, own_database
from parley_lab.testing.network import free_port

BARS_MS: Final = {100: 100, 150: 250}
"""By groups of four: 95 % of the messages have reached the last listener after so many milliseconds."""
_LOOK_SECONDS: Final = 0.25


@dataclass(frozen=True)
class Sample:
    """One run of one contestant. CPU is per message."""

    contestant: str
    groups: int
    size: int
    posted: int
    refused: int
    seconds: float
    cpu_ms: Mapping[str, float]
    load_cpu_ms: float
    answer_ms: tuple[float, ...]
    last_ms: tuple[float, ...]
    lost: int
    doubled: int
    out_of_order: int
    broken: int

    @property
    def p95_ms(self) -> float:
        return percentile(self.last_ms, 95)

    @property
    def summary(self) -> str:
        costs = " + ".join(f"{name} {cost:.2f}" for name, cost in self.cpu_ms.items())
        bar = BARS_MS.get(self.groups) if self.size == 4 else None
        verdict = "" if bar is None else f" (bar: {bar} ms, {'met' if self.p95_ms <= bar else 'NOT MET'})"
        return (
            f"{self.contestant}, {self.groups} groups of {self.size}: {self.posted / self.seconds:.0f} messages/s, "
            f"to the last listener p50 {percentile(self.last_ms, 50):.0f} p95 {self.p95_ms:.0f} ms{verdict}, "
            f"answer p95 {percentile(self.answer_ms, 95):.0f} ms, CPU each {costs} ms (load {self.load_cpu_ms:.2f}); "
            f"refused {self.refused}, lost {self.lost}, doubled {self.doubled}, out of order {self.out_of_order}, "
            f"streams broken {self.broken}"
        )


def talk(size: int, people: int) -> dict[str, Any]:
    return {
        "parley": 1,
        "name": "Groups of people",
        "seed": 1,
        "pace": "live",
        "stages": [{"id": "talk", "kind": "group_chat"}, {"id": "end", "kind": "info", "lines": ["Thank you."]}],
        "cohorts": [{"count": people // size, "seats": [{"open": True, "count": size}]}],
    }


@contextmanager
def floor(database_url: str, size: int) -> Iterator[Contestant]:
    port = free_port()
    environment = {
        "FLOOR_DATABASE_URL": database_url,
        "FLOOR_GATEWAY_PORT": str(port),
        "FLOOR_GROUP_SIZE": str(size),
    }
    with Service("floor", ["-m", "benchmarks.floor.groups"], environment) as service:
        service.wait_for_http(f"http://127.0.0.1:{port}/readyz")
        yield Contestant("floor", (port,), {"gateway": [service.process.pid]}, lambda _: "talk", database_url, 0)


def measure(contestant: Contestant, groups: int, options: Namespace) -> Sample:
    """Have so many groups talk. Raises: RuntimeError when a message is not stored once, or their numbers have a gap."""
    code = contestant.open_study(groups * options.size)
    stored_before = _messages(contestant.database_url)
    with NamedTemporaryFile() as result, Tool("load generator", ["-m", "benchmarks.group_load"]) as load:
        job = Job(contestant.ports[0], code, groups, options.size, options.seconds, result.name)
        load.ask(orjson.dumps(asdict(job)))
        meter = Meter(contestant)
        assert load.process.stdout is not None
        while not select([load.process.stdout], [], [], _LOOK_SECONDS)[0]:
            meter.spent()
        load.line()
        spent, found = meter.spent(), orjson.loads(result.read())
    stored = _messages(contestant.database_url) - stored_before
    if not found["posted"] <= stored <= found["posted"] + found["refused"]:
        raise RuntimeError(f"{contestant.name} has stored {stored} of {found['posted']} messages")
    return Sample(
        contestant=contestant.name,
        groups=groups,
        size=options.size,
        cpu_ms={name: 1000 * seconds / stored for name, seconds in spent.items()},
        load_cpu_ms=1000 * found.pop("cpu_seconds") / stored,
        answer_ms=tuple(1000 * seconds for seconds in found.pop("answer_seconds")),
        last_ms=tuple(1000 * seconds for seconds in found.pop("last_seconds")),
        **found,
    )


def _messages(database_url: str) -> int:
    """How many messages are stored. Raises: RuntimeError when the numbers of a thread have a gap."""
    gaps = "SELECT thread_id FROM messages GROUP BY thread_id HAVING max(seq) <> count(*)"
    with psycopg.connect(database_url) as connection:
        if connection.execute(gaps).fetchone():
            raise RuntimeError("the numbers of a thread's messages have a gap")
        row = connection.execute("SELECT count(*) FROM messages").fetchone()
    assert row is not None
    return int(row[0])


def run(options: Namespace, take: Callable[[Sample], None]) -> None:
    """The floor and the lab in turns, each with fresh processes on a database that is kept."""
    with ExitStack() as stack:
        broker_url = stack.enter_context(own_broker_corner())
        lab_url, floor_url = (stack.enter_context(own_database(f"groups_{name}")) for name in ("lab", "floor"))
        with psycopg.connect(floor_url, autocommit=True) as connection:
            connection.execute(floor_groups.SCHEMA)
        for _ in range(options.rounds):
            for groups in options.groups:
                with floor(floor_url, options.size) as running:
                    take(measure(running, groups, options))
                with lab(lab_url, broker_url, 1, partial(talk, options.size)) as running:
                    take(measure(running, groups, options))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure groups of people who talk.")
    parser.add_argument("--groups", type=int, nargs="+", default=[50, 100, 150], metavar="N", help="how many groups")
    parser.add_argument("--size", type=int, default=4, metavar="N", help="people in a group (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=15, help="of talk; each posts once a second (default: 15)")
    parser.add_argument("--rounds", type=int, default=1, help="how often each is measured (default: %(default)s)")
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
    print(f"All numbers: {write_samples('people-groups', samples, **vars(options))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
