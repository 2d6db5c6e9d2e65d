"""Which answers a question takes, with which options, and what is kept of them."""

from dataclasses import replace
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.kinds import Substitute, UnusableReply
from parley_lab.kinds.stages.group_interview.answers import fields_of_text
from parley_lab.kinds.stages.group_interview.config import InterviewTask, RoleOptions
from parley_lab.kinds.stages.group_interview.options import ListOptions, RangeOptions
from parley_lab.kinds.stages.group_interview.rules import KIND, InterviewData
from parley_lab.kinds.stages.group_interview.transcript import lines
from parley_lab.testing.interviews import (
    LABELS,
    PLAYERS,
    SUMMARIZER,
    Course,
    id_of,
    question_of,
    questions,
    stage,
    task,
)


def asked_for(answer: Any, **fields: Any) -> Any:
    """The stored form of A's answer to one question, or the reason of its refusal."""
    options = fields.pop("options", None)
    one = InterviewTask(
        id="q", type="private_question", questions=questions("A", options=options), variable="n", **fields
    )
    course = Course(stage(one))
    try:
        course.answer(course.asks[0], answer)
    except InvalidInput as error:
        return str(error.problems[0].expected)
    return course.view.answers[PLAYERS[0].id]["task:q"]


def test_a_reply_is_kept_with_its_value_and_with_the_parts_that_were_asked_for() -> None:
    given_reply = {"response": "3", "reasoning": "r", "speculation_score": 10}
    both = asked_for(given_reply, variable_type="integer", ask_score=True, ask_reasoning=True)
    none = asked_for(given_reply, variable_type="integer")

    assert both == {"response": "3", "value": 3, "valid": True, "reasoning": "r", "speculation_score": 10}
    assert (none["reasoning"], none["speculation_score"]) == (None, None)


def test_the_score_in_the_last_line_of_a_plain_reply_is_taken_out() -> None:
    entry = asked_for("I think so.\nSpeculation Score: 3", ask_score=True)

    assert (entry["response"], entry["speculation_score"]) == ("I think so.", 3)


@pytest.mark.parametrize(
    ("given_score", "score"),
    [("85", 85), ("85%", 85), (" 8.5 ", 8.5), (40, 40), ("high", None), (True, None), (101, None)],
)
def test_a_score_in_words_is_read_as_a_number(given_score: Any, score: float | None) -> None:
    entry = asked_for({"response": "I think so.", "speculation_score": given_score}, ask_score=True)

    assert (entry["response"], entry["speculation_score"]) == ("I think so.", score)


@pytest.mark.parametrize("answer", [2, "2", "2.0", {"response": 2}, '{"response": 2}'], ids=repr)
def test_a_number_is_taken_whether_or_not_it_comes_in_an_object(answer: Any) -> None:
    assert asked_for(answer, options=ListOptions(values=(1, 2, 3)), check=True)["value"] == 2


@pytest.mark.parametrize("answer", ["99 but maybe 3", "4", None, [], {}, {"response": ""}, {"reply": 2}], ids=repr)
def test_what_is_no_answer_is_refused_with_the_reason(answer: Any) -> None:
    assert isinstance(asked_for(answer, options=ListOptions(values=(1, 2, 3)), check=True), str)


def test_every_role_is_held_to_its_own_options() -> None:
    asked = (*questions("A", options=RangeOptions(low=0, high=3)), *questions("B", options=ListOptions(values=(1, 2))))
    one = InterviewTask(id="q", type="private_question", questions=asked, variable="n", check=True)
    course = Course(stage(one))
    by_role = {course.role(ask.member_id): ask for ask in course.asks}

    with pytest.raises(InvalidInput, match="cannot be used"):
        course.answer(by_role["B"], "3")
    course.answer(by_role["A"], "3")
    course.answer(by_role["B"], "2")

    assert [course.view.answers[by_role[role].member_id]["task:q"]["value"] for role in "AB"] == [3, 2]


def test_an_answer_that_is_not_checked_is_kept_and_flagged() -> None:
    entry = asked_for("many", options=RangeOptions(low=0, high=5))

    assert (entry["response"], entry["value"], entry["valid"]) == ("many", None, False)


