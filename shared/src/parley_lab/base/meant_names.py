"""What a name that is not known was likely meant to be: a misspelling, or another word for the same. Pure.

Other words are looked up among the names that are known in the place; what is known there is no matter of this table.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_SHORTEST_BEGINNING: Final = 3
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
    return (begun or swapped or difflib.get_close_matches(name, names, n=1))[:1]


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
