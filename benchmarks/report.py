"""Numbers of a run, put together: medians over the rounds, ratios to the floor, a table, a file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson
from rich.console import Console
from rich.table import Table

THROUGHPUT_BAR: Final = 0.5
OVERHEAD_BAR: Final = 3.0
FLOOR: Final = "floor"
POSTGRES: Final = "postgres"
RESULTS: Final = Path(__file__).resolve().parent / "results"
_PERCENTILES: Final = (50, 95, 99)


@dataclass(frozen=True)
class Sample:
    """One run of one contestant. CPU is of the saturated phase, overhead and post of the one at low load."""

    contestant: str
    replies_per_second: float
    cpu_ms_per_reply: Mapping[str, float]
    """By process; all of the server's side of Postgres is one."""
    load_cpu_ms_per_reply: float
    overhead_ms: tuple[float, ...]
    post_ms: tuple[float, ...]

    @property
    def service_cpu_ms(self) -> float:
        return sum(cost for name, cost in self.cpu_ms_per_reply.items() if name != POSTGRES)

    @property
    def summary(self) -> str:
        return (
            f"{self.replies_per_second:.0f} replies/s, {self.service_cpu_ms:.1f} ms CPU per reply, "
            f"overhead p50 {percentile(self.overhead_ms, 50):.1f} ms"
        )


@dataclass(frozen=True)
class Counts:
    """What passes between the services of one contestant and the servers, per reply."""

    contestant: str
    statements_per_reply: float
    transaction_control_per_reply: float
    messages_per_reply: float
    idle_statements_per_second: float


@dataclass(frozen=True)
class Report:
    samples: Sequence[Sample]
    counts: Sequence[Counts]
    settings: dict[str, Any]

    @property
    def contestants(self) -> list[str]:
        return list(dict.fromkeys(sample.contestant for sample in self.samples))

    def of(self, contestant: str) -> list[Sample]:
        return [sample for sample in self.samples if sample.contestant == contestant]

    def typical(self, contestant: str, number: Callable[[Sample], float]) -> float:
        """The median over the rounds."""
        return median(map(number, self.of(contestant)))

    def ratios(self, contestant: str, number: Callable[[Sample], float]) -> list[float]:
        """This contestant's number to the floor's, round by round."""
        pairs = zip(self.of(contestant), self.of(FLOOR), strict=True)
        return [number(one) / number(floor) for one, floor in pairs]


def percentile(values: Iterable[float], percent: int) -> float:
    """The nearest rank. There must be values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def throughput(sample: Sample) -> float:
    return sample.replies_per_second


def all_cpu(sample: Sample) -> float:
    return sum(sample.cpu_ms_per_reply.values())


def overhead(percent: int) -> Callable[[Sample], float]:
    return lambda sample: percentile(sample.overhead_ms, percent)


_ROWS: Final[tuple[tuple[str, Callable[[Sample], float], str], ...]] = (
    ("Replies per second, saturated", throughput, ".0f"),
    ("CPU of the services per reply, ms", lambda sample: sample.service_cpu_ms, ".2f"),
    ("CPU of Postgres per reply, ms", lambda sample: sample.cpu_ms_per_reply[POSTGRES], ".2f"),
    *((f"Overhead of a reply at low load, p{percent}, ms", overhead(percent), ".1f") for percent in _PERCENTILES),
    ("Answer to a post at low load, p50, ms", lambda sample: percentile(sample.post_ms, 50), ".1f"),
)
_COUNT_ROWS: Final[tuple[tuple[str, Callable[[Counts], float]], ...]] = (
    ("Statements per reply", lambda counts: counts.statements_per_reply),
    ("BEGIN, COMMIT and the like per reply", lambda counts: counts.transaction_control_per_reply),
    ("Messages published to the broker per reply", lambda counts: counts.messages_per_reply),
    ("Statements per second while idle", lambda counts: counts.idle_statements_per_second),
)


def print_report(report: Report) -> None:
    console = Console()
    console.print(_table(report))
    for line in verdicts(report):
        console.print(line, soft_wrap=True)


def _table(report: Report) -> Table:
    table = Table(title="A chat reply, from the post to the reply that can be read")
    table.add_column("")
    for contestant in report.contestants:
        table.add_column(contestant, justify="right")
    for title, number, shape in _ROWS:
        table.add_row(title, *(format(report.typical(one, number), shape) for one in report.contestants))
    counted = {counts.contestant: counts for counts in report.counts}
    for title, number_of in _COUNT_ROWS if counted else ():
        table.add_row(title, *(f"{number_of(counted[one]):.1f}" for one in report.contestants))
    return table


def verdicts(report: Report) -> list[str]:
    """What the ratios say about each contestant; nothing without the floor."""
    if FLOOR not in report.contestants:
        return []
    lines = []
    for one in (name for name in report.contestants if name != FLOOR):
        speeds, delays = report.ratios(one, throughput), report.ratios(one, overhead(50))
        lines.append(_verdict(f"{one}: throughput", speeds, "at least", THROUGHPUT_BAR, lambda x: x >= THROUGHPUT_BAR))
        lines.append(_verdict(f"{one}: p50 overhead", delays, "at most", OVERHEAD_BAR, lambda x: x <= OVERHEAD_BAR))
        lines.append(
            f"{one}: CPU per reply, Postgres included, is {_spread(report.ratios(one, all_cpu))} times the floor's"
        )
    return lines


def _verdict(what: str, ratios: Sequence[float], relation: str, bar: float, is_met: Callable[[float], bool]) -> str:
    """Rounds that do not agree decide nothing, whatever their median is."""
    outcomes = {is_met(ratio) for ratio in ratios}
    verdict = (
        "UNDECIDED: the rounds do not agree" if len(outcomes) > 1 else "meets bar" if True in outcomes else "BELOW BAR"
    )
    return f"{what} is {_spread(ratios)} times the floor's (bar: {relation} {bar:g}): {verdict}"


def _spread(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def write_samples(name: str, samples: Sequence[Any], **facts: Any) -> Path:
    """All samples (dataclasses) of one run with what was the same for all, in a file called after `name`."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    content = {"at": now.isoformat(timespec="seconds"), **facts, "samples": [asdict(sample) for sample in samples]}
    path = RESULTS / f"{name}-{now:%Y%m%dT%H%M%SZ}.json"
    path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    return path