def test_a_mediator_without_options_is_not_held_to_the_type_of_the_variable() -> None:
    one = InterviewTask(
        id="q",
        type="private_question",
        questions=(*questions("A", options=RangeOptions(low=0, high=5)), *questions("Summarizer")),
        variable="n",
        variable_type="integer",
        check=True,
    )
    course = Course(stage(one))
    course.answer(course.asks[0], "4")
    course.answer(course.asks[0], "All gave four.")

    assert course.view.answers[SUMMARIZER.id]["task:q"]["value"] == "All gave four."


def test_options_are_told_the_provider_in_the_order_in_which_they_are_shown() -> None:
    one = InterviewTask(
        id="q",
        type="private_question",
        questions=questions("A", options=ListOptions(values=tuple("abcdefgh"))),
        variable="n",
        check=True,
        randomize_options=True,
    )
    course = Course(stage(one))
    question = question_of(course, course.asks[0], "A")

    told = question.reply_model().model_json_schema()["properties"]["response"]["enum"]
    assert sorted(told) == list("abcdefgh")
    assert told != list("abcdefgh")
    assert ", ".join(told) in question.task()


def test_in_a_discussion_each_role_is_told_its_own_options_and_no_others() -> None:
    own = (RoleOptions(role="A", options=ListOptions(values=("up", "down"))),)
    course = Course(stage(task("talk", "discussion", role_options=own)))
    ask = course.asks[0]

    told = {role: question_of(course, replace(ask, member_id=id_of(course, role)), role).task() for role in LABELS}

    assert told["A"].endswith("Answer with one of these: up, down.")
    assert "up" not in told["B"] + told["C"]


def test_options_that_all_talk_about_are_read_out_once_in_a_drawn_order() -> None:
    values = tuple("abcdefgh")
    talk = InterviewTask(
        id="talk",
        type="discussion",
        text="Choose: {response_options}",
        options=ListOptions(values=values),
        randomize_options=True,
        variable="talk",
    )
    course = Course(stage(talk))

    (line,) = lines(course.stage, course.view.draws, course.view.state, "A")
    shown = line.text.removeprefix("Choose: Answer with one of these: ").removesuffix(".").split(", ")
    assert sorted(shown) == list(values)
    assert shown != list(values)


@pytest.mark.parametrize("kind", ["context", "public_question"])
def test_options_of_a_task_are_of_discussions(kind: str) -> None:
    asked = ("A",) if kind == "public_question" else ()
    wrong = stage(task("t", kind, *asked, options=ListOptions(values=("x",))))

    assert [problem.where for problem in KIND.problems(wrong, ())] == ["tasks[0].options"]


def test_values_of_cells_have_the_type_of_the_variable() -> None:
    one = task("q", "private_question", "A", variable_type="integer", ask_score=True)
    entry = {"response": "3", "value": 3, "valid": True, "reasoning": None, "speculation_score": 10}

    assert InterviewData(stage(one)).cells({"q": entry}) == {
        "q": 3,
        "q.response": "3",
        "q.valid": True,
        "q.speculation_score": 10,
    }


@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.parametrize(
    "text",
    ['{"response": 3, "response": 5}', 'Sure!\n{"response": "a", "response": "b"}', 'Here: {"response": "cut off'],
)
def test_an_object_that_cannot_be_read_is_no_answer(text: str, is_plain: bool) -> None:
    one = InterviewTask(id="q", type="private_question", questions=questions("A"), variable="n", plain_text=is_plain)

    with pytest.raises(InvalidInput, match="not a JSON object"):
        fields_of_text(one, text)


@pytest.mark.parametrize(
    ("raw", "heard"),
    [
        ("I would rather not say.", "I would rather not say."),
        ("A: It is 25.\n[from Facilitator, to B] And you?\n[from B] 10", "It is 25."),
        ("[from Facilitator, to B] And you?\n[from B] 10", ""),
        ('{"response": "I think so.\\nB: Me too."}', "I think so."),
    ],
)
def test_an_unusable_reply_that_is_kept_ends_where_another_would_speak(raw: str, heard: str) -> None:
    course = Course(stage(task("one", "public_question", "A", "B")))
    asked = question_of(course, course.asks[0], "A")

    kept = asked.without_answer([UnusableReply(raw, None, "it was cut off")])

    assert isinstance(kept, Substitute)
    assert (kept.value["response"], kept.value["valid"]) == (heard, False)
