"""How fast is a chat reply? Parley against a hand-written floor, in turns, in one run: `make bench`.

docs/benchmarks.md says what is measured and how to read it.
"""

import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
import psycopg

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.contestants import Place, Running, distributed, embedded, floor
from benchmarks.load import Job, Room
from benchmarks.processes import StartFailed, Tool, cpu_seconds, fake_model
from benchmarks.report import POSTGRES, Counts, Report, Sample, print_report, verdicts, write_samples
from benchmarks.servers import amqp_url, backends, own_broker_corner, own_database, postgres_url
from benchmarks.wire import wire

LATENCY_SECONDS: Final = 0.1
SATURATION_ROOMS: Final = 64
LOW_LOAD_ROOMS: Final = 4
LOW_LOAD_PAUSE_SECONDS: Final = 0.1
_RAMP_SECONDS: Final = 1.5
_WARM_UP_SECONDS: Final = 1.0
_COUNTING_SECONDS: Final = 4.0

Contestant = Callable[[Place], AbstractContextManager[Running]]
CONTESTANTS: Final[dict[str, Contestant]] = {"floor": floor, "distributed": distributed, "embedded": embedded}


@dataclass(frozen=True)
class Window:
    """What the load generator saw between `begin` and `end`, and what we saw of the processes meanwhile."""

    replies: int
    posts: int
    seconds: float
    overhead_seconds: tuple[float, ...]
    post_seconds: tuple[float, ...]
    cpu_seconds: Mapping[str, float]
    load_cpu_seconds: float


def drive(
    running: Running, database_url: str, rooms: Sequence[Room], *, seconds: float, pause_seconds: float, poll: float
) -> Window:
    """Let people talk in these rooms for so long, and wait for the last replies."""
    job = Job(
        port=running.port,
        database_url=database_url,
        rooms=tuple(rooms),
        ramp_seconds=_RAMP_SECONDS,
        seconds=seconds,
        pause_seconds=pause_seconds,
        poll_seconds=poll,
        latency_seconds=LATENCY_SECONDS,
    )
    with Tool("load generator", ["-m", "benchmarks.load"]) as load:
        load.tell_all(orjson.dumps(asdict(job)))
        _expect(load, "begin")
        servers = backends(database_url)
        before = _cpu_seconds(running.pids, servers)
        _expect(load, "end")
        after = _cpu_seconds(running.pids, servers)
        result: dict[str, Any] = orjson.loads(load.line())
    return Window(
        replies=result["replies"],
        posts=result["posts"],
        seconds=result["seconds"],
        overhead_seconds=tuple(result["overhead_seconds"]),
        post_seconds=tuple(result["post_seconds"]),
        cpu_seconds={name: after[name] - before[name] for name in after},
        load_cpu_seconds=result["cpu_seconds"],
    )


def _cpu_seconds(services: Mapping[str, int], postgres: Iterable[int]) -> dict[str, float]:
    return {
        **{name: cpu_seconds(pid) for name, pid in services.items()},
        POSTGRES: sum(map(cpu_seconds, postgres)),
    }


def _expect(tool: Tool, word: str) -> None:
    if (found := tool.line()) != word:
        raise StartFailed(f"{tool.name} said {found!r}")


def talk(running: Running, database_url: str, rooms: Sequence[Room], seconds: float) -> Window:
    """A few people who post with pauses."""
    return drive(running, database_url, rooms, seconds=seconds, pause_seconds=LOW_LOAD_PAUSE_SECONDS, poll=0.002)


def saturate(running: Running, database_url: str, seconds: float) -> Window:
    rooms = running.open_rooms(SATURATION_ROOMS)
    return drive(running, database_url, rooms, seconds=seconds, pause_seconds=0, poll=0.01)


