"""Numbers of a page that belong together: sums, and bounds that are answers."""

from typing import Any

import pytest

from parley_lab.base import rules
from parley_lab.base.errors import InvalidInput
from parley_lab.design import validate
from parley_lab.kinds.parts import FilledIn
from parley_lab.kinds.questions import answers, sheet
from parley_lab.kinds.stages import read_stage
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.rules import KIND

SHARE = {"kind": "number", "minimum": 0, "group": "shares"}
PAGE: dict[str, Any] = {
    "id": "page",
    "kind": "survey",
    "groups": {"shares": {"total": {"equals": 100}}},
    "questions": [{**SHARE, "id": "rent", "title": "Rent?"}, {**SHARE, "id": "food", "title": "Food?"}],
}
BOUNDED: dict[str, Any] = {
    "id": "page",
    "kind": "survey",
    "questions": [
        {
            "id": "sent",
            "kind": "number",
            "title": "Sent?",
            "minimum": 0,
            "maximum": {"stage": "before", "question": "had"},
        },
        {"id": "back", "kind": "number", "title": "Back?", "maximum": {"question": "sent"}},
    ],
}
BEFORE = {"id": "before", "kind": "survey", "questions": [{"id": "had", "kind": "number", "title": "Had?"}]}


def survey(fields: dict[str, Any]) -> SurveyStage:
    found = read_stage(fields)
    assert isinstance(found, SurveyStage)
    return found


def refused(stage: SurveyStage, given: dict[str, Any], pages: Any = None) -> list[tuple[str, str | None]]:
    with pytest.raises(InvalidInput) as error:
        answers.check(stage, given, pages or {})
    return [(one.where, one.code) for one in error.value.problems]


def test_numbers_of_a_group_come_to_their_total() -> None:
    stage = survey(PAGE)

    assert answers.check(stage, {"rent": 99.9, "food": 0.1}, {}) == {"rent": 99.9, "food": 0.1}
    assert refused(stage, {"rent": 60, "food": 30}) == [("food", "total_equals")]
    # What is wrong by itself is told first.
    assert refused(stage, {"rent": -1, "food": 30}) == [("rent", "at_least")]


def test_a_large_sum_is_told_as_it_is() -> None:
    with pytest.raises(InvalidInput) as error:
        answers.check(survey(PAGE), {"rent": 1234567, "food": 0.5}, {})

    assert [one.found for one in error.value.problems] == ["1234567.5 in all"]


def test_the_lines_of_a_grid_come_to_their_total() -> None:
    rows = [{"id": one, "text": one} for one in "ab"]
    grid = {"id": "g", "kind": "grid", "title": "G", "upper": 100, "rows": rows, "total": {"at_most": 100}}
    stage = survey({**PAGE, "groups": {}, "questions": [grid]})

    assert answers.check(stage, {"g": {"a": 60, "b": 40}}, {})
    assert refused(stage, {"g": {"a": 60, "b": 41}}) == [("g", "total_at_most")]
    assert "add up to at most 100" in stage.questions[0].hint()


def test_an_answer_bounds_another_on_the_page_or_after_it() -> None:
    stage, pages = survey(BOUNDED), {"before": {"had": 10}}

    assert answers.check(stage, {"sent": 10, "back": 10}, pages)
    assert refused(stage, {"sent": 11, "back": 1}, pages) == [("sent", "at_most")]
    assert refused(stage, {"sent": 3, "back": 4}, pages) == [("back", "at_most")]
    shown = answers.possible_questions(stage, pages)
    assert [one.field_schema().get("maximum") for one in shown] == [10, None]
    assert shown[1].field_schema()["x-maximum"] == "sent"
    assert "at most the answer to sent" in shown[1].hint()


@pytest.mark.parametrize(
    ("stage", "where"),
    [
        ({**PAGE, "groups": {}}, "stages[1].questions[0].group"),
        ({**PAGE, "groups": {"shares": {"total": {}}}}, "stages[1].groups.shares.total"),
        ({**PAGE, "ask": "sequential"}, "stages[1].ask"),
        ({**BOUNDED, "ask": "independent"}, "stages[1].ask"),
        ({**BOUNDED, "questions": BOUNDED["questions"][::-1]}, "stages[1].questions[0].maximum.question"),
    ],
)
def test_what_cannot_be_met_is_refused_with_its_place(stage: dict[str, Any], where: str) -> None:
    file = {"parley": 1, "name": "X", "stages": [BEFORE, stage], "cohorts": [{"seats": [{"open": True}]}]}
    with pytest.raises(InvalidInput) as error:
        validate(file)

    assert where in [one.where for one in error.value.problems]


