"""The table of a storm, and what was wrong."""

from collections.abc import Iterator
from statistics import median

from tests.storms.storm import Outcome, Struck


def table(outcome: Outcome) -> str:
    """A row for each fault: how often, messages meanwhile, calls made again, and the seconds until recovery."""
    by_name: dict[str, list[Struck]] = {}
    for one in outcome.struck:
        by_name.setdefault(one.fault.name, []).append(one)
    lines = [
        "| fault | times | messages | calls made again | seconds to recover: median | worst |",
        "|---|---|---|---|---|---|",
        *(_row(name, struck) for name, struck in sorted(by_name.items())),
        _row("all", outcome.struck),
    ]
    return "\n".join(lines)


def verdict(outcome: Outcome) -> str:
    found = outcome.findings
    lost, doubled, stuck = (sum(map(len, one.values())) for one in (found.lost, found.doubled, found.stuck))
    first = (
        f"{outcome.messages} messages, {len(outcome.struck)} faults, {outcome.calls} calls of models in "
        f"{outcome.seconds:.0f} s: {lost} lost, {doubled} doubled, {stuck} stuck, {len(outcome.broken)} answers of 500"
    )
    return "\n".join([first, *_details(outcome)])


def _row(name: str, struck: list[Struck]) -> str:
    seconds = [one.recovered - one.mended for one in struck] or [0.0]
    messages, repeated = sum(one.messages for one in struck), sum(one.repeated for one in struck)
    return f"| {name} | {len(struck)} | {messages} | {repeated} | {median(seconds):.1f} | {max(seconds):.1f} |"


def _details(outcome: Outcome) -> Iterator[str]:
    found = outcome.findings
    for word, told in (("LOST", found.lost), ("DOUBLED", found.doubled), ("STUCK", found.stuck)):
        for name, wrong in told.items():
            yield f"{word}: {name}: {len(wrong)}, such as {wrong[:3]}"
    for one in outcome.broken[:5]:
        yield f"500: {one}"
