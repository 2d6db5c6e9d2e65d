"""Whether participants have understood the instructions."""

from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.design import validate
from parley_lab.design.treatments import resolve
from parley_lab.kinds import PAGE, Ask, Blocked, Done, End, Member, OwnView, Question, Substitute, UnusableReply
from parley_lab.kinds.stages.comprehension import KIND
from parley_lab.kinds.stages.comprehension.asking import ComprehensionQuestions
from parley_lab.kinds.stages.comprehension.attempts import AGENT_ATTEMPTS
from parley_lab.kinds.stages.comprehension.config import ComprehensionStage, folded
from parley_lab.kinds.stages.comprehension.rules import ComprehensionData
from parley_lab.testing.views import lab, own

PIA = Member(UUID(int=1), "c1/m1", "participant", "person", Profile(name="Pia"))
ANA = Member(UUID(int=2), "c1/m2", "participant", "agent", Profile(name="Ana"))
RIGHT = {"town": " ZURICH", "others": "three"}
WRONG = {"town": "Bern", "others": "three"}
FIRST = {"id": "town", "kind": "text", "title": "Which town?", "correct": "Zürich"}
OPTIONS = [{"id": one, "text": one} for one in ("yes", "no")]
LOSS = {
    "kind": "choice",
    "title": "Can you lose?",
    "options": OPTIONS,
    "correct": "yes",
    "show_if": {"factor": "frame", "value": "loss"},
}
ROWS = [{"id": "a", "what": "A", "paid": "yes"}, {"id": "b", "what": "B", "paid": "no"}]


def stage(**fields: Any) -> ComprehensionStage:
    options = [{"id": "two", "text": "Two"}, {"id": "three", "text": "Three"}]
    questions = [
        {"id": "town", "kind": "text", "title": "Which town?", "correct": "Zürich"},
        {"id": "others", "kind": "choice", "title": "How many others?", "options": options, "correct": "three"},
    ]
    return ComprehensionStage.model_validate({"id": "check", "questions": questions, **fields})


def after(*attempts: dict[str, Any], me: Member = PIA) -> OwnView:
    return own(me, own={f"attempt:{number}": given for number, given in enumerate(attempts, start=1)})


def question(view: OwnView, asked: ComprehensionStage | None = None) -> Question:
    found = ComprehensionQuestions(asked or stage()).question(view, Ask(view.me.id, "attempt:1", "attempt"))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("written", "is_right"),
    [("Zürich", True), ("zurich ", True), ("ZU\u0308RICH", True), ("Zuerich", False), ("", False)],
)
def test_capital_letters_accents_and_spaces_around_do_not_count(written: str, *, is_right: bool) -> None:
    assert stage().questions[0].is_correct(written) is is_right


@pytest.mark.parametrize(
    ("correct", "written", "is_right"),
    [
        (12, "12", True),
        (12, " \uff11\uff12 ", True),
        (12, "١٢", True),
        (12, "12,0", True),
        (12, "13", False),
        (12, "twelve", False),
        (0.5, "0,5", True),
        (0.5, ".50", True),
        (["twelve", 12], "Twelve", True),
        (["twelve", 12], "12.0", True),
        (["twelve", 12], "eleven", False),
        ("12", "\uff11\uff12", True),
    ],
)
def test_numbers_and_each_answer_of_a_list_are_right(correct: Any, written: str, *, is_right: bool) -> None:
    asked = [{"id": "sum", "kind": "text", "title": "How many?", "correct": correct}]

    assert stage(questions=asked).questions[0].is_correct(written) is is_right


def test_several_options_may_be_right() -> None:
    options = [{"id": name, "text": name} for name in ("two", "three", "four")]
    asked = [{"id": "n", "kind": "choice", "title": "How many?", "options": options, "correct": ["two", "three"]}]
    check = stage(questions=asked)

    assert [check.questions[0].is_correct(name) for name in ("two", "three", "four")] == [True, True, False]
    wrong = stage(questions=[{**asked[0], "correct": ["two", "five"]}])
    assert [one.where for one in KIND.problems(wrong, [])] == ["questions[0].correct"]


