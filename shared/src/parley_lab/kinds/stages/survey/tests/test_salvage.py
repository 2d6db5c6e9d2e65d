"""What is kept of unusable replies, and what a missing answer means for its readers."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parley_lab.base import rules
from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Done, Json, Member, Question, Substitute, UnusableReply
from parley_lab.kinds.stages.survey.asking import SurveyQuestions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.reporting import SurveyData
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

ADA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ada"))
STAGE = SurveyStage.model_validate(
    {
        "id": "page",
        "questions": [
            {"id": "view", "kind": "scale", "title": "Your view?", "lower": 1, "upper": 7},
            {
                "id": "why",
                "kind": "text",
                "title": "Why?",
                "min_chars": 10,
                "show_if": {"question": "view", "operator": "greater_than", "value": 4},
            },
            {"id": "whom", "kind": "choices", "title": "Whom?", "options": [{"id": "a", "text": "All"}]},
            {"id": "agree", "kind": "check", "title": "I agree.", "required": True},
        ],
    }
)
GOOD: dict[str, Json] = {"view": 6, "why": "Because it is late.", "whom": ["a"], "agree": True}


def wrote(**parsed: Json) -> UnusableReply:
    return UnusableReply(str(parsed), parsed, "it does not fit")


def whole_page(stage: SurveyStage = STAGE) -> Question:
    return SurveyQuestions(stage).question(own(ADA), Ask(ADA.id, PAGE, "page"))


def salvaged(*replies: UnusableReply) -> Substitute:
    found = whole_page().without_answer(replies)
    assert isinstance(found, Substitute)
    return found


def missing(found: Substitute) -> dict[str, str]:
    """The reasons of missing answers, by question."""
    return dict(found.missing or {})


def test_the_answers_that_fit_are_kept_beside_the_one_that_does_not() -> None:
    found = salvaged(wrote(**{**GOOD, "why": "I agree"}))

    assert found.value == {**GOOD, "why": None}
    assert found.missing == {"why": "expected was text of at least 10 characters; the last reply said 'I agree'"}


def test_an_earlier_reply_that_had_it_right_is_used() -> None:
    found = salvaged(wrote(**{**GOOD, "agree": False}), wrote(**{**GOOD, "why": "Hm", "view": 5, "agree": False}))

    assert found.value == {**GOOD, "view": 5, "agree": None}
    assert set(missing(found)) == {"agree"}


def test_a_question_whose_rule_looks_at_a_missing_answer_is_not_asked() -> None:
    found = salvaged(wrote(**{**GOOD, "view": 9}))

    assert found.value == {"view": None, "whom": ["a"], "agree": True}
    assert set(missing(found)) == {"view"}


def test_an_answer_to_a_question_that_does_not_come_up_is_not_looked_at() -> None:
    page = whole_page()
    model = page.reply_model()

    hidden = page.answer_from_reply(model.model_validate({**GOOD, "view": 2, "why": "Hm"}))
    shown = page.answer_from_reply(model.model_validate({**GOOD, "why": "Hm"}))

    assert page.check(hidden) == {"view": 2, "whom": ["a"], "agree": True}
    with pytest.raises(InvalidInput) as refused:
        page.check(shown)
    assert "text of at least 10 characters" in str(refused.value.problems[0])
    assert model.model_json_schema()["properties"]["why"]["minLength"] == 10


def test_a_text_that_is_too_short_is_told_in_characters() -> None:
    open_page = STAGE.model_copy(update={"questions": (STAGE.questions[1].model_copy(update={"show_if": None}),)})
    model = whole_page(open_page).reply_model()

    with pytest.raises(ValidationError, match="at least 10 characters"):
        model.model_validate({"why": "Hm"})


def test_of_a_reply_without_an_object_nothing_is_left() -> None:
    found = salvaged(UnusableReply("I would rather not.", None, "the reply is not a JSON object"))

    assert found.value == {"view": None, "whom": None, "agree": None}
    assert missing(found)["whom"].endswith("the reply is not a JSON object: 'I would rather not.'")


def test_slips_that_replies_may_have_are_read_as_always() -> None:
    assert salvaged(wrote(**{**GOOD, "view": 6.0, "agree": "true", "why": "?"})).value == {**GOOD, "why": None}


VALUES: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-3, 12) | st.text() | st.just(["a"])


@given(st.lists(st.dictionaries(st.sampled_from([*GOOD]), VALUES | st.sampled_from(list(GOOD.values()))), min_size=1))
def test_whatever_is_salvaged_is_a_page_that_may_be_stored(replies: list[dict[str, Any]]) -> None:
    found = salvaged(*(wrote(**one) for one in replies))

    entries = {f"question:{name}": value for name, value in found.value.items()}
    by_question = STAGE.model_copy(update={"ask": "sequential"})
    assert KIND.completion(by_question, own(ADA, own=entries)) == Done(found.value)
    assert set(missing(found)) == {name for name, value in found.value.items() if value is None}


@pytest.mark.parametrize("operator", ["equals", "not_equals", "greater_than", "less_than", "contains", "not_contains"])
def test_rules_on_a_missing_answer_are_false(operator: str) -> None:
    rule = rules.Comparison.model_validate({"question": "view", "operator": operator, "value": None})

    assert not rules.holds(rule, {"page": {"view": None}}, "page")


def test_cells_of_missing_answers_are_empty_and_prompts_say_so() -> None:
    page = {"view": None, "whom": None, "agree": None}
    view = own(ADA, own={PAGE: page})

    assert SurveyData(STAGE).cells(page) == {"view": None, "whom.a": None, "agree": None}
    (block,) = KIND.prompt(STAGE, view)
    assert block.text.count("(no answer)") == 3
    assert KIND.completion(STAGE, view) == Done()


def test_a_question_that_numbers_without_their_total_brought_up_gets_no_answer() -> None:
    share = {"kind": "number", "title": "How much?", "minimum": 0, "group": "shares"}
    over = {"question": "rent", "operator": "greater_than", "value": 20}
    stage = SurveyStage.model_validate(
        {
            "id": "page",
            "groups": {"shares": {"total": {"equals": 100}}},
            "questions": [
                {**share, "id": "rent"},
                {**share, "id": "food"},
                {"id": "why", "kind": "text", "title": "Why?", "show_if": over},
                {"id": "less", "kind": "number", "title": "Less?", "maximum": {"question": "rent"}},
            ],
        }
    )

    found = whole_page(stage).without_answer([wrote(rent=30, food=30, why="Rents are high.", less=90)])

    assert isinstance(found, Substitute)
    assert found.value == {"rent": None, "food": None, "less": 90}
    assert set(missing(found)) == {"rent", "food"}
