"""The course of an interview: whose reply is due, who hears what, what is kept, and when it is over."""

from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidInput
from shared.stages.group_interview import flow
from shared.stages.group_interview.config import InterviewQuestion, InterviewSession, InterviewTask, RoleOptions
from shared.stages.group_interview.options import ListOptions, RangeOptions
from shared.stages.group_interview.rules import KIND
from shared.stages.group_interview.transcript import lines
from shared.testing.interviews import (
    LABELS,
    MEMBERS,
    PLAYERS,
    SUMMARIZER,
    TASKS,
    Course,
    member,
    questions,
    stage,
    task,
)


def test_tasks_come_one_after_another_and_what_does_not_wait_is_asked_at_once() -> None:
    course = Course(stage())
    waves = []
    while course.open:
        waves.append(course.open)
        course.answer_all()

    assert waves == [
        [("A", "talk")],
        [("B", "talk")],
        [("C", "talk")],
        [("Summarizer", "talk")],
        [("B", "open")],
        [("A", "open")],
        [("C", "closed"), ("A", "closed"), ("B", "closed")],
        [("Summarizer", "closed")],
        [("A", "last"), ("B", "last"), ("C", "last")],
    ]


def test_a_summarizer_does_not_wait_for_those_after_it() -> None:
    course = Course(stage(TASKS[2]))
    for ask in course.asks[:2]:
        course.answer(ask)

    assert course.open == [("Summarizer", "closed"), ("B", "closed")]


def test_the_facilitator_is_asked_only_where_it_is_named() -> None:
    course = Course(stage(task("one", "private_question", "A", "Facilitator")))
    course.answer_all()

    assert course.open == [("Facilitator", "one")]


@given(seed=st.integers(), count=st.integers(min_value=0, max_value=20))
def test_in_private_no_player_hears_another_before_the_round_is_over(seed: int, count: int) -> None:
    course, rng = Course(stage()), Random(seed)
    for _ in range(count):
        if course.asks:
            course.answer(rng.choice(course.asks))

    on = next((task_id for _, task_id in course.open), None)
    for reader in LABELS:
        heard = course.heard(reader)
        assert set(heard) <= set(course.heard(None))
        if on in ("closed", "last"):
            assert {role for role, task_id in heard if task_id == on} <= {reader}
        page = KIND.public_view(course.stage, course.own(_id(course, reader)))
        assert {(line["role"], line["task"]) for line in page["transcript"] if not line["read_out"]} == set(heard)


@given(seed=st.integers())
def test_whatever_the_order_of_answers_everybody_is_asked_the_same_once(seed: int) -> None:
    course, rng = Course(stage()), Random(seed)
    asked: list[tuple[str, str]] = []
    while course.asks:
        ask = rng.choice(course.asks)
        asked.append((course.role(ask.member_id), ask.key))
        course.answer(ask)

    assert len(asked) == len(set(asked)) == 4 + 2 + 4 + 3
    assert all(KIND.page_answer(course.stage, course.own(one.id)) for one in PLAYERS)


def _id(course: Course, role: str) -> UUID:
    return next(one.id for one in MEMBERS if course.role(one.id) == role)


@pytest.mark.parametrize(("kind", "times"), [("public_question", 3), ("private_question", 1)])
def test_in_public_the_facilitator_puts_the_question_to_each_by_name(kind: str, times: int) -> None:
    same = tuple(InterviewQuestion(role=role, text="What do you say?") for role in "ABC")
    course = Course(stage(task("one", kind, "A", "B", "C").model_copy(update={"questions": same})))
    while course.open:
        course.answer_all()

    said = lines(course.stage, course.view.draws, course.view.state, None)

    assert [one.to for one in said if one.is_read_out] == ["A", "B", "C"][:times]
    if times == 3:
        assert [one.is_read_out for one in said] == [True, False] * 3


def test_in_a_discussion_by_role_those_who_are_named_speak_in_that_order_and_all_hear_what_is_put_to_them() -> None:
    asked = (
        InterviewQuestion(role="C", text="Begin, C: {response_options}", options=ListOptions(values=(1, 2))),
        InterviewQuestion(role="A", text="What do you say to that?"),
    )
    talk = task("talk", "discussion", check=True, variable_type="integer").model_copy(
        update={"questions": asked, "text": ""}
    )
    course = Course(stage(talk))
    assert not list(KIND.problems(course.stage, []))
    waves = []
    while course.open:
        waves.append(course.open)
        course.answer_all()

    said = lines(course.stage, course.view.draws, course.view.state, "B")

    assert waves == [[("C", "talk")], [("A", "talk")]]
    assert [(one.role, one.to) for one in said] == [
        ("Facilitator", "C"),
        ("C", None),
        ("Facilitator", "A"),
        ("A", None),
    ]
    assert said[0].text == "Begin, C: Answer with one of these: 1, 2."


