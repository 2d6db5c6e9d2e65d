"""Reads the action in a text, by steps: from the requested format down to a word in a sentence.

The first step that finds an action decides. Two different actions on a step are ambiguous, none at all is invalid;
there is no default. Every step treats both labels alike: exchanging them in a text exchanges the result (a property
test checks it). A parser that prefers one label would bias the cooperation rate.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from parley_lab.base.replies import answer_after_labels, before_open_thought
from parley_lab.kinds.stages.matrix_game.payoffs import Action, Labels
from parley_lab.kinds.stages.matrix_game.sentences import WRAPPING, Named, Vocabulary

Method = Literal["json", "marker", "whole", "first", "mention"]
Reason = Literal["empty", "ambiguous", "none"]

LONGEST_TEXT: Final = 20_000
"""Longer texts are cut in the middle: an answer is at the end or at the beginning."""
_MOST_OBJECTS: Final = 50

_FENCE: Final = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.M)
_MARKDOWN: Final = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)|^[ \t]*[#>]+[ \t]*", re.M)
_FINAL: Final = re.compile(
    r"\\(?:boxed|fbox)\s*\{(?:\\text\s*\{)?(?P<boxed>[^{}]*)\}+"
    r"|<(?P<tag>(?:final_)?(?:answer|action|choice|move|decision)|response|result)>(?P<tagged>.*?)</(?P=tag)>",
    re.I | re.S,
)
"""An answer in a box or a tag of its own."""
_FIELDS: Final = ("action", "choice", "move", "decision", "answer")
_WRITTEN_ACTION: Final = re.compile(rf"\{{\s*[\"'\u201c]?(?:{'|'.join(_FIELDS)})[\"'\u201d]?\s*:", re.I)
_MARKER: Final = re.compile(
    r"^\W*(?:(?:so|therefore|thus|hence),?\s+)?(?:(?:my|the|our|meine|mein|mi|ma|mon|la|die)\s+)?"
    r"(?:(?P<final>final\s+(?:action|answer|choice|decision|move)|final)|action|answer|choice|decision|move|"
    r"antwort|wahl|aktion|zug|entscheidung|respuesta|elecci\u00f3n|acci\u00f3n|jugada|r\u00e9ponse|choix)"
    r"(?:\s+(?:for|in)\s+(?:this\s+round|round\s+\d+))?\s*(?:\b(?:is|ist|es|est)\b\s*:?|[:=]|->|→|-)(?P<rest>.*)$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The result: an action and the step that found it, or the reason why there is none."""

    action: Action | None
    method: Method | None = None
    reason: Reason | None = None


def parse(text: str | None, labels: Labels) -> Reading:
    """The action that `text` names with these labels. Never raises, and never guesses when in doubt."""
    cleaned = _normalised(text or "")
    if not cleaned.strip():
        return Reading(None, reason="empty")
    vocabulary = Vocabulary(labels)
    named = _from_json(cleaned, vocabulary)
    if named is not None:
        return _reading(named, "json")
    final = {_text_of_final(one).casefold() for one in _FINAL.finditer(cleaned)}
    if len(final) > 1:
        return Reading(None, reason="ambiguous")
    labelled = _FINAL.sub(lambda one: f"\nAnswer: {_text_of_final(one)}\n", cleaned)
    plain = _MARKDOWN.sub("", _FENCE.sub("", labelled))
    marked = _from_marker(plain, vocabulary)
    if marked is not None:
        return _reading(marked, "marker")
    if action := vocabulary.exact(plain.strip(WRAPPING)):
        return Reading(action, "whole")
    found, is_first = _from_sentences([*vocabulary.find(plain)])
    return _reading(found, "first" if is_first else "mention")


def _text_of_final(found: re.Match[str]) -> str:
    return str(found["boxed"] or found["tagged"] or "").strip()


