"""A page to read."""

from uuid import UUID

import pytest

from shared.errors import InvalidInput
from shared.stage import PAGE, Ask, StageView
from shared.stages.info import KIND

ASK = Ask(UUID(int=1), PAGE, "page")


def test_a_prompt_shows_the_lines() -> None:
    stage = KIND.example()

    (block,) = KIND.describe(stage, StageView(), with_answers=True)

    assert block.text.splitlines() == list(stage.lines)


def test_a_page_to_read_takes_no_answer() -> None:
    assert KIND.check_answer(KIND.example(), ASK, None, StageView()) == {}
    with pytest.raises(InvalidInput):
        KIND.check_answer(KIND.example(), ASK, {"x": 1}, StageView())
