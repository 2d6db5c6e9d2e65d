"""Chooses what to show of a run: each event once, in the order of stages, with equal events of cohorts folded."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from parley_lab.experiments.following import OpenedStage
from parley_lab.kinds.stages import parts_of

AND_OTHERS: Final = "and others for the same reason; the end of the run counts them"


class Repeated:
    """Events of many members for one reason, such as an unknown model: only the first is shown in full."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def new_lines(self, reason: str, line: str) -> list[str]:
        """The line at first, a word about others at the second time, then nothing."""
        self._times[reason] += 1
        return {1: [line], 2: [AND_OTHERS]}.get(self._times[reason], [])

    def has_told(self, text: str) -> bool:
        """Whether the text ends with a reason that was shown."""
        return any(reason and text.endswith(reason) for reason in self._times)


class Teller:
    """Remembers what was shown, by cohort and stage."""

    def __init__(self, *, step_by_step: bool) -> None:
        """step_by_step: show every step, not only the results."""
        self._step_by_step = step_by_step
        self._steps_told: dict[tuple[UUID, str], int] = {}
        self._ended: dict[UUID, set[str]] = {}

    def tells(self, cohort_id: UUID, stage_id: str) -> bool:
        """Whether this stage narrates, so that single answers need not be shown."""
        return (cohort_id, stage_id) in self._steps_told

    def tells_outcome(self, cohort_id: UUID) -> bool:
        """Whether the result of a stage of this cohort was shown."""
        return bool(self._ended.get(cohort_id))

    def new_lines(self, opened: OpenedStage) -> list[str]:
        """The new lines of a stage since the last call; none where its events are shown."""
        narration = parts_of(opened.stage).narration
        if narration is None:
            return []
        where = (opened.cohort_id, opened.stage.id)
        told = self._steps_told.setdefault(where, 0)
        lines = list(narration.steps(opened.view)[told:]) if self._step_by_step else []
        self._steps_told[where] = told + len(lines)
        ended = self._ended.setdefault(opened.cohort_id, set())
        if opened.stage.id not in ended and (outcome := narration.outcome(opened.view)) is not None:
            ended.add(opened.stage.id)
            lines.append(outcome)
        return lines


Where = tuple[UUID, str]
"""A cohort and one of its stages."""


class Openings:
    """Remembers which stages are open, who has arrived, and which openings were shown."""

    def __init__(self) -> None:
        self._open: set[Where] = set()
        self._told: set[Where] = set()
        self._begun: set[UUID] = set()
        self._arrived: dict[Where, set[str]] = {}

    def skip(self, where: Where) -> None:
        """Show nothing of this stage, which was open before."""
        self._open.add(where)
        self._told.add(where)
        self._begun.add(where[0])

    def opened(self, where: Where, *, participants: int) -> str | None:
        """The line about the opening, unless no member is there yet. The first stage of a cohort has all from the
        start."""
        self._open.add(where)
        if where[0] in self._begun and where not in self._arrived:
            return None
        return self._line(where, participants)

    def arrived(self, where: Where, member_path: str, *, participants: int) -> str | None:
        """The line about an open stage at the arrival of its first member."""
        self._arrived.setdefault(where, set()).add(member_path)
        return self._line(where, participants) if where in self._open else None

    def _line(self, where: Where, participants: int) -> str | None:
        """`talk is open: 3 of 3 have arrived`, once; without the count where no member has waited."""
        if where in self._told:
            return None
        self._told.add(where)
        self._begun.add(where[0])
        arrived = len(self._arrived.get(where, ()))
        return f"{where[1]} is open" + (f": {arrived} of {participants} have arrived" if arrived > 1 else "")


MOST_SPANS: Final = 3
"""A longer list is replaced by a count."""


@dataclass(frozen=True, slots=True)
class Line:
    """An event of a cohort or, with a stage and an author, a message."""

    cohort_path: str
    text: str
    stage_id: str = ""
    author: str | None = None


def folded(lines: Iterable[Line]) -> Iterator[tuple[Sequence[str], Line]]:
    """The lines with their cohorts: equal lines are merged in the order of each cohort, messages are not."""
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
    """`c1`, `c1 to c5, c7`, `w1, w2` for people alone, or `12 cohorts`."""
    spans: list[tuple[str, list[int]]] = []
    for kind, number in sorted((path[0], int(path[1:])) for path in paths):
        if spans and spans[-1][0] == kind and number == spans[-1][1][1] + 1:
            spans[-1][1][1] = number
        else:
            spans.append((kind, [number, number]))
    if len(spans) > MOST_SPANS:
        return f"{len(paths)} cohorts"
    return ", ".join(_span_text(kind, first, last) for kind, (first, last) in spans)


def _span_text(kind: str, first: int, last: int) -> str:
    if first == last:
        return f"{kind}{first}"
    return f"{kind}{first}{', ' if last == first + 1 else ' to '}{kind}{last}"