def _reading(found: set[Action], method: Method) -> Reading:
    if len(found) > 1:
        return Reading(None, reason="ambiguous")
    return Reading(found.pop(), method) if found else Reading(None, reason="none")


def _normalised(text: str) -> str:
    """The text without invisible characters and a model's thoughts; a thought without an end hides the rest."""
    if len(text) > LONGEST_TEXT:
        text = f"{text[: LONGEST_TEXT // 2]}\n{text[-LONGEST_TEXT // 2 :]}"
    composed = unicodedata.normalize("NFKC", text)
    visible = "".join(one for one in composed if unicodedata.category(one) not in ("Cf", "Cs"))
    return answer_after_labels(before_open_thought(visible))


def _from_json(text: str, vocabulary: Vocabulary) -> set[Action] | None:
    """The actions in the fields of the last object that has such; None without one, so that the next step is tried.

    A field without a label is an unreadable answer: no later step may overrule it.
    """
    for found in reversed(_objects(text)):
        if found is None:
            return set()
        values = [value for name, value in _fields(found) if name.strip().casefold() in _FIELDS]
        if values:
            read = [
                _stated(_MARKDOWN.sub("", value), vocabulary) if isinstance(value, str) else set() for value in values
            ]
            return set().union(*read) if all(read) else set()
    return None


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as written: repeated names are kept."""


def _objects(text: str) -> list[_Pairs | None]:
    """The outermost JSON objects in `text`, in their order; None for one that gives an action and cannot be read."""
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    found: list[_Pairs | None] = []
    start = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            break
        end = start + 1
        try:
            value, end = decoder.raw_decode(text, start)
            found.append(value)
        except (ValueError, RecursionError):
            if _WRITTEN_ACTION.match(text, start):
                found.append(None)
        start = text.find("{", end)
    return found


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name and value of an object, nested ones included."""
    if isinstance(value, _Pairs):
        yield from value
    if isinstance(value, list):
        for part in value:
            yield from _fields(part[1] if isinstance(value, _Pairs) else part)


def _from_marker(text: str, vocabulary: Vocabulary) -> set[Action] | None:
    """The action after the last marker such as `ACTION:` or `Final answer:`, or on the line below it; both where what
    follows chooses the other one. None without a marker that has one."""
    lines = [line for line in text.splitlines() if line.strip()]
    for number in range(len(lines) - 1, -1, -1):
        if marked := _MARKER.match(lines[number]):
            is_below = not marked["rest"].strip(WRAPPING)
            rest = "".join(lines[number + 1 : number + 2]) if is_below else marked["rest"]
            found = _stated(rest, vocabulary)
            if found:
                later = vocabulary.find("\n".join(lines[number + 1 + is_below :]))
                return found | {one.action for one in later if one.weight != "mentioned"}
            if vocabulary.mentions_any(rest) or (rest and marked["final"]):
                return set()
    return None


def _stated(text: str, vocabulary: Vocabulary) -> set[Action]:
    """The action in a `text` where one is expected."""
    action = vocabulary.exact(text.strip(WRAPPING))
    return {action} if action else _from_sentences([*vocabulary.find(text)])[0]


def _from_sentences(named: Sequence[Named]) -> tuple[set[Action], bool]:
    """The action that sentences choose, and whether they begin with it; both actions where it is not plain which."""
    chosen = [one for one in named if one.weight != "mentioned"]
    actions = {one.action for one in chosen}
    mentioned = {one.action for one in named}
    if not chosen:
        return (mentioned if len(mentioned) > 1 else set()), False
    first = chosen[0]
    if len(actions) > 1 or mentioned == actions:
        return actions, first.is_first
    after = named[named.index(first) :]
    takes_back = any(one.takes_back for one in after if one.action not in actions)
    is_plain = first.is_first or any(one.weight == "said" for one in chosen)
    if (is_plain and not takes_back) or chosen[-1].is_last:
        return actions, first.is_first
    return mentioned, False
