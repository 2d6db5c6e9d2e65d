"""What a model is told of a reply that could not be used."""

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.agent_worker.asking_again import Unusable, with_reason
from parley_lab.contracts.models import ChatMessage
from parley_lab.contracts.prompts import tokens_of

PROMPT = (ChatMessage(role="system", content="You are Ann."), ChatMessage(role="user", content="How old are you?"))
BUDGET = 10_000
YOUNG = Unusable('{"age": 7}', "age: at least 18")


def told(messages: tuple[ChatMessage, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


def test_a_model_is_shown_its_reply_and_why_it_cannot_be_used() -> None:
    asked = with_reason(PROMPT, [YOUNG], BUDGET)

    assert asked[:2] == PROMPT
    assert told(asked[2:]) == [
        ("assistant", '{"age": 7}'),
        ("user", "That reply cannot be used: age: at least 18. Reply again in the requested format."),
    ]


def test_without_an_unusable_reply_the_prompt_is_as_it_was() -> None:
    assert with_reason(PROMPT, [], BUDGET) == PROMPT


def test_an_empty_reply_is_shown_as_such() -> None:
    asked = with_reason(PROMPT, [Unusable("  \n", "no object")], BUDGET)

    assert told(asked[2:3]) == [("assistant", "(empty)")]


def test_a_reply_that_was_cut_off_is_not_shown_or_a_model_goes_on_with_it() -> None:
    asked = with_reason(PROMPT, [Unusable("on and on " * 300, "no object", was_cut=True)], BUDGET)

    assert told(asked) == [
        ("system", "You are Ann."),
        ("user", "How old are you?\n\nAn earlier reply of yours cannot be used: no object."),
    ]


def test_a_reply_that_came_again_is_not_shown_again_or_it_comes_once_more() -> None:
    second = with_reason(PROMPT, [YOUNG, Unusable("{}", "no age"), YOUNG], BUDGET)
    another = with_reason(PROMPT, [YOUNG, Unusable('{"age": 8}', "age: at least 18")], BUDGET)

    assert told(second) == [
        ("system", "You are Ann."),
        ("user", "How old are you?\n\nAn earlier reply of yours cannot be used: age: at least 18."),
    ]
    assert told(another[2:3]) == [("assistant", '{"age": 8}')]


@given(st.integers(0, 30_000), st.integers(1, 5_000))
def test_a_long_reply_goes_back_shortened_within_the_budget(length: int, budget: int) -> None:
    words = "".join(chr(97 + number % 26) for number in range(length))

    asked = with_reason(PROMPT, [Unusable(words, "no object")], budget)

    shown = [message.content for message in asked if message.role == "assistant"]
    if not shown:
        assert budget < 200
    elif len(shown[0]) < length:
        beginning, _, end = shown[0].partition(" [...] ")
        assert words.startswith(beginning)
        assert words.endswith(end)
        assert len(shown[0]) <= 4_000
        assert tokens_of((*PROMPT, asked[2])) <= budget