def measure(name: str, model_url: str, broker_url: str, seconds: float) -> Sample:
    """One run of one contestant: fresh processes on a fresh database, warmed up, then saturated, then at low load."""
    with own_database(name) as database_url, CONTESTANTS[name](Place(database_url, broker_url, model_url)) as running:
        saturate(running, database_url, _WARM_UP_SECONDS)
        busy = saturate(running, database_url, seconds)
        easy = talk(running, database_url, running.open_rooms(LOW_LOAD_ROOMS), seconds)
        _check_replies(name, database_url)
    return Sample(
        contestant=name,
        replies_per_second=busy.replies / busy.seconds,
        cpu_ms_per_reply={name: 1000 * seconds / busy.replies for name, seconds in busy.cpu_seconds.items()},
        load_cpu_ms_per_reply=1000 * busy.load_cpu_seconds / busy.posts,
        overhead_ms=tuple(1000 * seconds for seconds in easy.overhead_seconds),
        post_ms=tuple(1000 * seconds for seconds in easy.post_seconds),
    )


def _check_replies(name: str, database_url: str) -> None:
    """Numbers of a pipeline that loses or doubles replies are worth nothing."""
    with psycopg.connect(database_url) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM trigger_log)"
        ).fetchone()
    assert row is not None
    if row[0] != 2 * row[1]:
        raise RuntimeError(f"{name}: {row[0]} messages hold {row[1]} replies; one reply to each post was expected")


def count(name: str, model_url: str, broker_url: str) -> Counts:
    """Statements and messages per reply at low load, on the wire; what an idle contestant sends is taken off."""
    with own_database(name) as database_url, wire(database_url, broker_url) as proxied:
        place = Place(proxied.database_url, proxied.amqp_url, model_url)
        with CONTESTANTS[name](place) as running:
            rooms = running.open_rooms(LOW_LOAD_ROOMS)
            talk(running, database_url, rooms, 1)
            before = proxied.counts()
            time.sleep(_COUNTING_SECONDS)
            idle = proxied.counts() - before
            replies, before = _replies(database_url), proxied.counts()
            talk(running, database_url, rooms, _COUNTING_SECONDS)
            return (proxied.counts() - before).per_reply(name, idle, _replies(database_url) - replies)


def _replies(database_url: str) -> int:
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT count(*) FROM trigger_log").fetchone()
    assert row is not None
    found: int = row[0]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Compare the speed of Parley's chat replies with that of a minimal pipeline.")
    parser.add_argument("--rounds", type=int, default=2, help="how often everybody is measured (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=6.0, help="length of a measurement (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=list(CONTESTANTS), default=list(CONTESTANTS), metavar="NAME")
    parser.add_argument("--no-counts", action="store_true", help="do not count statements and messages")
    options = parser.parse_args(arguments)
    # On a signal it still ends its processes and removes its databases.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with fake_model(LATENCY_SECONDS, always_speaks=True) as (model_url, _), own_broker_corner() as broker_url:
            samples = list(_samples(options.only, options.rounds, options.seconds, model_url, broker_url))
            counts = [] if options.no_counts else [count(name, model_url, broker_url) for name in options.only]
    except (StartFailed, RuntimeError, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    report = Report(samples, counts, settings=_settings(options.rounds, options.seconds))
    print_report(report)
    counted = [asdict(one) for one in report.counts]
    path = write_samples(
        "chat-pipeline", report.samples, settings=report.settings, verdicts=verdicts(report), counts=counted
    )
    print(f"All numbers: {path}")
    return 0


def _samples(names: Sequence[str], rounds: int, seconds: float, model_url: str, broker_url: str) -> Iterator[Sample]:
    """All contestants in turns, so that a slow minute of the machine affects all of them."""
    for number in range(1, rounds + 1):
        for name in names:
            sample = measure(name, model_url, broker_url, seconds)
            print(f"round {number}, {name}: {sample.summary}", flush=True)
            yield sample


def _settings(rounds: int, seconds: float) -> dict[str, Any]:
    return {
        "rounds": rounds,
        "seconds": seconds,
        "model_latency_seconds": LATENCY_SECONDS,
        "saturation_rooms": SATURATION_ROOMS,
        "low_load_rooms": LOW_LOAD_ROOMS,
        "low_load_pause_seconds": LOW_LOAD_PAUSE_SECONDS,
        "postgres": _without_password(postgres_url()),
        "broker": _without_password(amqp_url()),
    }


def _without_password(url: str) -> str:
    return urlsplit(url).hostname or ""


if __name__ == "__main__":
    sys.exit(main())
