"""Draws the rows of one participant: which of them, in which order, and with which levels. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, Protocol, TypeVar

from parley_lab.base import seeds
from parley_lab.base import variables as texts
from parley_lab.base.latin import order_at
from parley_lab.kinds import Json, Member
from parley_lab.kinds.questions.asked_of_rows import AskedOfRows
from parley_lab.kinds.questions.profiles import Task, drawn_profiles
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.questions.rows import Order, Rows, as_item
from parley_lab.kinds.view import first_seat

T = TypeVar("T")
StageT = TypeVar("StageT", bound=AskedOfRows)
_NUMBERS: Final = re.compile(r"[0-9]+")
CHANCE: Final = "chance"
"""A draw for the cohort; what is drawn for a participant follows from it and the seat."""


class Drawn(Protocol):
    """The part of a member's view from which the drawn rows follow."""

    @property
    def me(self) -> Member: ...

    @property
    def draws(self) -> Mapping[str, Json]: ...


def chance_of(view: Drawn) -> tuple[int, str]:
    """The seed of the cohort, and the reader's seat."""
    return int(view.draws[CHANCE]), view.me.path.rpartition("/")[2]


def number_of(view: Drawn) -> int:
    """The number by which the reader has the next order of a Latin square, from 0: that of the cohort and of the seat.

    So seats of one cohort, and equal seats of cohorts, have one order after the other. A person who gets a seat again
    has the order of the seat.
    """
    return sum(int(digits) - 1 for digits in _NUMBERS.findall(first_seat(view.me.path)))


def arrange(things: Sequence[T], order: Order, number: int, rng: Random) -> list[T]:
    """The things in an order: drawn by `rng`, or the one with this number of the Latin square."""
    if order == "latin":
        return [things[place] for place in order_at(len(things), number)]
    return rng.sample(things, len(things))


def asked_of(stage: StageT, view: Drawn) -> StageT:
    """The stage with the reader's rows alone, each with the questions and options in the file's order."""
    if stage.rows is None or not stage.is_drawn_of_rows or CHANCE not in view.draws:
        return stage
    if tasks := profiles_of(stage, view):
        return with_profiles(stage, tasks)
    seed, seat = chance_of(view)
    return with_rows(
        stage, drawn_rows(stage.rows, lambda name: seeds.rng(seed, f"{seat}/rows/{name}"), number_of(view))
    )


def with_profiles(stage: StageT, tasks: Sequence[Task]) -> StageT:
    """The stage with the questions of these tasks."""
    return stage.with_items([as_item(number, profiles) for number, profiles in enumerate(tasks, start=1)])


def profiles_of(stage: AskedOfRows, view: Drawn) -> list[Task]:
    """The profiles of the reader, task by task; none where they are not drawn."""
    if stage.rows is None or not stage.rows.attributes or CHANCE not in view.draws:
        return []
    seed, seat = chance_of(view)
    names, rng = list(stage.rows.attributes), seeds.rng(seed, f"{seat}/profiles")
    in_order = arrange(names, stage.rows.order, number_of(view), rng) if stage.rows.shuffle else names
    return drawn_profiles(stage.rows, in_order, rng)


def with_rows(stage: StageT, drawn: Mapping[str, Mapping[str, str]]) -> StageT:
    """The stage with the questions of these rows, in this order; `drawn` has the levels of each row by its id."""
    variants, rows = stage.variants, stage.rows
    assert rows is not None
    asked = (variants.get((row_id, rows.combined(levels)), ()) for row_id, levels in drawn.items())
    return stage.model_copy(update={"questions": tuple(one for questions in asked for one in questions)})


def row_id_of(question: BaseQuestion) -> str:
    """The row of the question; empty without one."""
    return "" if question.row is None else question.row.id


def drawn_rows(rows: Rows, rng_of: Callable[[str], Random], number: int = 0) -> dict[str, dict[str, str]]:
    """The rows by id, in their order, each with its levels.

    rng_of: the random stream of what is drawn: `take`, `order`, or the name of levels after a colon. number: that of
    the order in a Latin square.
    """
    taken = _taken(rows, rng_of("take"))
    if rows.shuffle:
        taken = arrange(taken, rows.order, number, rng_of("order"))
    levels = {name: _balanced(columns, len(taken), rng_of(f":{name}")) for name, columns in rows.levels.items()}
    return {row_id: {name: drawn[place] for name, drawn in levels.items()} for place, row_id in enumerate(taken)}


def _taken(rows: Rows, rng: Random) -> list[str]:
    """The drawn rows in the order of the file: of each value of `by` as many."""
    ids = rows.ids
    if rows.take is None:
        return list(ids)
    groups: dict[str, list[str]] = {}
    for row_id, item in zip(ids, rows.items, strict=True):
        groups.setdefault("" if rows.by is None else texts.as_text(item.get(rows.by)), []).append(row_id)
    each = rows.take // len(groups)
    drawn = {row_id for group in groups.values() for row_id in rng.sample(group, min(each, len(group)))}
    return [row_id for row_id in ids if row_id in drawn]


def _balanced(levels: Sequence[str], count: int, rng: Random) -> list[str]:
    """Each level as often, in any order; which of them are there once more, chance says."""
    rounds, rest = divmod(count, len(levels))
    drawn = [*levels] * rounds + rng.sample(list(levels), rest)
    rng.shuffle(drawn)
    return drawn
