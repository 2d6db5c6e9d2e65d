"""How long does a person wait for a seat when 300 join within ten seconds?

docs/benchmarks.md says what is measured and how to read it.
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx2

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.people_pages import lab
from benchmarks.report import percentile
from benchmarks.servers import own_broker_corner, own_database

GROUP: Final = 4
BAR_MS: Final = 250.0
"""95 of 100 people have their seat within this time."""


def make_at_joining(people: int) -> dict[str, Any]:
    """Groups that are made as people join."""
    cohort = {"count": -(-people // GROUP), "seats": [{"open": True, "count": GROUP}]}
    return {**_study(people), "cohorts": [cohort]}


def make_when_together(people: int) -> dict[str, Any]:
    """Groups that are made at the second stage, of those who are there."""
    cohort = {"made": "when_together", "at": "play", "count": people, "seats": [{"open": True, "count": GROUP}]}
    return {**_study(people), "cohorts": [cohort]}


def _study(people: int) -> dict[str, Any]:
    waits = {"wait_for_all": True, "at_most_seconds": 600}
    return {
        "parley": 1,
        "name": f"{people} people join",
        "pace": "live",
        "treatments": [{"id": "a"}, {"id": "b"}],
        "stages": [
            {"id": "before", "kind": "info", "lines": ["Hello"]},
            {"id": "play", "kind": "info", "lines": ["Together"], "progress": waits},
        ],
    }


STUDIES: Final = {"fixed": make_at_joining, "when_together": make_when_together}


async def join_all(port: int, code: str, people: int, seconds: float) -> list[float]:
    """Seconds that each person waited for a seat; people come evenly. Raises: httpx2.HTTPStatusError."""
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:

        async def join(number: int) -> float:
            await asyncio.sleep(number * seconds / people)
            begun = time.perf_counter()
            answer = await client.post(f"/v1/join/{code}", json={"join_key": f"browser-{number:04}"})
            answer.raise_for_status()
            return time.perf_counter() - begun

        return list(await asyncio.gather(*(join(number) for number in range(people))))


def measure(name: str, options: Namespace) -> list[float]:
    """Milliseconds of all rounds, in a lab of its own."""
    found: list[float] = []
    with own_database("joining") as url, own_broker_corner() as broker, lab(url, broker, 1, STUDIES[name]) as running:
        for _ in range(options.rounds + 1):
            code = running.open_study(options.people)
            waited = asyncio.run(join_all(running.ports[0], code, options.people, options.seconds))
            found.extend(1000 * one for one in waited)
    # The connections plan their statements in the first round.
    return found[options.people :]


def say(name: str, waited: Sequence[float]) -> str:
    p50, p95, p99 = (percentile(waited, percent) for percent in (50, 95, 99))
    verdict = "meets bar" if p95 <= BAR_MS else "BELOW BAR"
    return f"{verdict}  {name}: {len(waited)} joins, p50 {p50:.0f} p95 {p95:.0f} p99 {p99:.0f} max {max(waited):.0f} ms"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure people who join at nearly the same time.")
    parser.add_argument("--people", type=int, default=300, metavar="N", help="in one round (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="within which they join (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (default: %(default)s)")
    parser.add_argument("--of", choices=STUDIES, action="append", help="only groups made in this way")
    options = parser.parse_args(arguments)
    results: Mapping[str, list[float]] = {name: measure(name, options) for name in options.of or STUDIES}
    for name, waited in results.items():
        print(say(name, waited))
    return 0


if __name__ == "__main__":
    sys.exit(main())
