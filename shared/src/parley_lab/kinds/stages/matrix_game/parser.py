"""Reads the action in a text, by steps: from the requested format down to a word in a sentence.

The first step that finds an action decides. Two different actions on a step are ambiguous, none at all is invalid;
there is no default. Every step treats both labels alike: exchanging them in a text exchanges the result (a property
test checks it). A parser that prefers one label would bias the cooperation rate.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from parley_lab.base.replies import before_open_thought
from parley_lab.kinds.stages.matrix_game.payoffs import Action, Labels

Method = Literal["json", "marker", "whole", "first", "mention"]
Reason = Literal["empty", "ambiguous", "none"]

LONGEST_TEXT: Final = 20_000
"""Longer texts are cut in the middle: an answer is at the end or at the beginning."""
_MOST_OBJECTS: Final = 50

_FENCE: Final = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.M)
_MARKDOWN: Final = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)|^[ \t]*[#>]+[ \t]*", re.M)
_FIELDS: Final = ("action", "choice", "move", "decision", "answer")
_MARKER: Final = re.compile(
    r"^\W*(?:(?:so|therefore|thus|hence),?\s+)?(?:(?:my|the|our)\s+)?"
    r"(?:final\s+(?:action|answer|choice|decision|move)|final|action|answer|choice|decision|move)"
    r"(?:\s+(?:for|in)\s+(?:this\s+round|round\s+\d+))?\s*(?:\bis\b\s*:?|[:=]|->|→|-)(?P<rest>.*)$",
    re.I,
)
_APOSTROPHES: Final = "'\u2019\u02bc"
_QUOTES: Final = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb"
_CLAUSE_END: Final = re.compile(r"[.,;:!?\n()]|\b(?:but|so|hence|therefore|thus|then|instead(?!\s+of))\b", re.I)
_NEGATION: Final = re.compile(
    rf"\b(?:not|never|no|neither|nor|without|cannot|avoid|avoiding|refuse|refusing|decline|stop|than|instead\s+of)\b"
    rf"|n[{_APOSTROPHES}]t\b|\b(?:dont|wont|cant)\b",
    re.I,
)
_ASIDE: Final = re.compile(rf"(?P<negation>{_NEGATION.pattern})\s*,[^,.;:!?\n]*,", re.I)
_NEXT_WORD: Final = re.compile(r"[ \t]+\w")
_SENTENCE_START: Final = re.compile(rf"(?:\A|[.!?:;\n-])[\s{_QUOTES}(\[{{]*\Z")
_WRAPPING: Final = f"{_QUOTES}()[]{{}}<>.,;:!- \t\r\n"


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
    vocabulary = _Vocabulary(labels)
    named = _from_json(cleaned, vocabulary)
    if named is not None:
        return _reading(named, "json")
    plain = _MARKDOWN.sub("", _FENCE.sub("", cleaned))
    rungs: tuple[tuple[Method, Iterable[Action]], ...] = (
        ("marker", _from_marker(plain, vocabulary)),
        ("whole", vocabulary.exact(plain.strip(_WRAPPING))),
        ("first", vocabulary.first(plain.lstrip(_WRAPPING))),
        ("mention", vocabulary.mentioned(plain)),
    )
    for method, actions in rungs:
        if found := set(actions):
            return _reading(found, method)
    return Reading(None, reason="none")


def _reading(found: set[Action], method: Method) -> Reading:
    if len(found) > 1:
        return Reading(None, reason="ambiguous")
    return Reading(found.pop(), method) if found else Reading(None, reason="none")


def _normalised(text: str) -> str:
    """The text without invisible characters and a model's thoughts; a thought without an end hides the rest."""
    if len(text) > LONGEST_TEXT:
        text = f"{text[: LONGEST_TEXT // 2]}\n{text[-LONGEST_TEXT // 2 :]}"
    composed = unicodedata.normalize("NFKC", text)
    return before_open_thought("".join(one for one in composed if unicodedata.category(one) not in ("Cf", "Cs")))


