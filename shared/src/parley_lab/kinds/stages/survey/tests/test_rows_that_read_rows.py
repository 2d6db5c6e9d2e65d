"""Agents that are asked row by row, where rules and bounds read the answers about other rows."""

from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import Ask, Done, Member, OwnView, Question, Substitute, UnusableReply
from parley_lab.kinds.questions.own_order import OrderDraws
from parley_lab.kinds.scripted import filled
from parley_lab.kinds.stages.survey.asking import SurveyQuestions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

ADA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ada"))
PEAKS = [{"id": "everest"}, {"id": "k2"}, {"id": "eiger"}]
GUESS = {"kind": "number", "id": "guess", "title": "How high is {{row.id}}?", "minimum": 0, "maximum": 10}
HIGH = {"question": "everest.guess", "operator": "greater_than", "value": 5}
WHY = {"kind": "text", "id": "why", "title": "Why {{row.id}}?", "show_if": HIGH}
LESS = {"kind": "number", "id": "less", "title": "And less?", "maximum": {"question": "everest.guess"}}


def survey(questions: list[dict[str, Any]], **rows: Any) -> SurveyStage:
    fields = {"id": "page", "questions": questions, "rows": {"items": PEAKS, **rows}, "ask": "by_row"}
    stage = SurveyStage.model_validate(fields)
    assert not KIND.problems(stage, [])
    return stage


def view_of(entries: dict[str, Any], seed: int = 1) -> OwnView:
    return own(ADA, own=entries, draws=OrderDraws().draw([], {}, Random(seed)))


Answering = Callable[[Question, Ask], Any]


def asked_to_the_end(stage: SurveyStage, answer: Answering, seed: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """The entries of an agent that answers each row that is due, and the page made of them."""
    questions, entries = SurveyQuestions(stage), dict[str, Any]()
    while due := questions.due(view_of(entries, seed)):
        assert due[0].key not in entries
        entries[due[0].key] = answer(questions.question(view_of(entries, seed), due[0]), due[0])
    done = KIND.completion(stage, view_of(entries, seed))
    assert isinstance(done, Done)
    return entries, dict(done.page or {})


def reply_of(question: Question, ask: Ask, **said: Any) -> BaseModel:
    row = ask.key.removeprefix("row:")
    fields = {field.alias for field in question.reply_model().model_fields.values()}
    given = {f"{row}.{name}": value for name, value in said.items() if f"{row}.{name}" in fields}
    return question.reply_model().model_validate(given)


@pytest.mark.parametrize(("height", "has_why"), [(9, True), (2, False)])
def test_a_rule_over_another_row_decides_what_an_agent_is_asked(height: int, has_why: bool) -> None:
    def says(question: Question, ask: Ask) -> Any:
        return question.check(question.answer_from_reply(reply_of(question, ask, guess=height, why="Because.")))

    _, page = asked_to_the_end(survey([GUESS, WHY]), says)

    assert [f"{one['id']}.why" in page for one in PEAKS] == [has_why] * 3


def test_an_agent_is_asked_nothing_about_a_row_whose_questions_another_row_hides() -> None:
    stage = survey([{**GUESS, "show_if": {"row": "id", "value": "everest"}}, WHY])

    def says(question: Question, ask: Ask) -> Any:
        return question.check(question.answer_from_reply(reply_of(question, ask, guess=2, why="So.")))

    entries, page = asked_to_the_end(stage, says)

    assert list(entries) == ["row:everest"]
    assert page == {"everest.guess": 2}


def test_the_prompt_of_a_row_has_the_questions_that_another_row_brings_up_and_no_rule() -> None:
    stage, answered = survey([GUESS, WHY]), {"row:everest": {"everest.guess": 9, "everest.why": "Snow."}}
    asked = Ask(ADA.id, "row:k2", "row")

    told = KIND.prompt(stage, view_of(answered), asked)[0].text
    form = SurveyQuestions(stage).question(view_of(answered), asked).form().json_schema()

    assert "- Why k2? [text]" in told.splitlines()
    assert list(form["properties"]) == ["k2.guess", "k2.why"]
    assert "counts only if" not in told


def test_an_answer_about_another_row_bounds_that_about_this_one() -> None:
    stage, answered = survey([GUESS, LESS]), {"row:everest": {"everest.guess": 4, "everest.less": 3}}

    schema = SurveyQuestions(stage).question(view_of(answered), Ask(ADA.id, "row:k2", "row")).form().json_schema()

    assert schema["properties"]["k2.less"]["maximum"] == 4


@given(st.integers(0, 10**6), st.booleans())
def test_every_agent_comes_to_the_end_of_its_rows(seed: int, shuffles: bool) -> None:
    stage = survey([GUESS, WHY, LESS], **({"shuffle": True, "take": 2} if shuffles else {}))
    rng = Random(seed)

    asked_to_the_end(stage, lambda question, _: question.check(filled(question.form(), rng)), seed)


@given(st.integers(0, 10**6), st.booleans())
def test_an_agent_whose_replies_cannot_be_used_comes_to_the_end_as_well(seed: int, shuffles: bool) -> None:
    stage = survey([GUESS, WHY, LESS], **({"shuffle": True} if shuffles else {}))
    rng = Random(seed)

    def says(_: Question, ask: Ask) -> Any:
        row = ask.key.removeprefix("row:")
        possible: dict[str, Any] = {"guess": rng.choice([3, 9, "many"]), "why": rng.choice(["So.", 7]), "less": 6}
        found = SurveyQuestions(stage).question(view_of(so_far, seed), ask)
        substitute = found.without_answer([UnusableReply("", {f"{row}.{k}": v for k, v in possible.items()}, "no")])
        assert isinstance(substitute, Substitute)
        so_far[ask.key] = substitute.value
        return substitute.value

    so_far: dict[str, Any] = {}
    asked_to_the_end(stage, says, seed)