@given(st.text())
def test_what_is_compared_is_compared_as_it_is(text: str) -> None:
    assert folded(folded(text)) == folded(text)


def test_one_goes_on_when_all_answers_are_right() -> None:
    assert isinstance(KIND.completion(stage(), after()), Blocked)
    assert isinstance(KIND.completion(stage(), after(WRONG)), Blocked)

    done = KIND.completion(stage(), after(WRONG, RIGHT))

    assert done == Done({**RIGHT, "attempts": 2, "passed": True})


@pytest.mark.parametrize(("how", "effects"), [("go_on", ()), ("screened_out", (End("screened_out"),))])
def test_what_follows_the_last_attempt_is_what_the_stage_says(how: str, effects: Any) -> None:
    strict = stage(most_attempts=2, when_failed=how)
    page = {**WRONG, "attempts": 2, "passed": False}

    assert isinstance(KIND.completion(strict, after(WRONG)), Blocked)
    assert KIND.completion(strict, after(WRONG, WRONG)) == Done(page, effects)
    stored = replace(after(WRONG, WRONG), own={**after(WRONG, WRONG).own, PAGE: page})
    assert KIND.completion(strict, stored) == Done(page, effects)
    assert KIND.completion(strict, after(WRONG, RIGHT)) == Done({**RIGHT, "attempts": 2, "passed": True})


def test_a_person_is_asked_again_without_a_bound_and_an_agent_five_times() -> None:
    questions = ComprehensionQuestions(stage())

    assert [ask.key for ask in questions.due(after(*[WRONG] * 30))] == ["attempt:31"]
    assert [ask.key for ask in questions.due(after(*[WRONG] * (AGENT_ATTEMPTS - 1), me=ANA))] == ["attempt:5"]
    assert questions.due(after(*[WRONG] * AGENT_ATTEMPTS, me=ANA)) == []
    assert questions.due(after(WRONG, RIGHT)) == []


def test_the_page_and_the_prompt_say_what_was_not_right_and_not_what_is() -> None:
    view = after(WRONG, me=ANA)
    page = KIND.page(stage(), view)
    prompt = "\n".join(block.text for block in KIND.prompt(stage(), view, Ask(ANA.id, "attempt:2", "attempt")))

    assert (page.wrong, page.attempts, page.passed, page.answers) == (["town"], 1, None, WRONG)
    assert "Which town? Bern (not right)" in prompt
    for shown in (page.model_dump_json(), prompt, str(question(view).form())):
        assert "Zürich" not in shown
        assert "correct" not in shown