def test_a_prompt_does_not_tell_the_arm_by_which_a_question_is_shown() -> None:
    rule = {"all": [{"treatment": "told", "given": "told"}, {"question": "a", "value": True}]}
    asked = [{"id": "a", "kind": "check", "title": "A"}, {"id": "b", "kind": "check", "title": "B", "show_if": rule}]
    stage = survey({"id": "page", "kind": "survey", "questions": asked})

    told = answers.told_rule(stage.questions[1], stage, {})

    assert told is not None
    assert "told" not in rules.in_words(told)
    assert "a equals true" in rules.in_words(told)


def test_rules_totals_and_bounds_are_those_of_each_row() -> None:
    each = [
        {"id": "a", "kind": "number", "title": "A of {{row.what}}", "group": "sum"},
        {"id": "b", "kind": "number", "title": "B", "group": "sum", "maximum": {"question": "a"}},
        {"id": "c", "kind": "check", "title": "C", "show_if": {"row": "what", "value": "bus"}},
    ]
    rows = [{"id": "r1", "what": "bus"}, {"id": "r2", "what": "tram"}]
    groups = {"sum": {"total": {"equals": 10}}}
    stage = survey({"id": "page", "kind": "survey", "rows": rows, "groups": groups, "questions": each})
    ids = [one.id for one in answers.possible_questions(stage, {})]
    first, second = (ids[0], ids[1]), (ids[3], ids[4])

    assert len(ids) == 5
    assert [asked for _, asked in stage.totals()] == [[*first], [*second]]
    good = {first[0]: 5, first[1]: 5, ids[2]: True, second[0]: 9, second[1]: 1}
    assert answers.check(stage, good, {}) == good
    assert refused(stage, {**good, second[1]: 2}) == [(second[1], "total_equals")]
    assert refused(stage, {**good, first[0]: 4, first[1]: 6}) == [(first[1], "at_most")]


def test_the_answer_about_a_row_of_an_earlier_survey_bounds_a_number() -> None:
    before = {**BEFORE, "rows": [{"id": "r1"}, {"id": "r2"}]}
    bounded = {"id": "n", "kind": "number", "title": "N?", "maximum": {"stage": "before", "question": "r1.had"}}
    file = {
        "parley": 1,
        "name": "X",
        "stages": [before, {"id": "page", "kind": "survey", "questions": [bounded]}],
        "cohorts": [{"seats": [{"open": True}]}],
    }

    stage = validate(file).stages[1]

    assert isinstance(stage, SurveyStage)
    assert refused(stage, {"n": 4}, {"before": {"r1.had": 3, "r2.had": 9}}) == [("n", "at_most")]


SCALE: dict[str, Any] = {"kind": "scale", "title": "S?", "upper": 10, "step": 2}
TO_TEN: dict[str, Any] = {"kind": "number", "title": "N?", "minimum": 0, "maximum": 10, "integer": True}
GRID = {"kind": "grid", "title": "G?", "upper": 5, "rows": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}]}


def read_total(total: dict[str, Any], *asked: dict[str, Any]) -> list[str]:
    """A refusal says what the numbers can add up to."""
    grouped = [{**one, "id": f"q{place}", "group": "g"} for place, one in enumerate(asked)]
    page = {"id": "page", "kind": "survey", "groups": {"g": {"total": total}}, "questions": grouped}
    try:
        validate({"parley": 1, "name": "X", "stages": [page], "cohorts": [{"seats": [{"open": True}]}]})
    except InvalidInput as error:
        return [one.expected.partition(",")[0] for one in error.problems]
    return []


