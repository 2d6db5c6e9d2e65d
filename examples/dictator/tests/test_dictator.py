"""The rules of the dictator game, in a lab that has it: installed, or with PARLEY_KINDS_DIR=src."""

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.kind_checks import Trial, check_kind
from parley_lab.kinds import Done
from parley_lab.kinds.stages import kinds

KIND = kinds()["dictator"]


def test_it_keeps_what_every_kind_promises() -> None:
    assert [str(found) for found in check_kind(KIND, range(5))] == []


@pytest.mark.parametrize("seed", range(5))
def test_the_two_have_the_endowment_in_the_end(seed: int) -> None:
    play = Trial(KIND, KIND.example(), seed).straight()

    pages = [done.page for view in play.views() if isinstance(done := play.completion(view), Done)]

    players = [page for page in pages if page["role"] is not None]
    assert {page["role"] for page in players} == {"dictator", "recipient"}
    assert sum(page["points"] for page in players) == 10


@pytest.mark.parametrize("given", [-1, 11, 2.5, True, None, "3"])
def test_only_what_there_is_can_be_given(given: object) -> None:
    question = Trial(KIND, KIND.example(), 1).straight().asked[0].question

    with pytest.raises(InvalidInput):
        question.check({"given": given})
