"""`parley validate --explain` shows the questions of a stage."""

from pathlib import Path

import pytest

from parley_lab.base.errors import NotFound
from parley_lab.cli.explaining import explained
from parley_lab.cli.testing import Parley
from parley_lab.design import Experiment, validate

DEMO = Path(__file__).parents[2] / "demos" / "public_goods.xlsx"
ITEMS = [{"id": f"r{number}", "what": f"thing {number}", "low": number, "high": 9} for number in range(5)]


def experiment(rows: object, **others: object) -> Experiment:
    question = {"id": "guess", "kind": "number", "minimum": "{{row.low}}", "title": "{{row.what}}, {{row.anchor}}?"}
    stage = {"id": "guesses", "kind": "survey", "rows": rows, "questions": [question]}
    end = {"id": "end", "kind": "info", "lines": ["Thank you."]}
    cohorts = [{"seats": [{"open": True}]}]
    return validate({"parley": 1, "name": "A", "seed": 1, "stages": [stage, end], "cohorts": cohorts, **others})


def test_three_rows_are_told_with_the_levels_and_the_words_of_a_person() -> None:
    lines = explained(experiment({"items": ITEMS, "take": 4, "levels": {"anchor": ["low", "high"]}}), "guesses")

    assert lines[0] == "guesses: rows: 5, of which each person is asked 4, questions: 4"
    assert [line.split(" ")[2] for line in lines[1:7:2]] == ["row"] * 3
    assert all(line.startswith("    r") and "a number, at least" in line for line in lines[2:7:2])
    assert lines[7] == "  ... and 1 more"


def test_arms_are_told_apart_where_the_stage_differs() -> None:
    changed = {"stages": {"guesses": {"rows": {"items": [{"what": "X", "low": 1, "anchor": 1}]}}}}
    treatments = [{"id": "a"}, {"id": "b"}, {"id": "c", **changed}]
    rows = [{**item, "anchor": 1} for item in ITEMS]

    lines = explained(
        experiment(rows, treatments=treatments, cohorts=[{"seats": [{"open": True}], "count": 3}]), "guesses"
    )

    assert [line for line in lines if line.startswith("guesses")] == [
        "guesses (a, b): rows: 5, of which each person is asked 5, questions: 5",
        "guesses (c): rows: 1, of which each person is asked 1, questions: 1",
    ]


def test_what_numbers_of_a_row_add_up_to_is_told_below_them() -> None:
    parts = [{"id": one, "kind": "number", "title": "{{row.what}}?", "group": "all"} for one in ("a", "b")]
    groups = {"all": {"total": {"equals": 100}}}
    stage = {"id": "shares", "kind": "survey", "rows": ITEMS[:2], "questions": parts, "groups": groups}
    cohorts = [{"seats": [{"open": True}]}]

    lines = explained(validate({"parley": 1, "name": "A", "stages": [stage], "cohorts": cohorts}), "shares")

    assert lines[4] == "    The answers to r0.a, r0.b are numbers that add up to exactly 100."
    assert lines[8] == "    The answers to r1.a, r1.b are numbers that add up to exactly 100."


@pytest.mark.parametrize("stage", ["end", "gueses"])
def test_a_stage_without_questions_says_so(stage: str) -> None:
    with pytest.raises(NotFound):
        explained(experiment([{**item, "anchor": 1} for item in ITEMS]), stage)


def interview(**fields: object) -> Experiment:
    tasks = [
        {"id": "news", "type": "context", "variable": "news", "text": "Rents\nrose."},
        {
            "id": "view",
            "type": "private_question",
            "variable": "view",
            "questions": [
                {"role": "A", "text": "How many, A?", "options": {"type": "range", "low": 1, "high": 9}},
                {
                    "role": "B",
                    "text": "And {response_options}, B?",
                    "options": {"type": "list", "values": ["yes", "no"]},
                },
            ],
        },
        {"id": "talk", "type": "discussion", "variable": "talk", "text": "Talk."},
    ]
    roles = [{"label": "A", "description": "You rent."}, {"label": "B"}]
    stage = {"id": "talks", "kind": "group_interview", "context": "A town.", "roles": roles, "tasks": tasks, **fields}
    cohorts = [{"seats": [{"open": True, "count": 2}]}]
    return validate({"parley": 1, "name": "A", "seed": 1, "stages": [stage], "cohorts": cohorts})


def test_an_interview_is_told_task_by_task_in_the_words_that_each_role_reads() -> None:
    lines = explained(interview(), "talks")

    assert lines == [
        "talks: tasks: 3",
        "  All read: A town.",
        "  A reads: You rent.",
        "  news  [context]",
        "    All read: Rents",
        "      rose.",
        "  view  [private question]",
        "    A reads: Facilitator asks you: How many, A?",
        "      Answer with a number from 1 to 9 (both included).",
        "    B reads: Facilitator asks you: And Answer with one of these: yes, no., B?",
        "  talk  [discussion]",
        "    All read: Talk.",
        "    A, B read: It is your turn in the discussion. Say what you want to say to the others.",
    ]


def test_tasks_of_three_rows_are_told() -> None:
    question = {"role": "A", "text": "{{row.what}}?"}
    task = {"id": "guess", "type": "public_question", "variable": "guess", "questions": [question]}

    lines = explained(interview(rows={"items": ITEMS, "take": 4}, tasks=[task]), "talks")

    assert lines[0] == "talks: rows: 5, of which each group is asked 4, tasks: 4"
    assert [line.split(" (")[1] for line in lines if line.startswith("  row ")] == ["1 of 4)", "2 of 4)", "3 of 4)"]
    assert all(line.startswith("      A reads: Facilitator asks you: thing ") for line in lines[5:12:3])
    assert lines[-1] == "  ... and 1 more"


def test_the_interview_of_a_workbook_is_told(parley: Parley) -> None:
    told = parley("validate", str(DEMO), "--explain", "interview")

    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("interview (plain): tasks: 11\n")
    assert "is valid" in told.stdout