@pytest.mark.parametrize(
    ("total", "asked", "expected"),
    [
        ({"equals": 100}, [TO_TEN, TO_TEN], ["at most 20"]),
        ({"at_least": 21}, [TO_TEN, SCALE], ["at most 20"]),
        ({"equals": -1}, [TO_TEN, TO_TEN], ["at least 0"]),
        ({"at_most": 3}, [{**SCALE, "lower": 4}, TO_TEN], ["at least 4"]),
        ({"at_most": 3}, [{**SCALE, "lower": 4, "required": False}, TO_TEN], []),
        ({"equals": 7}, [SCALE, SCALE], ["6 or 8"]),
        ({"equals": 7}, [SCALE, TO_TEN], []),
        ({"equals": 2.5}, [TO_TEN, TO_TEN], ["2 or 3"]),
        ({"equals": 12345678.5}, [{**TO_TEN, "maximum": None}], ["12345678 or 12345679"]),
        ({"equals": 9}, [{**SCALE, "upper": 1, "step": 0.25}], ["at most 1"]),
        ({"equals": 0.3}, [{**SCALE, "upper": 1, "step": 0.25}], ["0.25 or 0.5"]),
        ({"equals": 2.5}, [TO_TEN, {**TO_TEN, "integer": False}], []),
        ({"equals": 0.3}, [{**SCALE, "upper": 1, "step": 0.1}] * 2, []),
        ({"equals": 5}, [{**SCALE, "lower": 1, "upper": 9}, {**SCALE, "lower": 1, "upper": 9}], ["4 or 6"]),
        ({"equals": 5}, [{**SCALE, "lower": 1, "upper": 9, "required": False}] * 2, []),
        ({"equals": 1000}, [TO_TEN, {**TO_TEN, "maximum": {"question": "q0"}}], []),
        ({"equals": 1000}, [{**TO_TEN, "maximum": None}], []),
    ],
)
def test_a_total_that_no_numbers_add_up_to_is_refused(total: Any, asked: Any, expected: list[str]) -> None:
    assert read_total(total, *asked) == expected


def test_the_total_of_a_grid_is_one_that_its_lines_can_come_to() -> None:
    page = {"id": "page", "kind": "survey", "questions": [{**GRID, "id": "g", "total": {"equals": 11}}]}

    with pytest.raises(InvalidInput) as error:
        validate({"parley": 1, "name": "X", "stages": [page], "cohorts": [{"seats": [{"open": True}]}]})

    assert [(one.where, one.expected.partition(",")[0]) for one in error.value.problems] == [
        ("stages[0].questions[0].total.equals", "at most 10")
    ]


def fill(begun: dict[str, Any], default: dict[str, Any], fields: dict[str, Any] = PAGE) -> FilledIn:
    """Fill in a page whose time was up; the result is always one that may be stored."""
    found = answers.filled_in(survey(fields), {}, given={}, begun=begun, default=default)
    assert answers.check(survey(fields), found.value, {}, found.missing) == found.value
    return found


HALF_EACH = {"rent": 50, "food": 50}


def test_numbers_of_a_page_that_ran_out_of_time_count_where_they_come_to_their_total() -> None:
    assert fill({"rent": 70, "food": 30}, HALF_EACH).marks == {"rent": "begun", "food": "begun"}


@pytest.mark.parametrize("begun", [{"rent": 30, "food": 30}, {"rent": 80}, {}])
def test_the_default_counts_for_a_whole_group_that_misses_its_total(begun: dict[str, Any]) -> None:
    found = fill(begun, HALF_EACH)

    assert found.value == HALF_EACH
    assert found.marks == {"rent": "default", "food": "default"}
    assert not found.missing


@pytest.mark.parametrize("default", [{}, {"rent": 50}, {"rent": 50, "food": 60}, {"rent": 50, "food": "x"}])
def test_numbers_that_miss_their_total_are_missing_where_no_default_comes_to_it(default: dict[str, Any]) -> None:
    found = fill({"rent": 30, "food": 30}, default)

    assert found.value == {"rent": None, "food": None}
    assert found.missing["rent"].startswith("expected were numbers that add up to exactly 100")
    assert not found.marks


def test_what_numbers_without_their_total_brought_up_does_not_count() -> None:
    over = {"question": "rent", "operator": "greater_than", "value": 20}
    why = {"id": "why", "kind": "text", "title": "Why?", "show_if": over}
    fields = {**PAGE, "questions": [*PAGE["questions"], why]}

    found = fill({"rent": 30, "food": 30, "why": "So."}, {}, fields)

    assert found.value == {"rent": None, "food": None}


