"""Rules over what is known of a reader, in the fields of stages: where they are, what they name, and what decides them.
Pure.

An arm decides what it knows when it is resolved; the rest is filled in for a reader, as values are into texts. Rules of
questions over answers stay as they are: pages and prompts decide them while the page is filled in.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from parley_lab.base import variables as texts
from parley_lab.base.rules import AllOf, AnyOf, Comparison, Rule, comparisons, decided, with_given

Json = Any
Known = Callable[[Comparison], Json]
"""What a comparison compares; None where it is not known."""
FIELD: Final = "show_if"
_OF_PAGE: Final = "questions"
_OF_ROWS: Final = (_OF_PAGE, "tasks")
"""The fields of stages whose parts may be asked about rows, and have rules over their columns."""
_RULE: Final[TypeAdapter[AllOf | AnyOf | Comparison]] = TypeAdapter(Rule)


def key_of(comparison: Comparison) -> str:
    """The name of a value that a reader has; no text can name it."""
    return f"{comparison.subject}:{comparison.stage or ''}.{comparison.name}"


def compared(fields: Json, where: str = "") -> Iterator[tuple[str, Comparison]]:
    """Every comparison in rules of these fields, with its place; without those of questions over answers, and those
    over rows where these may be."""
    for place, rule, asked in _rules(fields, where, ""):
        for at, one in comparisons(rule, place):
            if not (asked == _OF_PAGE and one.question is not None) and not (asked and one.row is not None):
                yield at, one


def given_in_file(fields: Json, where: str = "") -> Iterator[str]:
    """The places of comparisons that say themselves what a reader has."""
    for place, rule, _ in _rules(fields, where, ""):
        yield from (at for at, one in comparisons(rule, place) if one.given is not None)


def filled(fields: Json, known: Known) -> Json:
    """The fields with what is known in their rules."""
    return _filled(fields, known, is_of_page=False)


def is_there(fields: Mapping[str, Json], known: Known) -> bool | None:
    """Whether what is known makes the rule of the stage with these fields true, or false; None: neither."""
    rule = _read(fields.get(FIELD))
    return True if rule is None else decided(rule, known)


def without_rule(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: part for name, part in fields.items() if name != FIELD}


def known_of_arm(
    treatment: str | None, levels: Mapping[str, str], variables: Mapping[str, Json], *, has_others: bool
) -> Known:
    """What an arm knows. has_others: the file has arms, and this is what they share."""

    def known(comparison: Comparison) -> Json:
        match comparison.subject:
            case "variable":
                return texts.value_of(comparison.name, variables)
            case "treatment":
                return treatment or (None if has_others else "")
            case "factor":
                return levels.get(comparison.name, None if has_others else "")
            case _:
                return None

    return known


def _rules(fields: Json, where: str, asked: str) -> Iterator[tuple[str, AllOf | AnyOf | Comparison, str]]:
    """Each rule with its place and the name of what is asked that it is in: one of _OF_ROWS, or nothing."""
    if isinstance(fields, Mapping):
        for name, part in fields.items():
            place = f"{where}.{name}" if where else str(name)
            if name != FIELD:
                yield from _rules(part, place, asked or (name if name in _OF_ROWS else ""))
            elif (rule := _read(part)) is not None:
                yield place, rule, asked
    elif isinstance(fields, list | tuple):
        for index, part in enumerate(fields):
            yield from _rules(part, f"{where}[{index}]", asked)


def _filled(fields: Json, known: Known, *, is_of_page: bool) -> Json:
    if isinstance(fields, list | tuple):
        return [_filled(part, known, is_of_page=is_of_page) for part in fields]
    if not isinstance(fields, Mapping):
        return fields

    def of_this(comparison: Comparison) -> Json:
        return None if is_of_page and comparison.question is not None else known(comparison)

    found = {
        name: _filled(part, known, is_of_page=is_of_page or name == _OF_PAGE)
        for name, part in fields.items()
        if name != FIELD
    }
    if FIELD in fields:
        rule = _read(fields[FIELD])
        found[FIELD] = fields[FIELD] if rule is None else with_given(rule, of_this).model_dump(mode="json")
    return found


def _read(written: Json) -> AllOf | AnyOf | Comparison | None:
    """The rule; None where there is none, or one that is reported elsewhere."""
    if not isinstance(written, Mapping):
        return None
    try:
        return _RULE.validate_python(written)
    except ValidationError:
        return None
