"""Who is where in what order: number for number as the reference draws, and from seeds of their own."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.formats.testing.workbooks import base_values, design_of, task_row, with_setting, with_tasks
from parley_lab.formats.workbook import Assignment, assign
from parley_lab.formats.workbook.draws import ParleyDrawing, ReferenceDrawing, drawing, numpy_permutation

SESSIONS = ["0", "1", "2", "3"]
ARMS = ["ctl", "trt"]
SEEDS = st.integers(min_value=0, max_value=2**32 - 1)


def ids(assignment: Assignment) -> list[list[str]]:
    return [[seat.profile.id for seat in session.seats] for session in assignment.sessions]


@pytest.mark.parametrize(
    ("seed", "order"),
    [
        (0, [6, 11, 4, 10, 2, 8, 1, 7, 9, 3, 0, 5]),
        (7, [7, 10, 2, 5, 0, 1, 11, 8, 3, 6, 9, 4]),
        (42, [10, 9, 0, 8, 5, 2, 1, 11, 4, 7, 3, 6]),
        (2**32 - 1, [11, 8, 5, 9, 1, 10, 6, 0, 4, 7, 2, 3]),
    ],
)
def test_tables_are_shuffled_as_numpy_shuffles_them(seed: int, order: list[int]) -> None:
    assert numpy_permutation(seed, 12) == order


@given(seed=SEEDS, length=st.integers(min_value=0, max_value=300))
def test_a_shuffled_table_has_every_row_once(seed: int, length: int) -> None:
    assert sorted(numpy_permutation(seed, length)) == list(range(length))


def test_sessions_are_cut_from_the_shuffled_agents() -> None:
    assert ids(assign(design_of(base_values()))) == [
        ["11", "10", "1"],
        ["9", "6", "3"],
        ["2", "12", "5"],
        ["8", "4", "7"],
    ]


@pytest.mark.parametrize(
    ("seed", "arms"),
    [
        (42, ["ctl", "ctl", "trt", "ctl"]),
        (7, ["trt", "ctl", "trt", "ctl"]),
        (0, ["trt", "trt", "ctl", "trt"]),
    ],
)
def test_simple_random_draws_an_arm_for_each_session(seed: int, arms: list[str]) -> None:
    assignment = assign(design_of(with_setting(base_values(), random_seed=seed)))

    assert [session.arm.label for session in assignment.sessions] == arms


def test_complete_random_deals_the_arms_to_shuffled_sessions() -> None:
    values = with_setting(base_values(), treatment_assignment_strategy="complete_random")

    assignment = assign(design_of(values))

    assert [session.arm.label for session in assignment.sessions] == ["trt", "trt", "ctl", "ctl"]


def test_complete_random_deals_three_arms_to_five_sessions() -> None:
    drawn = ReferenceDrawing(42).complete_treatments([*SESSIONS, "4"], ["ctl", "trt", "t3"])

    assert drawn == {"3": "ctl", "1": "trt", "2": "t3", "4": "ctl", "0": "trt"}


@pytest.mark.parametrize("draws", ["reference", "parley"])
@given(seed=SEEDS, sessions=st.integers(min_value=1, max_value=40), arms=st.integers(min_value=1, max_value=7))
def test_complete_random_is_balanced_for_any_seed(draws: str, seed: int, sessions: int, arms: int) -> None:
    labels = [f"arm {number}" for number in range(arms)]
    chance = ReferenceDrawing(seed) if draws == "reference" else ParleyDrawing(seed)

    drawn = chance.complete_treatments([str(number) for number in range(sessions)], labels)

    sizes = Counter(drawn.values())
    assert max(sizes.values()) - min(sizes[label] for label in labels) <= 1


def test_roles_are_drawn_for_the_agents_of_a_session() -> None:
    first = assign(design_of(base_values())).sessions[0]

    assert [(seat.profile.id, seat.role.label) for seat in first.seats] == [("11", "C"), ("10", "A"), ("1", "B")]


@pytest.mark.parametrize("draws", ["reference", "parley"])
@given(seed=SEEDS)
def test_every_session_has_every_role_once(draws: str, seed: int) -> None:
    chance = ReferenceDrawing(seed) if draws == "reference" else ParleyDrawing(seed)

    drawn = chance.roles(SESSIONS, ["A", "B", "C"])

    assert all(sorted(roles) == ["A", "B", "C"] for roles in drawn.values())


@pytest.mark.parametrize(
    ("seed", "order"),
    [
        (42, ["q5", "q2", "q4", "q3", "q1", "q6"]),
        (7, ["q2", "q5", "q4", "q3", "q1", "q6"]),
        (1, ["q5", "q2", "q3", "q1", "q4", "q6"]),
    ],
)
def test_tied_tasks_are_shuffled_as_the_reference_does_and_alike_in_all_sessions(seed: int, order: list[str]) -> None:
    rows = [task_row(f"q{number}", task_order=one) for number, one in enumerate([2, 1, 2, 2, 1, 3], start=1)]

    assignment = assign(design_of(with_setting(with_tasks(*rows), random_seed=seed)))

    assert [[task.task_id for task in session.tasks] for session in assignment.sessions] == [order] * 4


def test_parley_draws_an_order_of_its_own_for_each_session_and_keeps_the_ties() -> None:
    rows = [task_row(f"q{number}", task_order=one) for number, one in enumerate([1, 2, 2, 2, 2, 2, 3], start=1)]
    design = design_of(with_tasks(*rows))

    orders = [[task.task_id for task in session.tasks] for session in assign(design, "parley").sessions]

    assert all((order[0], order[-1]) == ("q1", "q7") for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    assert orders == [[task.task_id for task in session.tasks] for session in assign(design, "parley").sessions]


def test_draws_of_parley_do_not_move_each_other() -> None:
    few, many = drawing("parley", 42), drawing("parley", 42)
    many.shuffled_agents(range(12))

    assert many.roles(SESSIONS, "ABC")["2"] == few.roles(SESSIONS[2:3], "ABC")["2"]


def test_assignments_by_hand_stay_as_they_were_written() -> None:
    values = with_setting(
        base_values(),
        num_agents_per_session=3,
        num_sessions=2,
        treatment_assignment_strategy="manual",
        treatment_column="arm",
        session_assignment_strategy="manual",
        session_column="session",
        role_assignment_strategy="manual",
        role_column="role",
    )
    rows = [("s2", "trt", "C"), ("s1", "ctl", "B"), ("s2", "trt", "A"), ("s1", "ctl", "A"), ("s1", "ctl", "C")]
    names = ["ID", "session", "arm", "role"]
    people = [*rows, ("s2", "trt", "B")]
    values["agent_profiles"] = [names, names, *([number, *person] for number, person in enumerate(people, start=1))]

    sessions = assign(design_of(values)).sessions

    assert [(session.id, session.arm.label) for session in sessions] == [("s2", "trt"), ("s1", "ctl")]
    assert [(seat.profile.id, seat.role.label) for seat in sessions[0].seats] == [("1", "C"), ("3", "A"), ("6", "B")]


def test_every_draw_is_recorded_with_its_seed() -> None:
    records = assign(design_of(base_values()), "parley").records

    assert {record.what for record in records} == {"agents", "treatment", "roles", "tasks"}
    assert ("1", "random", "42/workbook/roles/1") in [
        (record.session, record.strategy, record.seed) for record in records if record.what == "roles"
    ]