def _from_json(text: str, vocabulary: "_Vocabulary") -> set[Action] | None:
    """The actions in the fields of the last object that has such; None without one, so that the next step is tried.

    A field without a label is an unreadable answer: no later step may overrule it.
    """
    for found in reversed(_objects(text)):
        values = [value for name, value in _fields(found) if name.strip().casefold() in _FIELDS]
        if values:
            read = [
                _stated(_MARKDOWN.sub("", value), vocabulary) if isinstance(value, str) else set() for value in values
            ]
            return set().union(*read) if all(read) else set()
    return None


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as written: repeated names are kept."""


def _objects(text: str) -> list[_Pairs]:
    """The outermost JSON objects in `text`, in their order."""
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    found: list[_Pairs] = []
    start = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            break
        end = start + 1
        try:
            value, end = decoder.raw_decode(text, start)
            found.append(value)
        except (ValueError, RecursionError):
            pass
        start = text.find("{", end)
    return found


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name and value of an object, nested ones included."""
    if isinstance(value, _Pairs):
        yield from value
    if isinstance(value, list):
        for part in value:
            yield from _fields(part[1] if isinstance(value, _Pairs) else part)


def _from_marker(text: str, vocabulary: "_Vocabulary") -> set[Action]:
    """The action after the last marker such as `ACTION:` or `Final answer:`, or on the line below it."""
    lines = [line for line in text.splitlines() if line.strip()]
    for number in range(len(lines) - 1, -1, -1):
        if marked := _MARKER.match(lines[number]):
            rest = marked["rest"] if marked["rest"].strip() else "".join(lines[number + 1 : number + 2])
            if found := _stated(rest, vocabulary):
                return found
    return set()


def _stated(text: str, vocabulary: "_Vocabulary") -> set[Action]:
    """The action in a `text` where one is expected: its first word if that is clearly one, else all it mentions."""
    for actions in (
        vocabulary.exact(text.strip(_WRAPPING)),
        vocabulary.first(text.lstrip(_WRAPPING)),
        vocabulary.mentioned(text),
    ):
        if found := set(actions):
            return found
    return set()


class _Vocabulary:
    """The letters and words of both actions, and where they mean an action in a text."""

    def __init__(self, labels: Labels) -> None:
        self._actions: dict[str, Action] = {labels.cooperate.casefold(): "C", labels.defect.casefold(): "D"}
        if labels.cooperate_word and labels.defect_word:
            self._actions |= {labels.cooperate_word.casefold(): "C", labels.defect_word.casefold(): "D"}
        # "A" may be an article. The other letter is treated alike.
        self._has_article = "a" in self._actions
        names = "|".join(re.escape(name) for name in sorted(self._actions, key=len, reverse=True))
        self._alone = re.compile(
            rf"(?<!\w)(?<!\w[{_APOSTROPHES}-])(?P<name>{names})(?!\w)(?![{_APOSTROPHES}-]\w)", re.I
        )
        self._choice = re.compile(
            rf"(?P<name>{names})(?=\s*(?:\Z|\n|[.,;:!)\]}}\"\u201d\u00bb\u2013\u2014]|[{_APOSTROPHES}](?!\w)|-\s))",
            re.I,
        )
        self._pair = re.compile(rf"[(\[]\s*(?:{names})\s*[,/|]\s*(?:{names})\s*[)\]]", re.I)
        self._several = re.compile(rf"(?:{names})[^\w\n]*(?:or|and)?[^\w\n]*(?:{names})(?!\w)", re.I)

    def exact(self, text: str) -> Iterator[Action]:
        """The action when `text` is its name alone."""
        if action := self._actions.get(text.casefold()):
            yield action

    def first(self, text: str) -> Iterator[Action]:
        """The action when `text` begins with its name, and the line or the phrase ends there."""
        if (found := self._choice.match(text)) and not self._several.match(text):
            yield self._actions[found["name"].casefold()]

    def mentioned(self, text: str) -> Iterator[Action]:
        """Every action named by a separate word, outside pairs of actions such as (C,D) and outside negations."""
        text = _ASIDE.sub(r"\g<negation> ", self._pair.sub(" ", text))
        for start, end in _affirmed(text):
            for found in self._alone.finditer(text, start, end):
                if not self._is_article(text, found):
                    yield self._actions[found["name"].casefold()]

    def _is_article(self, text: str, found: re.Match[str]) -> bool:
        """Whether a letter is a word like "a": in lower case, or at the start of a sentence, followed by another
        word."""
        if not self._has_article or len(found["name"]) > 1 or not _NEXT_WORD.match(text, found.end()):
            return False
        return (
            found["name"].islower()
            or _SENTENCE_START.search(text[max(0, found.start() - 20) : found.start()]) is not None
        )


def _affirmed(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of `text`, clause by clause, that are not negated; a question affirms nothing."""
    start = 0
    for end, mark in [*((found.end(), found[0]) for found in _CLAUSE_END.finditer(text)), (len(text), "")]:
        if mark != "?":
            negation = _NEGATION.search(text, start, end)
            yield start, negation.start() if negation else end
        start = end
