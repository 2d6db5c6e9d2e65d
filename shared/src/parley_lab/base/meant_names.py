"""Problems with names: one that is not known, with its likely meaning, and a field that is missing. Pure.

A name is a misspelling, or another word for the same. Other words are looked up among the names that are known in the
place; what is known there is no matter of this table.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from parley_lab.base.errors import MISSING_FIELD, REPEATED_ID, UNKNOWN_FIELD, UNKNOWN_NAME, Problem

_MOST_NAMES: Final = 40
_MOST_KINDS: Final = 5
_SHORTEST_BEGINNING: Final = 3
_SHORTEST_HELD: Final = 4
"""A known name of so many letters inside another one may be meant: `integer` in `is_integer`."""
_CLOSE: Final = 0.6
_SURE: Final = 0.75
"""Similarities from 0 to 1. `dosis` and `dose` have 0.67; so have `kind` and `id`, which differ at the beginning."""
_OTHER_WORDS: Final[Mapping[str, Sequence[str]]] = {
    # Stages
    "consent": ("terms_of_service",),
    "informed_consent": ("terms_of_service",),
    "terms": ("terms_of_service",),
    "instructions": ("info",),
    "instruction": ("info",),
    "page": ("info", "survey"),
    "questionnaire": ("survey",),
    "form": ("survey",),
    "quiz": ("comprehension",),
    "comprehension_check": ("comprehension",),
    "chat": ("group_chat", "private_chat"),
    "discussion": ("group_chat",),
    "deliberation": ("group_chat",),
    "interview": ("group_interview", "private_chat"),
    "focus_group": ("group_interview",),
    "public_goods": ("group_interview",),
    "public_goods_game": ("group_interview",),
    "prisoners_dilemma": ("matrix_game",),
    "guessing_game": ("beauty_contest",),
    "p_beauty": ("beauty_contest",),
    "vote": ("ranking",),
    "election": ("ranking",),
    "payment": ("payout",),
    "feedback": ("reveal",),
    # Questions
    "likert": ("scale", "grid"),
    "slider": ("scale", "number"),
    "rating": ("scale",),
    "matrix": ("grid",),
    "radio": ("choice",),
    "select": ("choice",),
    "dropdown": ("choice",),
    "single_choice": ("choice",),
    "multiple_choice": ("choice", "choices"),
    "checkboxes": ("choices",),
    "multi_select": ("choices",),
    "checkbox": ("check", "choices"),
    "yes_no": ("check",),
    "boolean": ("check",),
    "bool": ("check",),
    "open": ("text",),
    "open_ended": ("text",),
    "textarea": ("text",),
    "free_text": ("text",),
    "integer": ("number",),
    "int": ("number",),
    "float": ("number",),
    "numeric": ("number",),
    "attention_check": ("choice", "attention_checks"),
    "attention": ("choice", "attention_checks"),
    # Fields
    "question": ("title",),
    "label": ("title", "text"),
    "prompt": ("title", "prompts"),
    "type": ("kind",),
    "answers": ("options",),
    "items": ("options", "rows"),
    "min": ("lower",),
    "max": ("upper",),
    "minimum": ("lower",),
    "maximum": ("upper",),
    "equals": ("value",),
    "answer": ("correct", "value"),
    "required": ("optional",),
    "body": ("lines",),
    "content": ("lines",),
    "text": ("lines", "title"),
    "agents": ("personas",),
    "groups": ("cohorts",),
    "conditions": ("treatments",),
    "arms": ("treatments",),
}


def one_of(name: str, known: Iterable[str], what: str) -> str:
    """The known names, and the likely meaning of an unknown `name`."""
    names = list(known)
    if not names:
        return f"no {what}: there is none"
    listed = f"one of {', '.join(names)}" if len(names) <= 20 else f"the name of a known {what}"
    meant = meant_by(name, names)
    return f"{' or '.join(meant)} (did you mean that?), or another {what}" if meant else listed


def unknown(where: str, name: str, known: Iterable[str], what: str, *, if_none: str = "") -> Problem:
    """The name of something that there is not, with the likely meaning, or else all names.

    if_none: what is expected where no name is known.
    """
    names = list(known)
    if if_none and not names:
        return Problem(where, repr(name), if_none)
    hint = what_is_known(name, names, what)
    return Problem(where, repr(name), one_of(name, names, what), f"{_no(what)} {name!r}", hint, code=UNKNOWN_NAME)


def is_unknown(problem: Problem, what: str) -> bool:
    """Whether the problem is that there is no `what` with the name."""
    return problem.code == UNKNOWN_NAME and problem.wrong.startswith(_no(what))


def _no(what: str) -> str:
    return f"there is no {what} called"


def or_later(problem: Problem, later: Iterable[str], what: str) -> Problem:
    """The problem of an unknown name, which says so if the name comes `later`; every other problem as it is."""
    if problem.code != UNKNOWN_NAME or problem.found not in map(repr, later):
        return problem
    hint = f"Move it up, or name {problem.expected}."
    return replace(problem, wrong=f"the {what} {problem.found} comes later", hint=hint)


def unknown_field(where: str, known: Iterable[str], *, of_others: Sequence[str] = ()) -> Problem:
    """A field that there is not; of_others: the kinds that have it."""
    name, names = where.rpartition(".")[2], list(known)
    hint = what_is_known(name, names, "field")
    if of_others and not meant_by(name, names):
        hint = f"It is a field of {_kinds(of_others)}. {hint}"
    expected = one_of(name, names, "field")
    return Problem(where, "an unknown field", expected, f"there is no field {name}", hint, code=UNKNOWN_FIELD)


def missing_field(where: str, added: str, *, written: str | None = None) -> Problem:
    """A field that has to be there. added: what to type for it, in words; written: an example of it."""
    name = where.rpartition(".")[2]
    expected, hint = f"this field: `{name}: {written or added}`", f"Add {name}: {added}."
    return Problem(where, "nothing", expected, f"{name} is missing", hint, code=MISSING_FIELD)


def repeated_id(where: str, name: str, what: str) -> Problem:
    """The id of something that another one in the list has."""
    expected = f"an id of its own for every {what}"
    wrong = f"the id {name!r} is there already"
    return Problem(where, f"{name!r} again", expected, wrong, f"Write {expected}.", code=REPEATED_ID)


def what_is_known(name: str, known: Iterable[str], what: str) -> str:
    """The sentence after one that says that there is no such name: its likely meaning, or else the names."""
    names = list(known)
    if meant := meant_by(name, names):
        return f"Did you mean {' or '.join(meant)}?"
    if not names:
        return f"No {what} is known here."
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"Known here: {', '.join(names[:_MOST_NAMES])}{more}."


def _kinds(kinds: Sequence[str]) -> str:
    more = f" and {len(kinds) - _MOST_KINDS} more" if len(kinds) > _MOST_KINDS else ""
    return f"the kind{'s' if len(kinds) > 1 else ''} {', '.join(kinds[:_MOST_KINDS])}{more}"


def meant_by(name: str, known: Iterable[str]) -> list[str]:
    """The names, of those that are known, that this one is likely meant to be: one that is misspelt, or several that
    may go by it as another word."""
    names = [one for one in known if one != name]
    plain = name.casefold().replace("-", "_").replace(" ", "_").replace("'", "")
    if same := [one for one in names if one.casefold().replace("-", "_") == plain]:
        return same[:1]
    if other := [one for one in _OTHER_WORDS.get(plain, ()) if one in names]:
        return other
    begun = [one for one in names if len(name) >= _SHORTEST_BEGINNING and one.startswith(name)]
    swapped = [one for one in names if is_swapped(name, one)]
    held = [one for one in names if len(one) >= _SHORTEST_HELD and one in plain]
    return (begun or swapped or _close(plain, names) or held)[:1]


def _close(name: str, known: Sequence[str]) -> list[str]:
    """The names that are spelt nearly alike in any case, the nearest first. Slips are rare in a first letter."""
    folded = {one.casefold(): one for one in reversed(known)}
    close = difflib.get_close_matches(name, folded, n=3, cutoff=_CLOSE)
    return [
        folded[one] for one in close if one[:1] == name[:1] or difflib.SequenceMatcher(None, one, name).ratio() >= _SURE
    ]


def is_swapped(one: str, other: str) -> bool:
    """Whether two neighbouring letters have changed places, as in `bne` for `ben`."""
    if len(one) != len(other):
        return False
    places = [index for index, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]
    return (
        len(places) == 2
        and places[1] == places[0] + 1
        and (one[places[0]], one[places[1]]) == (other[places[1]], other[places[0]])
    )
