"""Takes off thoughts that have a label in place of tags: "Thought: ... Answer: ...". Pure.

A label is at the beginning of a line, before a colon or as a heading. The words before the first thought are said, and
so are those after the label of an answer; a thought without such a label goes on to the end.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

_INNER: Final = (
    r"thoughts?|thinking|scratch[ -]?pad|chain[ _-]of[ _-]thought|thought[ _-]process|"
    r"(?:inner|internal|private|hidden)[ _-](?:thoughts?|monologue|reasoning|voice)|gedanken?|innerer[ ]monolog|"
    r"pensamientos?|pens\u00e9es?|\u601d\u8003(?:\u8fc7\u7a0b)?"
)
_REASONS: Final = (
    r"reasoning|analysis|reflections?|\u00fcberlegung(?:en)?|analyse|razonamiento|an\u00e1lisis|raisonnement|"
    r"r\u00e9flexion|\u63a8\u7406|\u5206\u6790"
)
_ANSWERS: Final = (
    r"(?:(?:my|the)[ ])?(?:(?:final|actual|public|spoken)[ _-]?)?(?:answer|response|reply|message|output|statement)|"
    r"antwort|nachricht|respuesta|mensaje|r\u00e9ponse|(?:\u6700\u7ec8)?\u7b54\u6848|\u56de\u7b54|\u56de\u590d"
)
_CHOICES: Final = (
    rf"{_ANSWERS}|(?:(?:my|the)[ ])?(?:final[ _-]?)?(?:action|choice|decision|move|vote|ranking|conclusion)|final|"
    r"entscheidung|wahl|fazit|elecci\u00f3n|decisi\u00f3n|acci\u00f3n|choix|conclusion"
)
_LIKELY: Final = re.compile(
    rf"\b(?:{_INNER}|{_REASONS}|thinks)[*_`\])]*\s*[:\uff1a]|(?:#|\*\*|__)[ \t]*(?:{_INNER}|{_REASONS})\b", re.I
)
_SIGNS: Final = (":", "\uff1a", "**", "__", "#")
_BEGINNINGS: Final = """
thought thinking thinks scratch monolog reason voice reflection analys gedanke überlegung pensamiento pensée
razonamiento análisis raisonnement réflexion 思考 推理 分析
"""
_STEMS: Final = tuple(_BEGINNINGS.split())
"""One quick look at a text: most have no such label, and the pattern takes ten times as long."""
_BRACKETED: Final = re.compile(
    rf"\((?:{_INNER}|thinks)\s*:[^()]*\)|\[(?:{_INNER}|thinks)\s*:[^\[\]]*\]|(?<!\*)\*(?:{_INNER}|thinks)\s*:[^*]*\*(?!\*)",
    re.I,
)


@dataclass(slots=True)
class _Part:
    kind: Literal["before", "thought", "answer"]
    begin: int
    end: int | None = None


def _label(answers: str) -> re.Pattern[str]:
    name = rf"(?:(?P<inner>{_INNER})|(?P<reasons>{_REASONS})|(?P<answer>{answers}))"
    before = r"^[ \t]*(?:[-*>\u2022][ \t]+|#{1,6}[ \t]+|\d{1,2}[.)][ \t]+)?[*_`\[(]*"
    colon = r"[*_`\])]*[ \t]*[:\uff1a][*_`]*[ \t]*"
    heading = name.replace("?P<", "?P<of_")
    return re.compile(
        rf"{before}{name}{colon}"
        rf"|^[ \t]*(?:#{{1,6}}[ \t]+[*_]*|\*\*|__){heading}[*_]*[ \t]*:?[*_]*[ \t]*$"
        rf"|(?<=[.!?;])[ \t]+[*_]*(?P<within>{answers})[*_]*[ \t]*[:\uff1a][*_`]*[ \t]*",
        re.I | re.M,
    )


_SPOKEN: Final = _label(_ANSWERS)
_CHOSEN: Final = _label(_CHOICES)


def words_after_labels(text: str) -> str:
    """The words that are said; empty where the text is nothing but thoughts."""
    return _after_labels(text, _SPOKEN, is_last=False) if _may_have_label(text) else text


def answer_after_labels(text: str) -> str:
    """The same for a text that is to be an answer and that no one reads: the last answer counts, and reasons without an
    answer below them stay."""
    if not _may_have_label(text):
        return text
    found = _after_labels(text, _CHOSEN, is_last=True)
    has_inner = any(mark["inner"] or mark["of_inner"] for mark in _CHOSEN.finditer(text))
    return found if found or has_inner else _CHOSEN.sub("", text, count=1).strip()


def without_lines_of_thoughts(text: str) -> str:
    """The text without the lines that begin with the label of a thought, up to an answer on the same line.

    For texts in which an object is looked for: it may follow on a line of its own.
    """
    if not _may_have_label(text):
        return text
    kept: list[str] = []
    depth = 0
    for written in text.splitlines(keepends=True):
        line = written
        marks = [*_CHOSEN.finditer(line)]
        within = next((mark for mark in marks if mark["within"]), None)
        # Inside an object such a line is a name and its value.
        if marks and depth <= 0 and _opens_thought(marks[0]):
            line = line[within.end() :] if within else "\n"
        depth += line.count("{") - line.count("}")
        kept.append(line)
    return "".join(kept)


def _opens_thought(mark: re.Match[str]) -> bool:
    return any(mark[name] for name in ("inner", "reasons", "of_inner", "of_reasons"))


def _may_have_label(text: str) -> bool:
    if not any(sign in text for sign in _SIGNS):
        return False
    plain = text.lower()
    return any(stem in plain for stem in _STEMS) and _LIKELY.search(text) is not None


def _after_labels(text: str, label: re.Pattern[str], *, is_last: bool) -> str:
    """The text of the answer, or else that before the first thought; `is_last`: a later answer replaces an earlier."""
    text = _BRACKETED.sub("", text)
    parts = [_Part("before", 0)]
    for mark in label.finditer(text):
        opens = _opens_thought(mark)
        is_same = not opens and parts[-1].kind != "thought" and (mark["within"] or parts[-1].kind == "answer")
        if not is_same or (is_last and not mark["within"]):
            parts[-1].end = mark.start()
            parts.append(_Part("thought" if opens else "answer", mark.end()))
    if all(part.kind != "thought" for part in parts):
        return text.strip()
    said = [text[part.begin : part.end].strip() for part in parts if part.kind == "answer"]
    return said[-1] if said else text[: parts[0].end].strip()
