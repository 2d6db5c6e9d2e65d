"""Bounds of numbers that are answers to other questions: as the file writes them, and whether they leave an answer."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from parley_lab.base import rules
from parley_lab.base.errors import Problem
from parley_lab.base.numbers import write_number
from parley_lab.kinds.questions.numeric_questions import NumberQuestion, NumericQuestion
from parley_lab.kinds.questions.questions import BaseQuestion, Number
from parley_lab.kinds.questions.totals import AnsweredBound

Json = Any
Known = Mapping[str, Mapping[str, BaseQuestion]]
"""Questions by stage and id."""
Bound = Number | AnsweredBound
_BOUNDS = ("minimum", "maximum")


def on_the_page(fields: Json) -> Json:
    """The fields of a stage, whose bounds name no stage where they name this one."""
    if not isinstance(fields, Mapping) or not isinstance(fields.get("questions"), list | tuple):
        return fields
    return {**fields, "questions": [_on_the_page(one, fields.get("id")) for one in fields["questions"]]}


def _on_the_page(question: Json, here: Json) -> Json:
    if not isinstance(question, Mapping):
        return question
    own = {
        name: {key: part for key, part in bound.items() if key != "stage"}
        for name in _BOUNDS
        if isinstance(bound := question.get(name), Mapping) and here is not None and bound.get("stage") == here
    }
    return {**question, **own} if own else question


def impossible_bounds(question: NumberQuestion, where: str, known: Known, here: str) -> Iterator[Problem]:
    """Bounds by answers that can leave no answer to a question that needs one: its participants could not go on.

    The questions of all bounds are `known`. A rule that reads such an answer may be there to prevent that.
    """
    low, high, bounds = question.minimum, question.maximum, question.answered_bounds
    if low is None or high is None or not bounds or question.may_be_empty or _is_ruled(question, here):
        return
    name = next(iter(bounds))
    said = bounds[name].in_words()
    other = "maximum" if name == "minimum" else "minimum"
    expected = f"an answer for which the {other} leaves room; or `required: false`, or a `show_if` over that answer"
    if _are_in_order(low, high, known, here):
        if question.integer and not _is_whole(low, known, here) and not _is_whole(high, known, here):
            yield Problem(f"{where}.{name}", f"{said}, which can be no whole number", expected)
        return
    least, most = _extreme(high, "minimum", known, here), _extreme(low, "maximum", known, here)
    if least is None or most is None or least < most:
        end = most if name == "minimum" else least
        found = f"{said}, which can be {'any' if end is None else write_number(end)}"
        yield Problem(f"{where}.{name}", found, expected)


def _is_ruled(question: NumberQuestion, here: str) -> bool:
    read = () if question.show_if is None else (one for _, one in rules.comparisons(question.show_if))
    bounds = {_place(one, here) for one in question.answered_bounds.values()}
    return any((one.stage or here, one.question) in bounds for one in read)


def _place(bound: AnsweredBound, here: str) -> tuple[str, str]:
    return bound.stage or here, bound.question


def _find_asked(bound: Bound, known: Known, here: str) -> BaseQuestion | None:
    return known.get(bound.stage or here, {}).get(bound.question) if isinstance(bound, AnsweredBound) else None


def _are_in_order(low: Bound, high: Bound, known: Known, here: str) -> bool:
    """Whether `low` is at most `high` because both are one answer, or one of the two answers bounds the other."""
    if not isinstance(low, AnsweredBound) or not isinstance(high, AnsweredBound):
        return False
    of_high = _find_bound(high, "minimum", known, here)
    of_low = _find_bound(low, "maximum", known, here)
    return _place(low, here) in (_place(high, here), of_high) or _place(high, here) == of_low


def _find_bound(bound: AnsweredBound, name: str, known: Known, here: str) -> tuple[str, str] | None:
    """The place of the answer that bounds the one that `bound` names."""
    asked = _find_asked(bound, known, here)
    own = asked.answered_bounds.get(name) if isinstance(asked, NumberQuestion) else None
    return None if own is None else _place(own, bound.stage or here)


def _is_whole(bound: Bound, known: Known, here: str) -> bool:
    asked = _find_asked(bound, known, here)
    return isinstance(asked, NumericQuestion) and asked.give_range().is_whole


def _extreme(bound: Bound, name: str, known: Known, here: str) -> Fraction | None:
    """The largest number that the bound can be, by its `maximum`, or the smallest; None: there is none."""
    seen: set[tuple[str, str]] = set()
    while isinstance(bound, AnsweredBound):
        asked, place = _find_asked(bound, known, here), _place(bound, here)
        if not isinstance(asked, NumericQuestion) or place in seen:
            return None
        if seen and (asked.may_be_empty or asked.show_if is not None):
            # An answer that may be missing bounds nothing.
            return None
        seen.add(place)
        here = bound.stage or here
        own = asked.answered_bounds.get(name) if isinstance(asked, NumberQuestion) else None
        if own is None:
            whole = asked.give_range()
            return whole.most if name == "maximum" else whole.least
        bound = own
    return Fraction(str(bound))
