"""A page to read."""

from uuid import UUID

import pytest

from shared.contracts.experiment import Profile
from shared.errors import InvalidInput
from shared.stage import PAGE, Ask, Member
from shared.stages.info import KIND
from shared.testing.views import own

ANA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ana"))
ASK = Ask(ANA.id, PAGE, "page")


def test_a_prompt_shows_the_lines() -> None:
    stage = KIND.example()

    (block,) = KIND.describe(stage, own(ANA), with_answers=True)

    assert block.text.splitlines() == list(stage.lines)


def test_a_page_to_read_takes_no_answer() -> None:
    assert KIND.check_answer(KIND.example(), ASK, None, own(ANA)) == {}
    with pytest.raises(InvalidInput):
        KIND.check_answer(KIND.example(), ASK, {"x": 1}, own(ANA))
