"""What many cohorts have in common is told once: lines of a run, folded."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

MOST_SPANS: Final = 3
"""More pieces than that are counted, not listed."""


@dataclass(frozen=True, slots=True)
class Line:
    """What happened in a cohort or, with a stage and an author, what was said there."""

    cohort_path: str
    text: str
    stage_id: str = ""
    author: str | None = None


def folded(lines: Iterable[Line]) -> Iterator[tuple[Sequence[str], Line]]:
    """The lines, each with the cohorts it is about, in the order that each cohort had; what is said stays apart."""
    waiting: dict[str, deque[Line]] = {}
    for line in lines:
        waiting.setdefault(line.cohort_path, deque()).append(line)
    while waiting:
        first = next(iter(waiting.values()))[0]
        cohorts = [first.cohort_path] if first.author is not None else _next_with(waiting, first.text)
        for cohort in cohorts:
            waiting[cohort].popleft()
            if not waiting[cohort]:
                del waiting[cohort]
        yield cohorts, first


def _next_with(waiting: dict[str, deque[Line]], text: str) -> list[str]:
    return [cohort for cohort, lines in waiting.items() if lines[0].author is None and lines[0].text == text]


def cohorts_text(paths: Sequence[str]) -> str:
    """`c1`, `c1 to c5, c7`, or `12 cohorts`."""
    spans: list[list[int]] = []
    for number in sorted(int(path.removeprefix("c")) for path in paths):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    if len(spans) > MOST_SPANS:
        return f"{len(paths)} cohorts"
    return ", ".join(_span_text(first, last) for first, last in spans)


def _span_text(first: int, last: int) -> str:
    if first == last:
        return f"c{first}"
    return f"c{first}{', ' if last == first + 1 else ' to '}c{last}"