def test_the_mock_answers_rightly_unless_its_script_says_otherwise() -> None:
    wrong = replace(ANA, script={"check": {"answers": {"town": "Bern"}}})

    told = [question(after(me=me)).hints() for me in (ANA, wrong)]
    assert [hints["suggest:town"] for hints in told] == ["Zürich", "Bern"]


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        (None, ""),
        ({"others": "three"}, "town"),
        ({**RIGHT, "others": "four"}, "others"),
        ({**RIGHT, "town": 3}, "town"),
        ({**RIGHT, "x": 1}, "x"),
    ],
)
def test_what_is_no_answer_is_refused_and_no_attempt(answer: Any, where: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        question(after()).check(answer)

    assert where in {problem.where for problem in refused.value.problems}


def test_a_wrong_answer_is_taken() -> None:
    assert question(after()).check(WRONG) == WRONG


def test_of_unusable_replies_what_fits_is_the_attempt() -> None:
    found = question(after(me=ANA)).without_answer([UnusableReply("{}", {"town": "Zürich", "others": "four"}, "x")])

    assert isinstance(found, Substitute)
    assert found.value == {"town": "Zürich", "others": None}
    assert question(after(me=ANA)).without_answer([]) == "drop"


def test_the_data_have_every_attempt_and_the_last_one_on_the_page() -> None:
    data = ComprehensionData(stage())
    page = {**RIGHT, "attempts": 2, "passed": True}
    given = {(PIA.id, "attempt:1"): WRONG, (PIA.id, "attempt:2"): RIGHT, (PIA.id, PAGE): page}

    assert data.table is not None
    rows = [(row["attempt"], row["question"], row["is_correct"]) for row in data.table.rows(lab(PIA, given=given))]
    assert rows == [(1, "town", False), (1, "others", True), (2, "town", True), (2, "others", True)]
    cells = data.cells(page)
    assert (cells["attempts"], cells["passed"], cells["others.correct"]) == (2, True, True)
    assert set(cells) <= {column.name for column in data.columns()}
    assert [line.is_correct for line in data.answered(PAGE, page)] == [True, True]


def test_a_script_answers_rightly_unless_it_says_otherwise() -> None:
    scripts = KIND.parts(stage()).scripts
    assert scripts is not None
    able = replace(ANA, player="script")
    unable = replace(PIA, player="script", script={"check": {"answers": {"town": "Bern", "others": "two"}}})

    moves = scripts.play(lab(able, unable), Random)

    assert moves == {
        (able.id, "attempt:1"): {"town": "Zürich", "others": "three"},
        (unable.id, "attempt:1"): {"town": "Bern", "others": "two"},
    }
    assert scripts.play(lab(able, given={(able.id, "attempt:1"): RIGHT}), Random) == {}
    problems = scripts.problems({"answers": {"others": "four", "x": 1}})
    assert [one.where for one in problems] == ["answers.others", "answers.x"]


def of_arm(arm: str) -> ComprehensionStage:
    questions = [
        {
            "id": "pay",
            "kind": "number",
            "title": "Pay for {{row.what}}?",
            "correct": 3,
            "show_if": {"row": "paid", "value": "yes"},
        },
        {"id": "loss", **LOSS},
    ]
    value = {
        "parley": 1,
        "name": "Check",
        "stages": [{"id": "check", "kind": "comprehension", "rows": ROWS, "questions": questions}],
        "factors": {"frame": ["gain", "loss"]},
        "cohorts": [{"seats": [{"open": True}]}],
    }
    found = resolve(validate(value), arm).stage("check")
    assert isinstance(found, ComprehensionStage)
    return found


def test_questions_are_asked_by_rules_over_the_arm_and_the_row() -> None:
    asked = {arm: of_arm(arm) for arm in ("gain", "loss")}
    names = {"gain": ["a.pay"], "loss": ["a.pay", "a.loss", "b.loss"]}
    right = {"a.pay": 3, "a.loss": "yes", "b.loss": "yes"}

    for arm, check in asked.items():
        given = {name: right[name] for name in names[arm]}
        assert [*question(after(), check).form().json_schema()["properties"]] == names[arm]
        assert [one.id for one in KIND.page(check, after()).questions] == names[arm]
        told = KIND.prompt(check, after(me=ANA), Ask(ANA.id, "attempt:1", "attempt"))[0].text
        assert told.count("\n- ") == len(names[arm])
        assert KIND.completion(check, after(given)) == Done({**given, "attempts": 1, "passed": True})
        scripts = KIND.parts(check).scripts
        assert scripts is not None
        assert scripts.play(lab(replace(ANA, player="script")), Random) == {(ANA.id, "attempt:1"): given}


def test_a_check_that_asks_nothing_of_an_arm_is_passed() -> None:
    check = stage(questions=[{**FIRST, "show_if": {"treatment": "told"}}])

    assert ComprehensionQuestions(check).due(after()) == []
    assert KIND.completion(check, after()) == Done({"attempts": 0, "passed": True})


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"id": "passed"}, "questions[0].id"),
        ({"required": False}, "questions[0].required"),
        ({"correct": "\u00b4"}, "questions[0].correct"),
        ({"max_chars": 3}, "questions[0].correct"),
        ({"min_chars": 7}, "questions[0].correct"),
        ({"show_if": {"question": "others", "value": "two"}}, "questions[0].show_if"),
        ({"show_if": {"any": [{"treatment": "told"}, {"score": "quiz", "value": 3}]}}, "questions[0].show_if.any[1]"),
        ({"show_if": {"row": "paid", "value": 3}}, "questions[0].show_if.row"),
    ],
)
def test_what_a_check_cannot_have_is_refused(changes: dict[str, Any], where: str) -> None:
    assert [one.where for one in KIND.problems(stage(questions=[{**FIRST, **changes}]), [])] == [where]
