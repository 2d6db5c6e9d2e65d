"""Answers to a page of questions."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Blocked, Done, Member, OwnView
from parley_lab.kinds import Question as Asked
from parley_lab.kinds.questions.numeric_questions import ScaleQuestion
from parley_lab.kinds.questions.questions import BaseQuestion, Unfit
from parley_lab.kinds.questions.sheet import AnyQuestion
from parley_lab.kinds.stages.survey.asking import SurveyQuestions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.reporting import SurveyData
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

ANA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ana"))
VIEW = own(ANA)
WHOLE_PAGE = Ask(ANA.id, PAGE, "page")
OPTIONS = [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}, {"id": "c", "text": "C"}]
QUESTION: TypeAdapter[BaseQuestion] = TypeAdapter(AnyQuestion)


def question(kind: str, **fields: Any) -> BaseQuestion:
    return QUESTION.validate_python({"id": "q", "title": "Well?", "kind": kind, **fields})


def survey(*questions: dict[str, Any], stage_id: str = "page") -> SurveyStage:
    named = [{"id": f"q{number}", "title": "Well?", **fields} for number, fields in enumerate(questions)]
    return SurveyStage.model_validate({"id": stage_id, "questions": named})


def whole_page(stage: SurveyStage, view: OwnView = VIEW) -> Asked:
    return SurveyQuestions(stage).question(view, WHOLE_PAGE)


def problems_of(stage: SurveyStage, answer: Any, view: OwnView = VIEW) -> dict[str, str]:
    with pytest.raises(InvalidInput) as refused:
        whole_page(stage, view).check(answer)
    return {problem.where: problem.expected for problem in refused.value.problems}


@pytest.mark.parametrize(
    ("asked", "value", "stored"),
    [
        (question("text", min_chars=2), "  ab ", "ab"),
        (question("text", min_chars=0), "", ""),
        (question("check"), False, False),
        (question("choice", options=OPTIONS), "b", "b"),
        (question("choices", options=OPTIONS), ["c", "a"], ["a", "c"]),
        (question("choices", options=OPTIONS), [], []),
        (question("number"), 1.5, 1.5),
        (question("number", integer=True), 3.0, 3),
        (question("number", minimum=0), 0, 0),
        (question("scale", lower=1, upper=7), 7, 7),
        (question("scale", lower=0, upper=1, step=0.1), 0.3, 0.3),
        (question("scale", lower=-5, upper=5, step=5), 0, 0),
    ],
)
def test_a_fitting_answer_is_stored(asked: BaseQuestion, value: Any, stored: Any) -> None:
    assert asked.stored(value) == stored
    assert type(asked.stored(value)) is type(stored)


def test_a_file_may_ask_for_longer_texts_than_usual() -> None:
    for asked in (question("text", max_chars=20_000), question("text", min_chars=15_000)):
        assert asked.stored("x" * 15_000) == "x" * 15_000


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        (question("text"), "  "),
        (question("text"), 5),
        (question("text"), "a\0b"),
        (question("text", max_chars=2), "abc"),
        (question("text"), "x" * 10_001),
        (question("check", required=True), False),
        (question("check"), 1),
        (question("choice", options=OPTIONS), "A"),
        (question("choice", options=OPTIONS), ["a"]),
        (question("choices", options=OPTIONS), ["a", "a"]),
        (question("choices", options=OPTIONS), ["a", "z"]),
        (question("choices", options=OPTIONS), "a"),
        (question("choices", options=OPTIONS), [["a"]]),
        (question("choices", options=OPTIONS, min_chosen=1), []),
        (question("choices", options=OPTIONS, max_chosen=1), ["a", "b"]),
        (question("number"), "3"),
        (question("number"), True),
        (question("number"), float("nan")),
        (question("number"), float("inf")),
        (question("number", integer=True), 1.5),
        (question("number", integer=True), float("inf")),
        (question("number", maximum=3), 4),
        (question("scale", lower=1, upper=7), 9),
        (question("scale", lower=1, upper=7), 2.5),
        (question("scale", lower=0, upper=1, step=0.1), 0.35),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(asked: BaseQuestion, value: Any) -> None:
    with pytest.raises(Unfit):
        asked.stored(value)


@pytest.mark.parametrize(
    "asked",
    [question("number", integer=True), question("number"), question("scale"), question("scale", step=0.5)],
)
@pytest.mark.parametrize("value", [10**400, 2**63, -(2**64), float("inf"), float("nan")])
def test_a_number_that_cannot_be_stored_is_no_answer(asked: BaseQuestion, value: Any) -> None:
    with pytest.raises(Unfit):
        asked.stored(value)
    with pytest.raises(ValidationError):
        TypeAdapter(asked.reply_type()).validate_python(value)


def test_a_whole_number_that_is_written_as_a_fraction_has_at_most_63_bits_too() -> None:
    age = question("number", integer=True)

    assert age.stored(2.0**62) == 2**62
    with pytest.raises(Unfit):
        age.stored(1e308)
    with pytest.raises(ValidationError):
        TypeAdapter(age.reply_type()).validate_python(1e308)


def test_all_problems_of_a_page_are_told_at_once() -> None:
    stage = survey({"kind": "number"}, {"kind": "choice", "options": OPTIONS}, {"kind": "check"}, {"kind": "text"})

    problems = problems_of(stage, {"q0": "x", "q1": "z", "zz": 1})

    assert set(problems) == {"q0", "q1", "q3", "zz"}


def test_a_box_that_is_not_ticked_counts_as_not_ticked() -> None:
    assert whole_page(survey({"kind": "check"})).check({}) == {"q0": False}


@pytest.mark.parametrize("answer", [None, [], "x"])
def test_a_page_without_an_object_is_refused(answer: Any) -> None:
    assert "" in problems_of(survey({"kind": "text"}), answer)


CONDITIONAL = survey(
    {"kind": "choice", "options": OPTIONS},
    {"kind": "text", "show_if": {"question": "q0", "value": "a"}},
)


def test_a_hidden_question_is_not_required_and_takes_no_answer() -> None:
    assert whole_page(CONDITIONAL).check({"q0": "b"}) == {"q0": "b"}
    assert whole_page(CONDITIONAL).check({"q0": "b", "q1": None}) == {"q0": "b"}
    assert set(problems_of(CONDITIONAL, {"q0": "b", "q1": "why"})) == {"q1"}
    assert set(problems_of(CONDITIONAL, {"q0": "a"})) == {"q1"}


def test_what_a_model_says_to_a_hidden_question_is_left_out() -> None:
    page = whole_page(CONDITIONAL)
    model = page.reply_model()

    answers = [page.answer_from_reply(model.model_validate({"q0": chosen, "q1": "why"})) for chosen in "ab"]

    assert answers == [{"q0": "a", "q1": "why"}, {"q0": "b"}]


LATER = survey({"kind": "text", "show_if": {"stage": "first", "question": "x", "value": 1}}, stage_id="later")


def test_an_answer_of_an_earlier_stage_brings_up_a_question() -> None:
    shown = own(ANA, earlier={"first": {"x": 1}})
    other = own(ANA, earlier={"second": {"x": 1}})

    assert SurveyQuestions(LATER).due(shown) == [Ask(ANA.id, PAGE, "page")]
    assert set(problems_of(LATER, {}, shown)) == {"q0"}
    assert SurveyQuestions(LATER).due(other) == []
    assert KIND.completion(LATER, other) == Done()
    assert KIND.page(LATER, other).questions == []


def test_a_page_waits_for_its_answer() -> None:
    stage = survey({"kind": "text"})

    assert isinstance(KIND.completion(stage, VIEW), Blocked)
    assert KIND.completion(stage, own(ANA, own={PAGE: {"q0": "x"}})) == Done()


@pytest.mark.parametrize(
    "bad",
    [
        {"q": 9},
        {"q": "3"},
        {"q": True},
        {"q": 2.5},
        {},
        {"q": 3, "r": 1},
    ],
)
def test_a_reply_out_of_the_scale_is_invalid(bad: dict[str, Any]) -> None:
    stage = SurveyStage(id="s", questions=(ScaleQuestion(id="q", title="t", lower=1, upper=7),))
    page = whole_page(stage)
    model = page.reply_model()

    assert page.answer_from_reply(model.model_validate({"q": 7.0})) == {"q": 7}
    with pytest.raises(ValidationError):
        model.model_validate(bad)


@pytest.mark.parametrize(
    ("questions", "where"),
    [
        ([{"kind": "text", "min_chars": 5, "max_chars": 3}], "questions[0].max_chars"),
        ([{"kind": "choice", "options": OPTIONS, "correct": "z"}], "questions[0].correct"),
        ([{"kind": "choice", "options": [*OPTIONS, OPTIONS[0]]}], "questions[0].options[3].id"),
        ([{"kind": "choices", "options": OPTIONS, "min_chosen": 3, "max_chosen": 2}], "questions[0].min_chosen"),
        ([{"kind": "choices", "options": OPTIONS, "max_chosen": 4}], "questions[0].max_chosen"),
        ([{"kind": "number", "minimum": 3, "maximum": 2}], "questions[0].maximum"),
        ([{"kind": "number", "integer": True, "minimum": 17.5}], "questions[0].minimum"),
        ([{"kind": "number", "integer": True, "maximum": 1e30}], "questions[0].maximum"),
        ([{"kind": "scale", "upper": 1e300}], "questions[0].upper"),
        ([{"kind": "scale", "lower": 3, "upper": 3}], "questions[0].upper"),
        ([{"kind": "scale", "upper": 7, "step": 2}], "questions[0].step"),
        ([{"kind": "check"}, {"kind": "check", "id": "q0"}], "questions[1].id"),
        (
            [{"kind": "text", "show_if": {"question": "q1", "value": 1}}, {"kind": "check"}],
            "questions[0].show_if.question",
        ),
        (
            [{"kind": "text", "show_if": {"all": [{"stage": "no", "question": "x", "value": 1}]}}],
            "questions[0].show_if.all[0].stage",
        ),
    ],
)
def test_a_survey_that_makes_no_sense_says_where(questions: list[dict[str, Any]], where: str) -> None:
    assert [problem.where for problem in KIND.problems(survey(*questions), [])] == [where]


def test_the_middle_of_a_scale_between_huge_ends_can_be_told() -> None:
    huge = question("scale", lower=1.5e308, upper=1.7e308, step=1e307, middle_text="half")

    assert "1.6e+308 = half" in huge.hint()


def test_several_choices_are_one_column_per_option() -> None:
    data = SurveyData(survey({"kind": "choices", "options": OPTIONS}))

    assert [column.name for column in data.columns()] == ["q0.a", "q0.b", "q0.c"]
    assert data.cells({"q0": ["c"]}) == {"q0.a": False, "q0.b": False, "q0.c": True}


def test_a_prompt_shows_answers_in_words_and_only_those_in_view() -> None:
    ben = Member(UUID(int=2), "c1/m2", "participant", "agent", Profile(name="Ben"))
    stage = survey({"kind": "choices", "options": OPTIONS}, {"kind": "scale", "upper_text": "much"})
    answered = own(ANA, ben, shown={ben.id: {"q0": ["a", "b"], "q1": 3}})

    mine, other = KIND.prompt(stage, answered)

    assert mine.text == "Your answers: none."
    assert other.text == "Answers of Ben:\n- Well? A; B\n- Well? 3, on a scale from 0 to 10 (10 = much)"


@given(st.integers(-100, 100), st.integers(1, 40), st.sampled_from([1, 2, 0.5, 0.25, 0.1]), st.integers(0, 1000))
def test_every_point_of_a_scale_fits_and_nothing_between(lower: int, steps: int, step: float, pick: int) -> None:
    upper = lower + steps * step
    asked = ScaleQuestion(id="q", title="t", lower=lower, upper=round(upper, 6), step=step)
    point = round(lower + (pick % (steps + 1)) * step, 6)

    assert list(asked.problems()) == []
    assert asked.stored(point) == point
    assert Draft202012Validator(asked.field_schema()).is_valid(point)
    with pytest.raises(Unfit):
        asked.stored(point + step / 3)


def test_an_answer_that_is_missing_is_neither_right_nor_wrong() -> None:
    options = [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}]
    questions = [{"id": f"q{n}", "kind": "choice", "title": "?", "options": options, "correct": "a"} for n in range(3)]
    stage = SurveyStage.model_validate({"id": "s", "kind": "survey", "questions": questions})

    cells = SurveyData(stage).cells({"q0": "a", "q1": None})

    assert (cells["q0.correct"], cells["q1.correct"], cells["q1.text"], cells["score"]) == (True, None, None, 1)


def test_no_question_takes_the_column_of_the_score() -> None:
    options = [{"id": "a", "text": "A"}]
    question = {"kind": "choice", "title": "?", "options": options}
    marked = [{"id": "score", **question}, {"id": "q", **question, "correct": "a"}]

    def problems(questions: list[dict[str, Any]]) -> list[str]:
        stage = SurveyStage.model_validate({"id": "s", "kind": "survey", "questions": questions})
        return [problem.where for problem in KIND.problems(stage, [])]

    assert problems(marked) == ["questions[0].id"]
    assert problems([{**question, "id": "score"}]) == []
