"""Grids, answers that may be left out, hints for pages, answers that are marked, and scripts."""

from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Member, Question, UnusableReply
from parley_lab.kinds.questions.numeric_questions import NumberQuestion, ScaleQuestion
from parley_lab.kinds.stages.survey.asking import SurveyQuestions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.reporting import SurveyData
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

ANA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ana"))
GRID: dict[str, Any] = {
    "id": "matters",
    "kind": "grid",
    "title": "How much does it matter?",
    "lower": 1,
    "upper": 5,
    "upper_text": "a lot",
    "rows": [{"id": "price", "text": "The price"}, {"id": "noise-level", "text": "The noise"}],
}
TOWN: dict[str, Any] = {
    "id": "town",
    "kind": "choice",
    "title": "Town",
    "correct": "a",
    "options": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}],
}


def survey(*questions: dict[str, Any], **fields: Any) -> SurveyStage:
    return SurveyStage.model_validate({"id": "page", "questions": questions, **fields})


def page_of(stage: SurveyStage) -> Question:
    return SurveyQuestions(stage).question(own(ANA), Ask(ANA.id, PAGE, "page"))


def test_a_grid_has_a_value_and_a_column_for_each_row() -> None:
    stage, answer = survey(GRID), {"matters": {"price": 5, "noise-level": 1}}
    question, data = page_of(stage), SurveyData(stage)

    assert question.check(answer) == answer
    assert data.cells(answer) == {"matters.price": 5, "matters.noise-level": 1}
    assert [column.type for column in data.columns()] == ["integer", "integer"]
    assert data.answered(PAGE, answer)[0].text == "The price: 5; The noise: 1, on a scale from 1 to 5 (5 = a lot)"
    assert "The noise" in KIND.prompt(stage, own(ANA), Ask(ANA.id, PAGE, "page"))[0].text


def test_a_reply_of_a_model_to_a_grid_has_a_field_for_each_row() -> None:
    question = page_of(survey(GRID))
    schema = question.reply_model().model_json_schema()
    reply = {"matters": {"price": 2, "noise-level": 3}}

    Draft202012Validator(schema).validate(reply)
    assert question.answer_from_reply(question.reply_model().model_validate(reply)) == reply


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        {},
        {"price": 5},
        {"price": 5, "noise-level": 6},
        {"price": 5, "noise-level": 1, "x": 1},
        {"price": None, "noise-level": 1},
    ],
)
def test_a_grid_that_is_not_filled_in_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        page_of(survey(GRID)).check({"matters": value})

    assert [problem.where for problem in refused.value.problems] == ["matters"]


def test_rows_of_a_grid_have_ids_of_their_own() -> None:
    twice = {**GRID, "rows": [GRID["rows"][0]] * 2}

    assert [one.where for one in KIND.problems(survey(twice), [])] == ["questions[0].rows[1].id"]


OPTIONAL: list[dict[str, Any]] = [
    {"id": "q", "kind": "text", "title": "Q"},
    {"id": "q", "kind": "number", "title": "Q"},
    {"id": "q", "kind": "scale", "title": "Q"},
    {**TOWN, "id": "q"},
    {"id": "q", "kind": "choices", "title": "Q", "options": TOWN["options"], "min_chosen": 1},
    {**GRID, "id": "q"},
]


@pytest.mark.parametrize("question", OPTIONAL, ids=lambda one: one["kind"])
def test_an_answer_may_be_left_out_where_the_question_says_so(question: dict[str, Any]) -> None:
    stage = survey({**question, "required": False})
    asked = page_of(stage)

    assert asked.check({}) == asked.check({"q": None}) == {"q": None}
    assert asked.form().json_schema()["required"] == []
    assert asked.answer_from_reply(asked.reply_model().model_validate({"q": None})) == {"q": None}
    assert asked.reply_model().model_json_schema()["required"] == ["q"]
    assert {cell for name, cell in SurveyData(stage).cells({"q": None}).items() if name != "score"} == {None}
    with pytest.raises(InvalidInput):
        page_of(survey(question)).check({})


def test_blank_words_are_no_answer_where_none_is_needed() -> None:
    stage = survey({"id": "q", "kind": "text", "title": "Q", "required": False})

    assert page_of(stage).check({"q": "  "}) == {"q": None}


def test_an_unusable_reply_to_a_question_that_may_be_left_out_is_missing() -> None:
    stage = survey({"id": "q", "kind": "number", "title": "Q", "required": False})

    found = page_of(stage).without_answer([UnusableReply("{}", {"q": "many"}, "no number")])

    assert found != "drop"
    assert (found.value, set(found.missing or ())) == ({"q": None}, {"q"})


@pytest.mark.parametrize(
    ("question", "widget"),
    [
        (TOWN, None),
        ({**TOWN, "widget": "dropdown"}, "dropdown"),
        ({"id": "q", "kind": "scale", "title": "Q"}, "scale"),
        ({"id": "q", "kind": "scale", "title": "Q", "widget": "slider"}, "slider"),
        (GRID, "grid"),
    ],
)
def test_forms_say_how_a_page_shows_a_question(question: dict[str, Any], widget: str | None) -> None:
    (field,) = page_of(survey(question)).form().json_schema()["properties"].values()

    assert field.get("x-widget") == widget


@pytest.mark.parametrize("shows", [False, True])
def test_which_answers_were_right_is_shown_afterwards_where_the_survey_says_so(*, shows: bool) -> None:
    stage = survey(TOWN, GRID, show_correct=shows)
    answered = {"town": "b", "matters": {"price": 1, "noise-level": 1}}
    before, after = own(ANA), own(ANA, own={PAGE: answered})

    assert KIND.page(stage, before).is_right == {}
    assert KIND.page(stage, after).is_right == ({"town": False} if shows else {})
    assert ("(wrong)" in KIND.prompt(stage, after)[0].text) is shows
    assert "correct" not in KIND.page(stage, after).model_dump_json()


def test_a_script_answers_what_it_says_and_draws_the_rest() -> None:
    stage = survey(TOWN, {"id": "why", "kind": "text", "title": "W", "show_if": {"question": "town", "value": "b"}})
    scripts = KIND.parts(stage).scripts
    assert scripts is not None
    told = replace(ANA, player="script", script={"page": {"answers": {"town": "b", "why": "so"}}})
    draws = replace(told, script={"survey": {"policy": "random"}})

    assert scripts.page(own(told), Random(1)) == {"town": "b", "why": "so"}
    assert {scripts.page(own(draws), Random(seed))["town"] for seed in range(20)} == {"a", "b"}  # type: ignore[index]
    assert scripts.page(own(ANA), Random(1)) is None
    assert scripts.problems(told.script["page"]) == []
    wrong = {"answers": {"town": "c", "x": 1}}
    assert [one.where for one in scripts.problems(wrong)] == ["answers.town", "answers.x"]


def test_the_middle_of_a_scale_is_told_with_all_its_digits() -> None:
    fields = {"id": "paid", "title": "Paid?", "upper": 2469135, "step": 2469135, "middle_text": "half"}

    assert "1234567.5 = half" in ScaleQuestion.model_validate(fields).hint()


@pytest.mark.parametrize(("answer", "words"), [(1500000.0, "1500000"), (0.5, "0.5"), (3, "3")])
def test_a_prompt_has_a_number_as_it_was_answered(answer: float, words: str) -> None:
    asked = NumberQuestion.model_validate({"id": "paid", "title": "Paid?"})

    assert asked.in_words(answer) == words
