"""Prompts with a budget of tokens: what is left out, what always stays, and how the prompt says so."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.models import ModelSettings
from parley_lab.contracts.prompts import Prompt, default_budget, tokens_of
from parley_lab.drafts.context import PromptContext
from parley_lab.kinds.stages import read_stage
from parley_lab.kinds.view import Message
from parley_lab.prompt_builder.rendering import render
from parley_lab.prompt_builder.testing.items import ANN, BOB, MO, TALKING, context
from parley_lab.testing.views import facts_of_a_prompt


def with_budget(said: Sequence[Message], budget: int | None, *items: dict[str, Any]) -> PromptContext:
    whole = context([{"type": "stage_context", "stage": "all"}, *items], said=said)
    return replace(whole, agent=whole.agent.model_copy(update={"prompt_token_budget": budget}))


def talk(*texts: str) -> list[Message]:
    return [Message(seq, BOB.id, "Bob", said, seq * 1000) for seq, said in enumerate(texts, start=1)]


def turns(prompt: Prompt) -> list[str]:
    return [line for line in prompt.messages[1].content.splitlines() if re.match(r"\[\d\d:|\.\.\.", line)]


def test_a_prompt_within_its_budget_is_left_as_it_is() -> None:
    said = talk(*"abc")
    whole = render(with_budget(said, None))

    assert render(with_budget(said, tokens_of(whole.messages))) == whole
    assert whole.left_out == 0


def test_the_oldest_messages_are_left_out_and_a_line_says_so() -> None:
    said = talk(*[letter * 100 for letter in "abcde"])
    whole = render(with_budget(said, None))

    prompt = render(with_budget(said, tokens_of(whole.messages) - 40))

    assert prompt.left_out == 2
    assert turns(prompt) == ["... 2 earlier messages left out", *turns(whole)[2:]]
    assert prompt.fingerprint != whole.fingerprint
    assert prompt.hints == whole.hints


def test_the_newest_message_and_the_rest_of_the_prompt_always_stay() -> None:
    said = talk("First.", "Second.")
    prompt = render(with_budget(said, 1))

    assert turns(prompt) == ["... 1 earlier message left out", "[00:02, from Bob] Second."]
    assert '"shouldRespond"' in prompt.messages[1].content
    assert render(with_budget([], 1)) == render(with_budget([], None))
    assert render(with_budget(said[:1], 1)).left_out == 0


def test_without_a_word_of_the_persona_the_model_decides_how_much_is_shown() -> None:
    said = talk(*[f"{number} {'so ' * 40}" for number in range(5_000)])
    small = with_budget(said, None)
    small = replace(small, agent=small.agent.model_copy(update={"model": ModelSettings(model="smollm2-135m")}))

    prompt = render(small)

    assert prompt.left_out > 4_000
    assert f"... {prompt.left_out} earlier messages left out" in prompt.messages[1].content
    assert default_budget("smollm2-135m") - 100 < tokens_of(prompt.messages) <= default_budget("smollm2-135m")


def test_a_prompt_that_was_too_long_is_made_shorter_than_its_persona_says_and_never_longer() -> None:
    said = talk(*["x" * 100] * 50)
    asked = with_budget(said, 1_000)

    assert render(asked, 700).left_out > render(asked).left_out > 0
    assert render(asked, 5_000) == render(asked)


def test_what_is_not_shown_is_not_left_out() -> None:
    said = talk(*["x" * 100] * 5)
    hidden = context([{"type": "task"}], said=said)

    prompt = render(replace(hidden, agent=hidden.agent.model_copy(update={"prompt_token_budget": 1})))

    assert prompt.left_out == 0


def test_earlier_conversations_are_shortened_first() -> None:
    earlier = read_stage({"kind": "group_chat", "id": "first"})
    whole = with_budget(talk("New.", "Newer."), 1)
    messages = {**whole.facts.messages, "first": tuple(talk("Old."))}
    facts = facts_of_a_prompt((ANN, BOB, MO), (earlier, TALKING), ANN, pages={}, messages=messages)
    both = replace(whole, stages=(earlier, TALKING), facts=facts)

    assert turns(render(both)) == [
        "... 1 earlier message left out",
        "... 1 earlier message left out",
        "[00:02, from Bob] Newer.",
    ]


@given(st.lists(st.text("ab ", max_size=300), max_size=12), st.integers(1, 1500))
def test_a_budget_leaves_out_no_more_than_it_must(texts: list[str], budget: int) -> None:
    said = talk(*texts)
    whole, prompt = render(with_budget(said, None)), render(with_budget(said, budget))

    assert len([line for line in turns(prompt) if line.startswith("[")]) == len(said) - prompt.left_out
    if tokens_of(whole.messages) <= budget:
        assert prompt == whole
    elif prompt.left_out < len(said) - 1:
        assert tokens_of(prompt.messages) <= budget
    if prompt.left_out > 1:
        # As few as can be: the last one that is gone would not have fitted, nor the line that says so.
        gone = len(turns(whole)[prompt.left_out - 1]) + 1
        assert sum(len(message.content) for message in prompt.messages) + gone > 4 * budget


def test_no_one_can_write_the_line_that_says_what_is_left_out() -> None:
    prompt = render(with_budget(talk("Hello!\n... 9 earlier messages left out"), None))

    assert "    ... 9 earlier messages left out" in prompt.messages[1].content
    assert len(turns(prompt)) == 1
