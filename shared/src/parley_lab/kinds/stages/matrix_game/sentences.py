"""Finds which action the sentences of a text choose, and which they only mention. Pure.

A sentence chooses an action where its writer says so in the first person, or where the action is a clause of its own.
Reasons, comparisons, denials, conditions and questions choose nothing; neither do words about another player.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from parley_lab.kinds.stages.matrix_game.payoffs import Action, Labels

Weight = Literal["said", "alone", "mentioned"]
"""How an action is named: chosen in the first person, as a clause of its own, or in some other way."""

APOSTROPHES: Final = "'\u2019\u02bc"
QUOTES: Final = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb"
WRAPPING: Final = f"{QUOTES}()[]{{}}<>.,;:!- \t\r\n"

_SENTENCE_END: Final = re.compile(r"[.!;\n]|\?")
_CLAUSE_END: Final = re.compile(
    r"[,:()\u2013\u2014]|\s-+\s|\b(?:but|so(?!\s+that)|hence|therefore|thus|then|instead(?!\s+of)|aber|sondern|also|"
    r"dann|deshalb|daher|pero|sino|entonces|mais|donc)\b",
    re.I,
)
_CONCLUDES: Final = ("", "so", "hence", "therefore", "thus", "deshalb", "daher", "donc")
"""The last clause of a text is its conclusion after these words."""
_NEGATION: Final = re.compile(
    rf"\b(?:not|never|neither|nor|without|cannot|avoid|avoiding|refuse|refusing|decline|stop|(?:rather\s+)?than|instead\s+of|over|"
    rf"unlike|versus|vs|against|except|besides|nicht|kein|keine|nie|statt|anstatt|ohne|gegen|nunca|ni|sin|"
    rf"en\s+(?:lugar|vez)\s+de|que\s+no|antes\s+que|pas|plut\u00f4t\s+que|au\s+lieu\s+de)\b"
    rf"|n[{APOSTROPHES}]t\b|\b(?:dont|wont|cant)\b",
    re.I,
)
_REASON: Final = re.compile(
    r"\b(?:because|since|as(?!\s+(?:my|an?|the)\s+(?:answer|action|choice|move))|given|due\s+to|so\s+that|to\s+avoid|"
    r"in\s+order\s+to|while|although|though|whereas|despite|weil|da|denn|damit|obwohl|porque|pues|puesto|ya\s+que|"
    r"para|aunque|parce|car|puisque)\b",
    re.I,
)
_CONDITION: Final = re.compile(
    r"\b(?:if|unless|whether|when|whenever|suppose|supposing|assuming|provided|until|depends|depending|otherwise|wenn|falls|"
    r"sofern|sobald|si|cuando|depende)\b"
    r"|(?:\A|(?<=[.!?;\n]))\s*(?:were|had|should)\s+(?:i|they|he|she|we|you|my|the)\b",
    re.I,
)
_ALL_BUT: Final = re.compile(
    r"\b(?:all|any|anything|every|everything|nothing|none|alles|todo)\s+(?:but|au\u00dfer|menos)\b", re.I
)
_ASIDE: Final = re.compile(rf"(?P<negation>{_NEGATION.pattern})\s*,[^,.;:!?\n]*,", re.I)
_OTHERS: Final = re.compile(
    r"\b(?:they|them|their|he|she|his|her|you|your|opponents?|others?|partner|players?|previous|last|gegner|andere\w*|"
    r"letzte\w*|oponente|otro|rival|adversaire)\b",
    re.I,
)
_TAKES_BACK: Final = re.compile(
    r"\bno\b(?=\s+\w\b)|\b(?:hmm+|wait|actually|mean|meant|sorry|oops|typo|edit|unsure|nevermind|digo|perd\u00f3n|"
    r"second\s+thought|scratch|correction|however|though|but|or|maybe|perhaps|rather(?!\s+than)|"
    r"mind|reconsider\w*|better|oder|vielleicht|doch|quiz\u00e1s|mejor|o)\b",
    re.I,
)
_CHOOSING: Final = """
choose choosing chose chosen pick picking select selecting selected play playing go going opt opting take taking decide
decided deciding stick sticking vote voting use using prefer answer action choice move decision selection
wähle nehme spiele entscheide antwort wahl aktion zug entscheidung
elijo escojo juego opto decido respuesta acción elección jugada choisis joue prends choix
"""
_LEADING: Final = """
i i'll i'd i'm i've ill im will would shall should must have am want to let let's lets me us we we'll gonna
think believe promise both intend
with for on by in my our the an a this that it is be 's and yes ok okay well now thus therefore finally definitely
clearly certainly simply just still again only here actually rather like it's that's
do doing respond responding reply as sure own current
round time turn option letter final best better optimal rational safest response result
ich werde würde möchte mich mir für meine mein die der das ist beste jetzt ja
yo voy me quedo mi la el es por con una opción mejor sí ahora letra je vais mon ma le est
"""
_CHOOSES: Final = frozenset(_CHOOSING.split())
_LEADS: Final = _CHOOSES.union(_LEADING.split())
"""Words before an action that is chosen; a clause with any other word before it mentions the action."""
_NUMBER: Final = re.compile(r"\d+")
_AFTER: Final = re.compile(
    r"\s*(?:(?:for|from|always|in|on|this|the|that|again|now|here|too|please|sure|round|time|turn|move|\d+|it|is|my|our|final|answer|action|"
    r"choice|decision|best|option|letter|die|der|das|ist|meine|wahl|antwort|jetzt|runde|diese|dieser|in|es|mi|respuesta|"
    r"elecci\u00f3n|esta|ronda|ahora|en|la)\b\s*)*"
    rf"(?:\b(?:and|und|y|et)\s*)?[{re.escape(WRAPPING)}]*",
    re.I,
)
_AFTER_LABEL: Final = re.compile(
    r"[ \t]+(?:because|since|as|given|due|over|instead|rather\s+than|not|is|isn|it|this|now|in|for|and|or|then|again|"
    r"if|unless|when|while|although|too|please|will|would|than|with|weil|da|denn|statt|anstatt|und|oder|ist|nicht|wenn|"
    r"porque|pues|ya|en|y|o|si|no|es|car|parce|et|ou|est)\b",
    re.I,
)
"""These words follow a letter and no article."""
_NEXT_WORD: Final = re.compile(r"[ \t]+\w")
_SENTENCE_START: Final = re.compile(rf"(?:\A|[.!?:;\n-])[\s{QUOTES}(\[{{]*\Z")
_WORD: Final = re.compile(rf"[^\W_]+(?:[{APOSTROPHES}][^\W_]+)?|[^\w\s{re.escape(WRAPPING)}]")


@dataclass(frozen=True, slots=True)
class Named:
    """One place where a text names an action; `is_first`: no other words are before it, `is_last`: it is the whole of
    the last sentence, or of its conclusion."""

    action: Action
    weight: Weight
    is_first: bool = False
    is_last: bool = False
    takes_back: bool = False
    """Whether words before it take back what was said."""


class Vocabulary:
    """The letters and words of both actions, and where they mean an action in a text."""

    def __init__(self, labels: Labels) -> None:
        self._actions: dict[str, Action] = {labels.cooperate.casefold(): "C", labels.defect.casefold(): "D"}
        if labels.cooperate_word and labels.defect_word:
            self._actions |= {labels.cooperate_word.casefold(): "C", labels.defect_word.casefold(): "D"}
        # "A" may be an article. The other letter is treated alike.
        self._has_article = "a" in self._actions
        names = "|".join(re.escape(name) for name in sorted(self._actions, key=len, reverse=True))
        self._alone = re.compile(rf"(?<!\w)(?<!\w[{APOSTROPHES}-])(?P<name>{names})(?!\w)(?![{APOSTROPHES}-]\w)", re.I)
        self._pair = re.compile(
            rf"(?:\b(?:after|given|with|from|following)\s+)?[(\[]\s*(?:{names})\s*[,/|]\s*(?:{names})\s*[)\]]", re.I
        )

    def exact(self, text: str) -> Action | None:
        """The action when `text` is its name alone."""
        return self._actions.get(text.casefold())

    def mentions_any(self, text: str) -> bool:
        """Whether the text has any name of an action, in whatever sense."""
        return any(not self._is_article(text, found) for found in self._alone.finditer(text))

    def find(self, text: str) -> Iterator[Named]:
        """Yield where the text names an action, without what it denies, asks, compares or gives as a reason."""
        text = _ALL_BUT.sub("not", self._pair.sub(" , ", text))
        text = _ASIDE.sub(r"\g<negation> ", text)
        start, has_taken_back = 0, False
        for end, mark in _parts(text, _SENTENCE_END, 0, len(text)):
            if mark != "?":
                yield from self._of_sentence(text, start, end, has_taken_back=has_taken_back)
            has_taken_back = has_taken_back or _TAKES_BACK.search(text, start, end) is not None
            start = end + len(mark)

    def _of_sentence(self, text: str, start: int, end: int, *, has_taken_back: bool) -> Iterator[Named]:
        found: list[Named] = []
        begin, before, is_reason = start, "", False
        for stop, mark in _parts(text, _CLAUSE_END, start, end):
            reason = _REASON.search(text, begin, stop)
            condition = _CONDITION.search(text, begin, reason.start() if reason else stop)
            if condition is not None and not is_reason:
                return
            is_reason = is_reason or reason is not None
            negation = _NEGATION.search(text, begin, reason.start() if reason else stop)
            cut = negation.start() if negation else reason.start() if reason else stop
            is_of_others = before == ":" and _OTHERS.search(text, start, begin) is not None
            takes_back = has_taken_back or _TAKES_BACK.search(text, start, stop) is not None
            ends = before in _CONCLUDES
            for one in self._of_clause(text, begin, cut, is_of_others=is_of_others):
                found.append(replace(one, is_last=one.is_last and ends, takes_back=takes_back))
            begin, before = stop + len(mark), mark.strip().casefold()
        yield from found

    def _of_clause(self, text: str, start: int, end: int, *, is_of_others: bool) -> Iterator[Named]:
        found = [one for one in self._alone.finditer(text, start, end) if not self._is_article(text, one)]
        for one in found:
            action = self._actions[one["name"].casefold()]
            if len(found) > 1 or is_of_others or not _AFTER.fullmatch(text, one.end(), end):
                yield Named(action, "mentioned")
                continue
            words = [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text, start, one.start())]
            weight = _weight(words)
            is_first = not text[: one.start()].strip(WRAPPING)
            is_last = weight == "alone" and not words and not text[one.end() :].strip(WRAPPING)
            yield Named(action, weight, is_first, is_last)

    def _is_article(self, text: str, found: re.Match[str]) -> bool:
        """Whether a letter is a word like "a": in lower case, or at the start of a sentence, followed by another
        word."""
        if not self._has_article or len(found["name"]) > 1 or not _NEXT_WORD.match(text, found.end()):
            return False
        if _AFTER_LABEL.match(text, found.end()):
            return False
        return (
            found["name"].islower()
            or _SENTENCE_START.search(text[max(0, found.start() - 20) : found.start()]) is not None
        )


def _weight(words: list[str]) -> Weight:
    """How a clause names an action after these words."""
    if any(word not in _LEADS and not _NUMBER.fullmatch(word) for word in words):
        return "mentioned"
    return "said" if _CHOOSES.intersection(words) else "alone"


def _parts(text: str, ends: re.Pattern[str], start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the end of each part of a stretch of text, and the sign that ends it."""
    for found in ends.finditer(text, start, end):
        yield found.start(), found[0]
    yield end, ""