def test_a_mediator_hears_those_before_it_and_not_who_happens_to_be_early() -> None:
    course = Course(stage(TASKS[2]))
    course.answer_all()

    assert course.open == [("Summarizer", "closed")]
    assert course.heard("Summarizer") == [("C", "closed"), ("A", "closed")]


def test_after_the_round_everybody_hears_everything_of_it() -> None:
    course = Course(stage(TASKS[2], TASKS[4]))
    course.answer_all()
    course.answer_all()

    assert course.heard("A") == [("C", "closed"), ("A", "closed"), ("Summarizer", "closed"), ("B", "closed")]


def test_nobody_waits_for_somebody_who_has_left() -> None:
    gone = replace(PLAYERS[1], present=False, awaited=False)
    course = Course(stage(TASKS[1], TASKS[2]), (PLAYERS[0], gone, PLAYERS[2], SUMMARIZER))

    assert course.open == [("A", "open")]


def test_somebody_who_is_still_to_come_is_waited_for() -> None:
    late = replace(PLAYERS[1], present=False, awaited=True)
    course = Course(stage(TASKS[1], TASKS[2]), (PLAYERS[0], late, PLAYERS[2], SUMMARIZER))

    assert course.open == []


def test_seats_take_roles_and_tasks_as_their_session_says() -> None:
    order = tuple(one.id for one in reversed(TASKS))
    sessions = (
        InterviewSession(roles=LABELS, order=order),
        InterviewSession(roles=("C", "A", "B"), order=order),
    )
    second = tuple(member(f"c2/m{number}") for number in (1, 2, 3))

    course = Course(stage(sessions=sessions), second)

    assert [course.role(one.id) for one in second] == ["C", "A", "B"]
    assert [one.id for one in flow.tasks_in_order(course.stage, course.view.draws)] == list(order)


def test_what_is_drawn_is_the_same_in_every_run_and_so_has_no_ids() -> None:
    draws = Course(stage()).view.draws

    assert {name for name in draws if name.startswith("role:")} == {f"role:{one.path}" for one in PLAYERS}


def test_after_the_most_replies_the_interview_is_over() -> None:
    course = Course(stage(max_replies=2))
    course.answer_all()
    course.answer_all()

    assert course.open == []
    assert KIND.blocked_by(course.stage, course.own(PLAYERS[2].id)) == []


def asked_for(answer: Any, **fields: Any) -> Any:
    """What is kept of A's answer to one question, or the reason why it cannot be."""
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
    view = course.own(PLAYERS[0].id)

    model = KIND.reply_model(course.stage, course.asks[0], view)
    assert model is not None
    told = model.model_json_schema()["properties"]["response"]["enum"]
    assert sorted(told) == list("abcdefgh")
    assert told != list("abcdefgh")
    assert ", ".join(told) in KIND.task(course.stage, course.asks[0], view)


def test_in_a_discussion_each_role_is_told_its_own_options_and_nobody_elses() -> None:
    own = (RoleOptions(role="A", options=ListOptions(values=("up", "down"))),)
    course = Course(stage(task("talk", "discussion", role_options=own)))
    views = {role: course.own(player.id) for role, player in zip(LABELS, PLAYERS, strict=True)}
    ask = course.asks[0]

    told = {role: KIND.task(course.stage, replace(ask, member_id=view.me.id), view) for role, view in views.items()}

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

    assert KIND.cells(stage(one), {"q": entry}) == {
        "q": 3,
        "q.response": "3",
        "q.valid": True,
        "q.speculation_score": 10,
    }


def test_no_reasoning_can_be_asked_for_beside_a_plain_text() -> None:
    both = stage(task("q", "private_question", "A", plain_text=True, ask_reasoning=True))

    assert [problem.where for problem in KIND.problems(both, [])] == ["tasks[0].ask_reasoning"]


def test_every_problem_of_an_interview_is_told() -> None:
    broken = stage(
        task("q", "private_question", "A", "A", "Nobody"),
        task("q", "context", "A"),
        task("empty", "public_question"),
        sessions=(InterviewSession(roles=("A", "A", "B"), order=("q",)),),
    )

    assert [problem.where for problem in KIND.problems(broken, [])] == [
        "tasks[1].id",
        "tasks[1].variable",
        "tasks[0].questions[1].role",
        "tasks[0].questions[2].role",
        "tasks[1].questions",
        "tasks[1].text",
        "tasks[2].questions",
        "sessions[0].roles",
        "sessions[0].order",
    ]
