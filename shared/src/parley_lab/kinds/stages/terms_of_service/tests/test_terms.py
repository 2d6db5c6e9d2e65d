"""Terms to agree to."""

from dataclasses import replace
from uuid import UUID

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile, Stay
from parley_lab.kinds import PAGE, Ask, Blocked, Done, End, Json, Member
from parley_lab.kinds.stages.terms_of_service import KIND
from parley_lab.testing.views import own

PIA = Member(UUID(int=1), "c1/m1", "participant", "person", Profile(name="Pia"))
ANA = Member(UUID(int=2), "c1/m2", "participant", "agent", Profile(name="Ana"))
STAGE = KIND.example()


def test_who_declines_is_out_and_forgotten_where_the_stage_says_so() -> None:
    said = {PAGE: {"accepted": False}}

    assert KIND.completion(STAGE, own(PIA, own=said)) == Done(said[PAGE], (End("declined", forgets=True),))
    keeps = STAGE.model_copy(update={"delete_when_declined": False})
    assert KIND.completion(keeps, own(PIA, own=said)) == Done(said[PAGE], (End("declined"),))


def test_time_that_passes_is_no_consent() -> None:
    silent = STAGE.model_copy(update={"stay": Stay(at_most_seconds=60, then="go_on")})

    assert [problem.where for problem in KIND.problems(silent, [])] == ["stay.then"]
    assert KIND.problems(STAGE.model_copy(update={"stay": Stay(at_most_seconds=60)}), []) == []


def test_a_person_has_to_say_so_and_an_agent_accepts() -> None:
    assert isinstance(KIND.completion(STAGE, own(PIA)), Blocked)
    assert KIND.completion(STAGE, own(ANA)) == Done({"accepted": True})


@pytest.mark.parametrize("named", ["terms", "terms_of_service"])
def test_an_agent_declines_by_its_script(named: str) -> None:
    unwilling = replace(ANA, script={named: {"accept": False}})

    assert KIND.completion(STAGE, own(unwilling)) == Done({"accepted": False}, (End("declined", forgets=True),))


@pytest.mark.parametrize("answer", [None, {}, {"accepted": "perhaps"}, {"accepted": 1}, {"accepted": True, "x": 1}])
def test_what_is_neither_yes_nor_no_is_refused(answer: Json) -> None:
    questions = KIND.parts(STAGE).questions
    assert questions is not None
    question = questions.question(own(PIA), Ask(PIA.id, PAGE, "page"))
    assert question is not None

    with pytest.raises(InvalidInput):
        question.check(answer)
