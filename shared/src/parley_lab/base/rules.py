"""Show-if rules: conditions on earlier answers. Pure; surveys, prompts and transfers share them.

A comparison with a missing answer is false for every operator; a group without rules is true.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag

Operator = Literal[
    "equals",
    "not_equals",
    "greater_than",
    "greater_than_or_equal",
    "less_than",
    "less_than_or_equal",
    "contains",
    "not_contains",
]
PageAnswer = Mapping[str, Any]
"""The answers given on one page, by question."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Comparison(_Part):
    """One answer compared with a value."""

    stage: str | None = None
    """The stage that asked; left out: this stage."""
    question: str
    """The id of the question."""
    operator: Operator = "equals"
    """`equals` tells 5 from "5"; the orderings read numbers from texts; `contains` looks for one text in another."""
    value: JsonValue


class AllOf(_Part):
    """True when every one of the rules is."""

    all: tuple["Rule", ...]


class AnyOf(_Part):
    """True when one of the rules is, or when there are none."""

    any: tuple["Rule", ...]


def _shape(value: object) -> str:
    keys = value if isinstance(value, Mapping) else getattr(value, "__dict__", {})
    return "<all>" if "all" in keys else "<any>" if "any" in keys else "<comparison>"


Rule = Annotated[
    Annotated[AllOf, Tag("<all>")] | Annotated[AnyOf, Tag("<any>")] | Annotated[Comparison, Tag("<comparison>")],
    Discriminator(_shape),
    Field(description="A comparison with an earlier answer, or `all` or `any` of several rules."),
]

AllOf.model_rebuild()
AnyOf.model_rebuild()

_MISSING: Final = object()


def holds(rule: AllOf | AnyOf | Comparison, pages: Mapping[str, PageAnswer], here: str) -> bool:
    """Whether `rule` holds for the answers in `pages` (by stage id); `here` is the stage of the rule."""
    if isinstance(rule, AllOf):
        return all(holds(part, pages, here) for part in rule.all)
    if isinstance(rule, AnyOf):
        return not rule.any or any(holds(part, pages, here) for part in rule.any)
    return _compare(rule, pages.get(rule.stage or here, {}).get(rule.question, _MISSING))


def is_out_of_reach(rule: AllOf | AnyOf | Comparison, pages: Mapping[str, PageAnswer], here: str) -> bool:
    """Whether the answers of earlier stages make `rule` false, whatever will be answered in `here`."""
    return _so_far(rule, pages, here) is False


def remaining(rule: AllOf | AnyOf | Comparison, pages: Mapping[str, PageAnswer], here: str) -> Rule | None:
    """The rest of `rule` that the answers in `here` decide, given those of earlier stages; None: it is true.

    Only for a rule that is not out of reach.
    """
    if _so_far(rule, pages, here) is True:
        return None
    if isinstance(rule, Comparison):
        return rule.model_copy(update={"stage": None})
    parts = rule.all if isinstance(rule, AllOf) else rule.any
    undecided = (remaining(part, pages, here) for part in parts if _so_far(part, pages, here) is None)
    left = tuple(part for part in undecided if part is not None)
    return AllOf(all=left) if isinstance(rule, AllOf) else AnyOf(any=left)


def comparisons(rule: AllOf | AnyOf | Comparison, where: str = "") -> Iterator[tuple[str, Comparison]]:
    """Every comparison in `rule`, with its place in it."""
    if isinstance(rule, Comparison):
        yield where, rule
        return
    name, parts = ("all", rule.all) if isinstance(rule, AllOf) else ("any", rule.any)
    for index, part in enumerate(parts):
        yield from comparisons(part, f"{where}.{name}[{index}]")


def in_words(rule: AllOf | AnyOf | Comparison) -> str:
    """The rule as part of an English sentence."""
    if isinstance(rule, Comparison):
        asked = rule.question if rule.stage is None else f"{rule.stage}.{rule.question}"
        return f"{asked} {rule.operator.replace('_', ' ')} {json.dumps(rule.value, ensure_ascii=False)}"
    word, parts = (" and ", rule.all) if isinstance(rule, AllOf) else (" or ", rule.any)
    return "(" + word.join(in_words(part) for part in parts) + ")" if parts else "always"


def _so_far(rule: AllOf | AnyOf | Comparison, pages: Mapping[str, PageAnswer], here: str) -> bool | None:
    if isinstance(rule, Comparison):
        return None if (rule.stage or here) == here else holds(rule, pages, here)
    decisive = isinstance(rule, AnyOf)
    parts = [_so_far(part, pages, here) for part in (rule.any if isinstance(rule, AnyOf) else rule.all)]
    if not parts:
        return True
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def _compare(rule: Comparison, answer: object) -> bool:
    if answer is _MISSING or answer is None:
        return False
    return _OPERATORS[rule.operator](answer, rule.value)


def _equals(left: object, right: object) -> bool:
    """JSON knows one kind of number, but true is not 1 and "5" is not 5."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_equals, left, right))
    return left == right


def as_number(value: object) -> float | None:
    """The value as the orderings read it; None: they are all false."""
    if not isinstance(value, bool | int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _ordering(compare: Callable[[float, float], bool]) -> Callable[[object, object], bool]:
    def ordered(left: object, right: object) -> bool:
        one, other = as_number(left), as_number(right)
        return one is not None and other is not None and compare(one, other)

    return ordered


def as_text(value: object) -> str:
    """The value as `contains` reads it."""
    if isinstance(value, list | tuple):
        return ",".join(as_text(part) for part in value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _contains(left: object, right: object) -> bool:
    return as_text(right) in as_text(left)


_OPERATORS: Final[Mapping[str, Callable[[object, object], bool]]] = {
    "equals": _equals,
    "not_equals": lambda left, right: not _equals(left, right),
    "greater_than": _ordering(lambda left, right: left > right),
    "greater_than_or_equal": _ordering(lambda left, right: left >= right),
    "less_than": _ordering(lambda left, right: left < right),
    "less_than_or_equal": _ordering(lambda left, right: left <= right),
    "contains": _contains,
    "not_contains": lambda left, right: not _contains(left, right),
}
