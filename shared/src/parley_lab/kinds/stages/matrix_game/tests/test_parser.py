"""The action in a text, texts without one, and equal treatment of both labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.kinds.stages.matrix_game.parser import LONGEST_TEXT, Method, Reading, parse
from parley_lab.kinds.stages.matrix_game.payoffs import Framing, Labels, labels_of

NAMED, NEUTRAL, SITUATED = labels_of("named"), labels_of("neutral"), labels_of("situated")
FRAMINGS: tuple[Framing, ...] = ("named", "neutral", "situated")


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("D", "whole"),
        ("d", "whole"),
        (" D.\n", "whole"),
        ("**D**", "whole"),
        ("'D'", "whole"),
        ("[D]", "whole"),
        ("Defect", "whole"),
        ("\uff24", "whole"),
        ("\u200bD\ufeff", "whole"),
        ('{"action":"D"}', "json"),
        ('{"action": "Defect", "reasoning": "C would be nice"}', "json"),
        ('Here it is: {"reasoning": "C is dear", "Choice": "**D**"} as asked', "json"),
        ('```json\n{"result": {"move": "d"}}\n```', "json"),
        ("My action: D", "marker"),
        ("Cooperate or not? Hard to say.\nFinal answer: D", "marker"),
        ("ACTION: C\nNo, wait.\nACTION: D", "marker"),
        ("**Action:**\nD", "marker"),
        ("My choice is not C but D", "marker"),
        ("My choice for this round is D.", "marker"),
        ("D, because the others cooperate", "first"),
        ("D\nI cooperate only with those who do.", "first"),
        ("Defect. They will defect, and I would cooperate for nothing", "first"),
        ("```\nD\n```", "whole"),
        ("Let me see.\n```\nD\n```", "mention"),
        ("<think>C looks good. Final answer: C</think>\nD", "whole"),
        ("C looks good.</think>D", "whole"),
        ("I defect.", "mention"),
        ("I will defect this round", "mention"),
        ("i choose d", "mention"),
        ("Considering the history, I choose D", "mention"),
        ("Clearly, defect. D", "mention"),
        ("Choose D", "mention"),
        ("Can't trust them. D", "mention"),
        ("After (C,C) I choose D", "mention"),
        ("After (C, D) and [C/C], the move will be 'D'", "mention"),
        ("Don't cooperate; D", "mention"),
        ("I will not, under these circumstances, cooperate. I defect", "mention"),
        ("Never C, so D", "mention"),
    ],
)
def test_names_the_action_to_defect(text: str, method: Method) -> None:
    assert parse(text, NAMED) == Reading("D", method)


@pytest.mark.parametrize(
    "text",
    [
        "C",
        "Cooperate",
        "Definitely cooperate: C",
        "Dear opponent, C",
        "Don't defect; C",
        "Deal! I cooperate",
        "D'accord, C",
    ],
)
def test_names_the_action_to_cooperate(text: str) -> None:
    assert parse(text, NAMED).action == "C"


@pytest.mark.parametrize(
    ("text", "labels", "action"),
    [
        ("ACTION: B", NEUTRAL, "D"),
        ("As the opponent has been kind, B", NEUTRAL, "D"),
        ("Based on history, A", NEUTRAL, "C"),
        ("I choose A because it pays", NEUTRAL, "C"),
        ("A better move is B", NEUTRAL, "D"),
        ("That takes a risk: b", NEUTRAL, "D"),
        ("Option A", NEUTRAL, "C"),
        ("ACTION: A bold one. B", NEUTRAL, "D"),
        ("First, I thought of it long: X", SITUATED, "D"),
        ("For now F", SITUATED, "C"),
        ("B", labels_of("neutral", swapped=True), "C"),
        ("F", labels_of("situated", swapped=True), "D"),
    ],
)
def test_letters_are_told_from_words(text: str, labels: Labels, action: str) -> None:
    assert parse(text, labels).action == action


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "empty"),
        ("", "empty"),
        ("   \n", "empty"),
        ("\u200b", "empty"),
        ("<think>C or D ... C", "empty"),
        ("C or D?", "none"),
        ("C or D", "ambiguous"),
        ("C/D", "ambiguous"),
        ("C, D", "ambiguous"),
        ("(D) or (C)", "ambiguous"),
        ("ACTION: C or D", "ambiguous"),
        ('{"action":"C","action":"D"}', "ambiguous"),
        ("They defect and I cooperate", "ambiguous"),
        ("hmm", "none"),
        ("I refuse", "none"),
        ("I refuse to defect", "none"),
        ("I will not under any circumstances cooperate", "none"),
        ("I will not, under any circumstances, cooperate", "none"),
        ("D? ", "none"),
        ("(C,D)", "none"),
        ("vitamin-C, 4D and I'd say so", "none"),
        ('{"action":"maybe","reasoning":"C"}', "none"),
        ('{"action":["D"]}', "none"),
        ('{"action":"C","choice":"maybe"}', "none"),
        ('{"choice":["D"],"answer":"D"}', "none"),
        ("Let us split the points", "none"),
        ("E", "none"),
    ],
)
def test_names_none(text: str | None, reason: str) -> None:
    assert parse(text, NAMED) == Reading(None, reason=reason)  # type: ignore[arg-type]


def test_an_article_alone_names_nothing() -> None:
    assert parse("A good question about a hard choice", NEUTRAL).action is None


@pytest.mark.parametrize(
    "text", ["{" * 100_000, '{"a":' * 50_000, "[" * 100_000, "C " * 50_000, "not " * 50_000, "a" * 10**6]
)
def test_huge_texts_are_read_in_bounded_time(text: str) -> None:
    assert len(text) > LONGEST_TEXT
    assert parse(text, NAMED).action in ("C", None)


@given(st.text(), st.sampled_from(FRAMINGS))
def test_no_text_breaks_the_parser(text: str, framing: Framing) -> None:
    found = parse(text, labels_of(framing))

    assert (found.action is None) == (found.reason is not None)
    assert (found.action is None) == (found.method is None)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.sampled_from(["C", "D", "maybe", ""]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["action", "reasoning", "choice"]), inner),
)


@given(JSON.map(str) | JSON.map(repr))
def test_no_object_breaks_the_parser(text: str) -> None:
    parse(text, NAMED)
    parse(text.replace("'", '"'), NAMED)


@given(
    st.text(alphabet=st.characters(exclude_characters="cdCD", exclude_categories=("So", "No", "Lu", "Sm", "Lm", "Lo")))
)
def test_a_text_without_either_name_names_nothing(text: str) -> None:
    assert parse(text, NAMED).action is None


WORDS = st.sampled_from(
    [
        *("<1>", "<2>", "<1>", "<2>", "<word1>", "<word2>"),
        *(
            "ACTION:",
            "Final answer:",
            "my choice is",
            "choose",
            "I",
            "then",
            "but",
            "so",
            "because",
            "since",
            "as",
            "if",
            "they",
            "either",
            "the letter after",
            "opponent",
            "round",
        ),
        *(
            "not",
            "don't",
            "never",
            "instead of",
            "rather than",
            "over",
            "no",
            "neither",
            "nor",
            "or",
            "and",
            "Let me think.",
        ),
        *("(", ")", ",", ".", "?", "!", ":", "\n", "-", "*", "**", '"', "'", "/", "```", "<think>", "</think>"),
        *('{"action": "', '"}', '{"reasoning": "', '", "action": "'),
    ]
)
LABEL_NAMES = {
    "named": ("C", "D", "cooperate", "defect"),
    "neutral": ("A", "B", "A", "B"),
    "situated": ("F", "X", "F", "X"),
}


def spelled(template: str, names: tuple[str, str, str, str]) -> str:
    for mark, name in zip(("<1>", "<2>", "<word1>", "<word2>"), names, strict=True):
        template = template.replace(mark, name)
    return template


CHOICES = (
    "{} because {} loses",
    "I choose {} over {}",
    "{}, since {} would be worse",
    "{} (not {})",
    "{} as {} is bad",
)


@given(st.sampled_from(CHOICES), st.sampled_from(["", "So ", "A hard one. ", "They moved. "]), st.sampled_from("AB"))
def test_a_move_before_its_reason_is_never_read_as_the_other(choice: str, before: str, letter: str) -> None:
    other = "B" if letter == "A" else "A"

    assert parse(before + choice.format(letter, other), NEUTRAL).action == ("C" if letter == "A" else "D")
    assert parse(before + f"{letter} or {other}", NEUTRAL).action is None
    assert parse(before + f"I choose the letter after {letter}", NEUTRAL).action is None


@given(st.lists(WORDS), st.sampled_from(["", " "]), st.sampled_from(FRAMINGS), st.booleans())
def test_exchanging_the_labels_in_a_text_exchanges_what_is_read(
    words: list[str], between: str, framing: Framing, lower: bool
) -> None:
    template = between.join(words)
    one, two, word_one, word_two = LABEL_NAMES[framing]
    names = (one.lower(), two.lower(), word_one, word_two) if lower else (one, two, word_one, word_two)
    exchanged = (names[1], names[0], names[3], names[2])

    found = parse(spelled(template, names), labels_of(framing))
    other = parse(spelled(template, exchanged), labels_of(framing))

    swapped = {"C": "D", "D": "C", None: None}
    assert other.action == swapped[found.action]
    assert (other.method, other.reason) == (found.method, found.reason)
