"""The course of an interview: due replies, who hears what, the end, and what a stage may not be."""

from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.kinds import Done
from parley_lab.kinds.stages.group_interview import flow
from parley_lab.kinds.stages.group_interview.config import InterviewQuestion
from parley_lab.kinds.stages.group_interview.options import ListOptions
from parley_lab.kinds.stages.group_interview.rules import KIND, InterviewDraws
from parley_lab.kinds.stages.group_interview.transcript import EVERYBODY, Line, in_prompt, lines
from parley_lab.testing.interviews import (
    LABELS,
    PLAYERS,
    SUMMARIZER,
    TASKS,
    Course,
    id_of,
    member,
    question_of,
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


def test_no_line_of_a_prompt_has_the_form_of_a_name_and_words() -> None:
    said = [Line("B", "I am for it.\nA: and so am I.", "t"), Line("Facilitator", "Think.", "t", True, "A")]

    assert [in_prompt(line) for line in said] == [
        "[from B] I am for it.\n    A: and so am I.",
        "[from Facilitator, to A] Think.",
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
        page = KIND.page(course.stage, course.own(id_of(course, reader)))
        assert {(line.role, line.task) for line in page.transcript if not line.read_out} == set(heard)


@given(seed=st.integers())
def test_whatever_the_order_of_answers_everybody_is_asked_the_same_once(seed: int) -> None:
    course, rng = Course(stage()), Random(seed)
    asked: list[tuple[str, str]] = []
    while course.asks:
        ask = rng.choice(course.asks)
        asked.append((course.role(ask.member_id), ask.key))
        course.answer(ask)

    assert len(asked) == len(set(asked)) == 4 + 2 + 4 + 3
    assert all(page_of(course, one.id) for one in PLAYERS)


def page_of(course: Course, member_id: UUID) -> dict[str, Any]:
    """The stored page of a member for whom the interview is over."""
    completion = KIND.completion(course.stage, course.own(member_id))
    assert isinstance(completion, Done)
    assert isinstance(completion.page, dict)
    return completion.page


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


def test_no_one_waits_for_someone_who_has_left() -> None:
    course = Course(stage(TASKS[1], TASKS[2]), (*PLAYERS, SUMMARIZER))

    course.set_present(PLAYERS[1].id, False)

    assert course.open == [("A", "open")]
    assert course.heard("A") == []


def test_who_comes_back_turns_nothing_back_and_is_asked_what_comes() -> None:
    course = Course(stage(TASKS[1], TASKS[4], TASKS[0]), (*PLAYERS, SUMMARIZER))
    course.set_present(PLAYERS[1].id, False)
    course.answer_all()

    course.set_present(PLAYERS[1].id, True)

    assert course.open == [("A", "last"), ("C", "last")]
    course.answer_all()
    while course.open:
        course.answer_all()
    assert [*page_of(course, PLAYERS[1].id)] == ["talk", "role"]
    assert [role for role, on in course.heard(None) if on != "talk"] == ["A", "A", "C"]


def test_what_passed_is_no_reply_among_the_most() -> None:
    course = Course(stage(TASKS[1], TASKS[2], max_replies=2), (*PLAYERS, SUMMARIZER))
    course.set_present(PLAYERS[1].id, False)
    course.answer_all()

    assert course.open == [("C", "closed"), ("A", "closed")]


def test_someone_who_is_still_to_come_is_waited_for() -> None:
    late = replace(PLAYERS[1], present=False, awaited=True)
    course = Course(stage(TASKS[1], TASKS[2]), (PLAYERS[0], late, PLAYERS[2], SUMMARIZER))

    assert course.open == [("B", "open")]


def test_seats_take_roles_and_tasks_as_their_cohort_says_whatever_their_paths() -> None:
    order = [one.id for one in reversed(TASKS)]
    elsewhere = tuple(member(f"somewhere/{number}", seat=number) for number in (1, 2, 3))

    course = Course(stage(), elsewhere, given={"speakers": ["C", "A", "B"], "tasks": order})

    assert [course.role(one.id) for one in elsewhere] == ["C", "A", "B"]
    assert [one.id for one in flow.tasks_in_order(course.stage, course.view.draws)] == order


def test_who_comes_late_has_the_role_of_their_seat() -> None:
    draws, settled = InterviewDraws(stage()), {"speakers": ["C", "A", "B"]}
    first = draws.draw([PLAYERS[0], PLAYERS[2]], settled, Random(1))

    later = draws.draw(PLAYERS, first, Random(2))

    assert [first.get(f"role:{one.path}") for one in PLAYERS] == ["C", None, "B"]
    assert [later.get(f"role:{one.path}") for one in PLAYERS] == ["C", "A", "B"]


def test_what_is_drawn_is_the_same_in_every_run_and_so_has_no_ids() -> None:
    draws = Course(stage()).view.draws

    assert {name for name in draws if name.startswith("role:")} == {f"role:{one.path}" for one in PLAYERS}


def test_after_the_most_replies_the_interview_is_over() -> None:
    course = Course(stage(max_replies=2))
    course.answer_all()
    course.answer_all()

    assert course.open == []
    assert page_of(course, PLAYERS[2].id) == {"role": "C"}


@pytest.mark.parametrize("reader", ["A", EVERYBODY, None])
def test_of_tasks_after_the_most_replies_nothing_is_read_out(reader: str | None) -> None:
    course = Course(stage(TASKS[1], TASKS[3], TASKS[0], max_replies=2))
    course.answer_all()
    course.answer_all()

    said = lines(course.stage, course.view.draws, course.view.state, reader)
    assert {line.task_id for line in said} == {"open"}


def test_what_passed_after_the_last_reply_does_not_bring_an_interview_on() -> None:
    course = Course(stage(TASKS[1], TASKS[0]), PLAYERS)
    course.answer_all()
    for one in PLAYERS:
        course.set_present(one.id, False)

    assert flow.last_said(flow.tasks_in_order(course.stage, course.view.draws), course.view.state["replies"]) == 0


def test_an_interview_whose_last_reply_is_the_last_of_the_most_is_complete() -> None:
    course = Course(stage(TASKS[1], TASKS[3], max_replies=2))
    course.answer_all()
    course.answer_all()

    assert course.view.state["reached"] == 2


def test_the_mock_knows_how_many_of_its_lines_a_role_has_said() -> None:
    again = task("again", "discussion")
    course = Course(stage(TASKS[0], task("q", "private_question", "A", "Summarizer"), again))
    while course.open[0] != ("A", "again"):
        course.answer(course.asks[0])
    ask = course.asks[0]

    said = {role: question_of(course, ask, role).hints()["own_message_count"] for role in ("A", "B", "Summarizer")}
    # Participants choose their answers to questions: these take no lines.
    assert said == {"A": 1, "B": 1, "Summarizer": 2}


def test_no_reasoning_can_be_asked_for_beside_a_plain_text() -> None:
    both = stage(task("q", "private_question", "A", plain_text=True, ask_reasoning=True))

    assert [problem.where for problem in KIND.problems(both, [])] == ["tasks[0].ask_reasoning"]


def test_every_problem_of_an_interview_is_told() -> None:
    broken = stage(
        task("q", "private_question", "A", "A", "Nobody"),
        task("q", "context", "A"),
        task("empty", "public_question"),
    )

    assert [problem.where for problem in KIND.problems(broken, [])] == [
        "tasks[1].id",
        "tasks[1].variable",
        "tasks[0].questions[1].role",
        "tasks[0].questions[2].role",
        "tasks[1].questions",
        "tasks[1].text",
        "tasks[2].questions",
    ]


@pytest.mark.parametrize(
    ("settled", "where"),
    [
        ({"speakers": ["A", "A", "B"], "tasks": ["talk"]}, ["speakers", "tasks"]),
        ({"speakers": ["A", "B", "C"], "tasks": [one.id for one in TASKS]}, []),
        ({"speakers": ["A", "B", "C", "Summarizer"]}, []),
        ({"roles": ["A"], "tasks": 3}, ["tasks", "roles"]),
    ],
)
def test_what_a_cohort_settles_has_every_role_and_every_task_once(settled: dict[str, Any], where: list[str]) -> None:
    assert [problem.where for problem in InterviewDraws(stage()).problems(settled)] == where
