"""Questions that are asked one by one."""

from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.base.schema_filler import fill
from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Blocked, Done, Member, OwnView, Question
from parley_lab.kinds.stages.survey.asking import SurveyQuestions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

ANA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ana"))
YES_NO = [{"id": "yes", "text": "Yes"}, {"id": "no", "text": "No"}]


def survey(ask: str, *questions: dict[str, Any]) -> SurveyStage:
    named = [{"id": f"q{number}", "title": f"Well {number}?", **fields} for number, fields in enumerate(questions)]
    return SurveyStage.model_validate({"id": "page", "ask": ask, "questions": named})


def choice(**fields: Any) -> dict[str, Any]:
    return {"kind": "choice", "options": YES_NO, **fields}


def shown_if(question: str, value: str = "yes", **fields: Any) -> dict[str, Any]:
    return choice(show_if={"question": question, "value": value, **fields})


def view(**entries: Any) -> OwnView:
    return own(ANA, own={f"question:{name}": value for name, value in entries.items()})


def due(stage: SurveyStage, **entries: Any) -> list[str]:
    return [ask.key.removeprefix("question:") for ask in SurveyQuestions(stage).due(view(**entries))]


def ask_for(name: str) -> Ask:
    return Ask(ANA.id, f"question:{name}", "question")


def asked(stage: SurveyStage, name: str, **entries: Any) -> Question:
    return SurveyQuestions(stage).question(view(**entries), ask_for(name))


def whole_page(stage: SurveyStage, seen: OwnView) -> Question:
    return SurveyQuestions(stage).question(seen, Ask(seen.me.id, PAGE, "page"))


def test_a_sequence_asks_one_question_after_the_other() -> None:
    stage = survey("sequential", choice(), choice(), choice())

    assert [due(stage), due(stage, q0="no"), due(stage, q0="no", q1="no")] == [["q0"], ["q1"], ["q2"]]
    assert due(stage, q0="no", q1="no", q2="no") == []


def test_a_hidden_question_is_never_asked() -> None:
    stage = survey("sequential", choice(), shown_if("q0"), choice())

    assert due(stage, q0="yes") == ["q1"]
    assert due(stage, q0="no") == ["q2"]


def test_independent_questions_are_asked_at_once_and_dependent_ones_when_that_is_answered() -> None:
    stage = survey("independent", choice(), shown_if("q0"), choice(), shown_if("q1"))

    assert due(stage) == ["q0", "q2"]
    assert due(stage, q2="no") == ["q0"]
    assert due(stage, q0="yes") == ["q1", "q2"]
    assert due(stage, q0="no") == ["q2"]
    assert due(stage, q0="yes", q1="yes", q2="no") == ["q3"]


def test_the_page_is_all_entries_once_nothing_is_left_to_ask() -> None:
    stage = survey("independent", choice(), shown_if("q0"), choice())

    assert isinstance(KIND.completion(stage, view(q0="no")), Blocked)
    assert KIND.completion(stage, view(q0="no", q2="yes")) == Done({"q0": "no", "q2": "yes"})


def test_a_page_in_which_no_question_comes_up_is_empty() -> None:
    stage = survey("sequential", shown_if("x", stage="before"), shown_if("q0"))

    assert due(stage) == []
    assert KIND.completion(stage, view()) == Done({})


def test_people_give_the_page_as_a_whole() -> None:
    person = Member(UUID(int=2), "c1/m2", "participant", "person", Profile())
    stage = survey("sequential", choice())
    seen = own(person)

    assert SurveyQuestions(stage).due(seen) == []
    assert isinstance(KIND.completion(stage, seen), Blocked)
    assert whole_page(stage, seen).check({"q0": "no"}) == {"q0": "no"}


def test_one_answer_is_checked_by_its_question() -> None:
    stage = survey("independent", {"kind": "number", "maximum": 3}, choice())

    assert asked(stage, "q0").check(2) == 2
    with pytest.raises(InvalidInput) as refused:
        asked(stage, "q0").check(4)
    assert [problem.where for problem in refused.value.problems] == ["q0"]


def test_a_prompt_shows_one_question_and_only_in_a_sequence_the_answers_before() -> None:
    for mode, shows_answers in (("sequential", True), ("independent", False)):
        stage = survey(mode, choice(), choice(), choice())

        (block,) = KIND.prompt(stage, view(q0="yes"), ask_for("q1"))

        assert "Well 1?" in block.text
        assert "Well 2?" not in block.text
        assert ("Well 0?" in block.text) is shows_answers


def test_a_reply_to_one_question_has_only_its_field() -> None:
    stage = survey("independent", choice(), {"kind": "text"})
    question = asked(stage, "q1")
    model = question.reply_model()

    assert list(model.model_json_schema()["properties"]) == ["q1"]
    assert question.answer_from_reply(model.model_validate({"q1": "Well"})) == "Well"


_RULES = st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 7), st.sampled_from(["yes", "no"]))), max_size=8)


@given(_RULES, st.sampled_from(["sequential", "independent"]), st.randoms(use_true_random=False))
def test_any_order_of_answers_comes_to_a_page_that_people_could_have_given(
    written: list[tuple[int, str] | None], mode: str, rng: Random
) -> None:
    questions = [
        shown_if(f"q{rule[0] % number}", rule[1]) if rule and number else choice()
        for number, rule in enumerate([None, *written])
    ]
    stage = survey(mode, *questions)
    entries: dict[str, Any] = {}
    while wanted := due(stage, **entries):
        name = rng.choice(wanted)
        model = asked(stage, name, **entries).reply_model()
        entries[name] = fill(model.model_json_schema(), rng)[name]

    assert KIND.completion(stage, view(**entries)) == Done(entries)
    assert whole_page(stage, view()).check(entries) == entries
