"""Thoughts come off a model's text, whatever marks they have; a thought that never ends is not guessed at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.replies import OpenThought, after_thoughts, before_open_thought

DRAFT = 'A draft: {"trams": 2}. No, better not.'
SAID = '{"trams": 8}'
TAGS = ("think", "thinking", "thought", "reasoning", "seed:think", "Think", "reflection", "inner_thoughts")


@pytest.mark.parametrize(
    "written",
    [
        SAID,
        *(f"<{tag}>{DRAFT}</{tag}>\n{SAID}" for tag in TAGS),
        f"[THINK]{DRAFT}[/THINK]{SAID}",
        f'<think type="draft">{DRAFT}</think>{SAID}',
        f"{DRAFT}\n</think>\n{SAID}",
        f"{DRAFT}[/THINK]{SAID}",
        f"<think>{DRAFT}<think>Again.</think>{DRAFT}</think>{SAID}",
        f"<think>{DRAFT}<reasoning>Never closed.</think>{SAID}",
        f"<think>{DRAFT}</think>{SAID}<think>Was that right?</think>",
        f"<think/>{SAID}",
        f"\u25c1think\u25b7{DRAFT}\u25c1/think\u25b7{SAID}",
        f"<|begin_of_thought|>{DRAFT}<|end_of_thought|><|begin_of_solution|>{SAID}<|end_of_solution|>",
        f"<|START_THINKING|>{DRAFT}<|END_THINKING|><|START_RESPONSE|>{SAID}<|END_RESPONSE|>",
        f"<|inner_prefix|>{DRAFT}<|inner_suffix|>{SAID}",
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{SAID}<|return|>",
        f"<|channel|>analysis<|message|>{DRAFT}<|end|>"
        f"<|start|>assistant<|channel|>final <|constrain|>json<|message|>{SAID}",
        f"<|channel|>final<|message|>{SAID}",
        f"<|channel>thought\n{DRAFT}<channel|>{SAID}",
        f"analysis{DRAFT}assistantfinal{SAID}",
        f"&lt;think&gt;{DRAFT}&lt;/think&gt;{SAID}",
        f"<!-- {DRAFT} -->{SAID}",
        f"<!--\n{DRAFT}\n-->\n{SAID}\n<!-- {DRAFT} -->",
        f"```thinking\n{DRAFT}\n```\n{SAID}",
        f"~~~reasoning\n{DRAFT}\n~~~\n{SAID}",
    ],
)
def test_what_is_said_is_what_is_left_after_the_thoughts(written: str) -> None:
    assert after_thoughts(written).strip() == SAID


@pytest.mark.parametrize(
    "written",
    [
        f"<think>{DRAFT}",
        f"{SAID}<think>Or rather {DRAFT}",
        f"[THINK]{DRAFT}",
        f"<think>{DRAFT}<think>Again.</think>{SAID}",
        f"<|channel|>analysis<|message|>{DRAFT}",
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>commentary<|message|>{SAID}<|end|>",
        f"<think>{DRAFT}</thinking>{SAID}",
        f"&lt;think&gt;{DRAFT}",
        f"<!-- {DRAFT}",
        f"```thinking\n{DRAFT}",
    ],
)
def test_a_thought_that_never_ends_is_refused_and_not_kept(written: str) -> None:
    with pytest.raises(OpenThought):
        after_thoughts(written)

    assert before_open_thought(written) == ""


@pytest.mark.parametrize(
    "said", ["I think so.", "a < b and c > d", "<b>bold</b>", "3 <think 4", "[think]", "Final answer"]
)
def test_words_about_thinking_are_no_marks(said: str) -> None:
    assert after_thoughts(said) == said


PIECES = st.lists(
    st.sampled_from(
        ["SECRET", "<think>", "</think>", "<reasoning>", "</reasoning>", "[THINK]", "[/THINK]", "<think/>"]
    ),
    max_size=8,
)


@given(PIECES)
def test_nothing_between_two_marks_of_one_thought_is_left(pieces: list[str]) -> None:
    """However marks and words are mixed before, a thought that opens and ends leaves nothing of it."""
    try:
        said = after_thoughts("".join([*pieces, "<seed:think>", *pieces, "HIDDEN", "</seed:think>", "said"]))
    except OpenThought:
        return

    assert "HIDDEN" not in said
