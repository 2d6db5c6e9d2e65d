"""`parley validate --explain` shows the questions of a stage."""

import pytest

from parley_lab.base.errors import NotFound
from parley_lab.cli.explaining import explained
from parley_lab.design import Experiment, validate

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
