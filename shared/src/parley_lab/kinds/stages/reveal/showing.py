"""What a reader is shown of earlier stages, in words: the same lines for pages and prompts. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from parley_lab.base.numbers import write_number
from parley_lab.base.rules import applies
from parley_lab.kinds import Column, Json, Label, OwnView
from parley_lab.kinds.names import as_shown
from parley_lab.kinds.reads import Part, StageRead
from parley_lab.kinds.stages.reveal.config import Revealed, RevealStage

_LEFT: Final = Label("somebody who has left", "somebody_who_has_left")
_YES: Final = Label("yes", "yes")
_NO: Final = Label("no", "no")
_ENDS: Final = {
    "over": Label("over", "ended_over"),
    "failed": Label("failed", "ended_failed"),
    "abandoned": Label("abandoned", "ended_abandoned"),
}
"""How a game ended, in its data."""
_HOW_IT_ENDED: Final = "how_it_ended"


@dataclass(frozen=True, slots=True)
class Line:
    """Label and value; what the lab says itself is a `Label`, with a code."""

    label: str
    value: str
    is_correct: bool | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """What one member has answered; of the reader, `name` is None."""

    name: str | None
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    title: str
    show: Literal["answers", "scored", "result"]
    answers: tuple[Answers, ...] = ()
    result: tuple[Line, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.result and not any(one.lines for one in self.answers)


def shown(stage: RevealStage, view: OwnView) -> list[Shown]:
    """What is revealed to the reader, as far as it is known."""
    items = (item for item in stage.items if item.stage in view.reads and applies(item.show_if))
    return [_shown(item, view.reads[item.stage], view) for item in items]


def _shown(item: Revealed, read: StageRead, view: OwnView) -> Shown:
    names = {str(one.id): as_shown(one.name) for one in view.members}
    if item.show == "result":
        return Shown(read.title, item.show, result=tuple(_cells(item, read.group_columns, read.group, names)))
    own = Answers(None, () if read.own is None else tuple(_lines(item, read, read.own, names)))
    others = [
        Answers(names[str(one.id)], tuple(_lines(item, read, read.members[one.id], names)))
        for one in view.members
        if item.audience == "all" and one.id != view.me.id and one.id in read.members
    ]
    return Shown(read.title, item.show, answers=(own, *others))


def _lines(item: Revealed, read: StageRead, part: Part, names: Mapping[str, str]) -> Iterator[Line]:
    if item.show == "answers":
        yield from _cells(item, read.columns, part.cells, names, part)
        return
    for one in part.answered:
        if one.is_correct is not None and (not item.columns or one.field in item.columns):
            yield Line(one.label, one.text or _in_words(one.value, "text", names), one.is_correct)


def _cells(
    item: Revealed,
    columns: Sequence[Column],
    cells: Mapping[str, Json],
    names: Mapping[str, str],
    part: Part | None = None,
) -> Iterator[Line]:
    for column in columns:
        is_wanted = column.name in item.columns if item.columns else not column.derived
        if is_wanted and column.name in cells:
            line = None if part is None else part.line(column.name)
            told = cells.get(f"{column.name}.text") if line is None else line.text
            value = cells[column.name]
            if isinstance(column.label, Label) and column.label.code == _HOW_IT_ENDED:
                told = _ENDS.get(str(value))
            yield Line(column.label, told or _in_words(value, column.type, names))


def _in_words(value: Json, kind: str, names: Mapping[str, str]) -> str:
    if kind == "member":
        return names.get(str(value), _LEFT)
    if isinstance(value, bool):
        return _YES if value else _NO
    return write_number(value) if isinstance(value, float) else str(value)


def paragraphs(stage: RevealStage, view: OwnView) -> list[str]:
    """The same as a prompt tells it."""
    return ["\n".join(_told(one)) for one in shown(stage, view)]


def _told(one: Shown) -> Iterator[str]:
    yield f"{one.title}:"
    if one.is_empty:
        yield "Nothing is known of it."
    yield from map(_line, one.result)
    for answers in one.answers:
        if len(one.answers) > 1:
            yield "You:" if answers.name is None else f"{answers.name}:"
        yield from map(_line, answers.lines)


def _line(line: Line) -> str:
    mark = "" if line.is_correct is None else " (right)" if line.is_correct else " (wrong)"
    # A member's text stays on one line.
    return f"- {line.label}: {' '.join(line.value.split())}{mark}"
