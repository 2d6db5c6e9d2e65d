"""Show-if rules: conditions on earlier answers and on what else is known of a reader. Pure.

A comparison with a missing answer is false for every operator; a group without rules is true. What is known beside
answers (variables, arms, roles, scores) is written into the comparisons of a reader's stage as `given`, as values are
filled into its texts: pages and kinds evaluate answers alone.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

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


def is_none(value: object) -> bool:
    """For fields that are written only where the file has them."""
    return value is None


def is_empty(value: object) -> bool:
    """The same for lists and objects."""
    return not value


Subject = Annotated[str | None, Field(exclude_if=is_none)]
SUBJECTS: Final = ("question", "variable", "treatment", "factor", "role", "score", "row")
ORDERINGS: Final = ("greater_than", "greater_than_or_equal", "less_than", "less_than_or_equal")
_OWN_VALUE: Final = ("treatment", "role")
"""The subjects that name their value: the rule is true for a reader who has this arm, or this role."""


def _without_value(schema: dict[str, Any]) -> None:
    """An arm and a role are their own value, so none of the fields is needed in all comparisons."""
    schema.pop("required", None)


class Comparison(_Part):
    """What is known of a participant, compared with a value: an answer, or one of `variable`, `treatment`, `factor`,
    `role`, `score` and `row` in the place of `question`."""

    model_config = ConfigDict(json_schema_extra=_without_value)

    stage: str | None = None
    """The stage that asked; left out: this stage."""
    question: Subject = None
    """The id of the question."""
    variable: Subject = None
    """The name of a variable, as in `{{name}}`."""
    treatment: Subject = None
    """The id of an arm: true for the participants who have it. It needs no `value`."""
    factor: Subject = None
    """The name of a factor, whose level is compared."""
    role: Subject = None
    """The id of a role that an earlier stage gives: true for those who have it. It needs no `value`."""
    score: Subject = None
    """The id of an earlier stage: the number of right answers that the participant gave there."""
    row: Subject = None
    """A column of the row that the question is about."""
    operator: Operator = "equals"
    """`equals` tells 5 from "5"; the orderings read numbers from texts; `contains` looks for one text in another."""
    value: JsonValue
    given: SkipJsonSchema[Annotated[JsonValue, Field(exclude_if=is_none)]] = None
    """What the reader has, once it is known. The lab fills it in."""

    @model_validator(mode="before")
    @classmethod
    def _with_value(cls, fields: Any) -> Any:
        if isinstance(fields, Mapping) and fields.get("value") is None:
            named = next((fields[name] for name in _OWN_VALUE if fields.get(name) is not None), None)
            return fields if named is None else {**fields, "value": named}
        is_of_level = isinstance(fields, Mapping) and fields.get("factor") is not None
        if is_of_level and fields.get("operator") not in ORDERINGS:
            return {**fields, "value": as_level(fields["value"])}
        return fields

    @model_validator(mode="after")
    def _has_one_subject(self) -> Self:
        found = [name for name in SUBJECTS if getattr(self, name) is not None]
        if len(found) != 1:
            raise PydanticCustomError("one_subject", "one of question, variable, treatment, factor, role, score, row")
        if found[0] in _OWN_VALUE and (self.value != self.name or self.operator not in ("equals", "not_equals")):
            raise PydanticCustomError(
                "own_value", "`equals` or `not_equals`, and no `value`: an arm or a role is its own"
            )
        return self

    @property
    def subject(self) -> str:
        """The word before what is compared: `question`, `variable` and so on."""
        return next(name for name in SUBJECTS if getattr(self, name) is not None)

    @property
    def name(self) -> str:
        """The name of what is compared."""
        return str(getattr(self, self.subject))

    @property
    def is_of_answer(self) -> bool:
        """Whether it is decided by the answers of pages; False: by `given`."""
        return self.question is not None and self.given is None


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
    if rule.is_of_answer:
        return _compare(rule, pages.get(rule.stage or here, {}).get(rule.name, _MISSING))
    return _compare(rule, rule.given)


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


def applies(rule: Rule | None) -> bool:
    """Whether what has this rule is there for a reader whose knowledge is filled in; no rule: always."""
    return rule is None or holds(rule, {}, "")


def decided(rule: AllOf | AnyOf | Comparison, known: Callable[[Comparison], JsonValue]) -> bool | None:
    """Whether `rule` holds by what is known; None: that depends on what is not.

    known: what a comparison compares; None where it is not known yet.
    """
    if isinstance(rule, Comparison):
        found = known(rule)
        return None if found is None else _compare(rule, found)
    return _together(rule, [decided(part, known) for part in (rule.any if isinstance(rule, AnyOf) else rule.all)])


def with_given(rule: AllOf | AnyOf | Comparison, known: Callable[[Comparison], JsonValue]) -> Rule:
    """The rule with what is known in its comparisons."""

    def fill(one: Comparison) -> Comparison:
        found = known(one)
        return one if found is None else one.model_copy(update={"given": found})

    return with_each(rule, fill)


def with_each(
    rule: AllOf | AnyOf | Comparison, change: Callable[[Comparison], Comparison]
) -> AllOf | AnyOf | Comparison:
    """The rule with each of its comparisons changed."""
    if isinstance(rule, AllOf):
        return AllOf(all=tuple(with_each(part, change) for part in rule.all))
    if isinstance(rule, AnyOf):
        return AnyOf(any=tuple(with_each(part, change) for part in rule.any))
    return change(rule)


def in_words(rule: AllOf | AnyOf | Comparison) -> str:
    """The rule as part of an English sentence."""
    if isinstance(rule, Comparison):
        asked = rule.name if rule.stage is None else f"{rule.stage}.{rule.name}"
        asked = asked if rule.subject == "question" else f"the {rule.subject} {asked}"
        return f"{asked} {rule.operator.replace('_', ' ')} {json.dumps(rule.value, ensure_ascii=False)}"
    word, parts = (" and ", rule.all) if isinstance(rule, AllOf) else (" or ", rule.any)
    return "(" + word.join(in_words(part) for part in parts) + ")" if parts else "always"


def _so_far(rule: AllOf | AnyOf | Comparison, pages: Mapping[str, PageAnswer], here: str) -> bool | None:
    if isinstance(rule, Comparison):
        return None if rule.is_of_answer and (rule.stage or here) == here else holds(rule, pages, here)
    return _together(rule, [_so_far(part, pages, here) for part in (rule.any if isinstance(rule, AnyOf) else rule.all)])


def _together(rule: AllOf | AnyOf, parts: Sequence[bool | None]) -> bool | None:
    decisive = isinstance(rule, AnyOf)
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


def as_level(value: JsonValue) -> JsonValue:
    """A number as the name of a level in the data, where 2.5 is `2-5`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).replace(".", "-") if isinstance(value, int | float) else value


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