OWN: dict[str, Any] = {
    "id": "page",
    "kind": "survey",
    "questions": [
        {"id": "sent", "kind": "number", "title": "Sent?", "minimum": 0, "maximum": 100},
        {"id": "back", "kind": "number", "title": "Back?", "maximum": {"stage": "page", "question": "sent"}},
    ],
}


def test_a_bound_that_names_its_own_stage_is_one_on_the_page() -> None:
    stage = survey(OWN)

    assert refused(stage, {"sent": 5, "back": 99}) == [("back", "at_most")]
    assert answers.possible_questions(stage, {})[1].field_schema()["x-maximum"] == "sent"
    assert sheet.are_bounded_here(stage)


def test_a_bound_that_names_its_own_stage_is_about_the_same_row() -> None:
    stage = survey({**OWN, "rows": [{"id": "r1"}, {"id": "r2"}]})

    assert not KIND.problems(stage, [])
    given = {"r1.sent": 5, "r1.back": 5, "r2.sent": 1}
    assert refused(stage, {**given, "r2.back": 2}) == [("r2.back", "at_most")]


SENT: dict[str, Any] = {"id": "sent", "kind": "number", "title": "Sent?", "minimum": 0, "maximum": 100}
HAD = {"stage": "before", "question": "sent"}
UP_TO: dict[str, Any] = {"id": "n", "kind": "number", "title": "N?"}


def bounds_refused(sent: dict[str, Any], *asked: dict[str, Any]) -> list[tuple[str, str]]:
    """The problems of questions after a survey that asks `sent`."""
    before = {"id": "before", "kind": "survey", "questions": [sent]}
    stage = {"id": "page", "kind": "survey", "questions": list(asked)}
    try:
        validate({"parley": 1, "name": "X", "stages": [before, stage], "cohorts": [{"seats": [{"open": True}]}]})
    except InvalidInput as error:
        return [(one.where.removeprefix("stages[1]."), one.found) for one in error.problems]
    return []


@pytest.mark.parametrize(
    ("sent", "bounded", "where", "found"),
    [
        (SENT, {"minimum": HAD, "maximum": 10}, "minimum", "the answer to before.sent, which can be 100"),
        (SENT, {"minimum": 1, "maximum": HAD}, "maximum", "the answer to before.sent, which can be 0"),
        (
            {**SENT, "maximum": None},
            {"minimum": HAD, "maximum": 10},
            "minimum",
            "the answer to before.sent, which can be any",
        ),
        (
            {**SCALE, "id": "sent"},
            {"minimum": HAD, "maximum": 9},
            "minimum",
            "the answer to before.sent, which can be 10",
        ),
        (
            SENT,
            {"minimum": HAD, "maximum": HAD, "integer": True},
            "minimum",
            "the answer to before.sent, which can be no whole number",
        ),
    ],
)
def test_a_bound_that_can_leave_no_answer_is_refused(sent: Any, bounded: Any, where: str, found: str) -> None:
    assert bounds_refused(sent, {**UP_TO, **bounded})[0] == (f"questions[0].{where}", found)


@pytest.mark.parametrize(
    "asked",
    [
        [{**UP_TO, "minimum": HAD, "maximum": 100}],
        [{**UP_TO, "minimum": 0, "maximum": HAD}],
        [{**UP_TO, "minimum": HAD}],
        [{**UP_TO, "minimum": HAD, "maximum": HAD}],
        [{**UP_TO, "minimum": HAD, "maximum": 10, "required": False}],
        [{**UP_TO, "minimum": HAD, "maximum": 10, "show_if": {**HAD, "operator": "less_than", "value": 9}}],
        [
            {**UP_TO, "id": "low", "minimum": 0, "maximum": HAD},
            {**UP_TO, "id": "high", "minimum": {"question": "low"}},
            {**UP_TO, "minimum": {"question": "low"}, "maximum": {"question": "high"}},
            {**UP_TO, "id": "last", "minimum": {"question": "low"}, "maximum": 100},
        ],
    ],
)
def test_a_bound_that_always_leaves_an_answer_is_taken(asked: list[dict[str, Any]]) -> None:
    assert bounds_refused(SENT, *asked) == []
