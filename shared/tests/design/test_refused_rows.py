"""Mistakes in rows, rules, orders, arms that keep and totals: each says where it is and what to type."""

import json
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import load
from parley_lab.design.reading import read

ASK = {"id": "q", "kind": "number", "title": "{{row.what}}?"}
ITEMS = [{"id": "a", "what": "x", "topic": "t"}, {"id": "b", "what": "y", "topic": "t"}]
PAGE = {"id": "page", "kind": "info", "lines": ["Read."]}
END = {"id": "end", "kind": "info", "lines": ["End."]}
OPTIONS = [{"id": "more", "text": "More"}, {"id": "less", "text": "Less"}]


def file(*stages: Any, **others: Any) -> str:
    cohorts = [{"seats": [{"open": True}], "count": 4}]
    return json.dumps({"parley": 1, "name": "Mistakes", "stages": stages, "cohorts": cohorts, **others})


def asked_of(rows: Any) -> Any:
    return {"id": "g", "kind": "survey", "rows": rows, "questions": [ASK]}


def survey(*questions: Any, **fields: Any) -> Any:
    titled = [{"kind": "check", "title": "?", **one} for one in questions]
    return {"id": "g", "kind": "survey", "questions": titled, **fields}


LATER = {"id": "later", "kind": "survey", "questions": [{"id": "y", "kind": "check", "title": "?"}]}
ANSWERED = {"stage": "later", "question": "y", "value": True}
PROFILES = {"attributes": {"price": [1, 2]}, "shuffle": True, "order": "latin"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            file(asked_of("items.csv")),
            '.rows: "items.csv" cannot be used here. Write a list of rows, or a table: `{ file: items.csv }`',
        ),
        (
            file(asked_of({"items": ITEMS, "take": 1, "by": "topic"})),
            ".rows.by: 'topic', which has the value 't' in every row, cannot be used here. "
            "Write a column with two values or more",
        ),
        (
            file(asked_of({"items": ITEMS[:1], "shuffle": True, "order": "latin"})),
            ".rows.order: 'latin' with one of the rows cannot be used here. "
            "Write two rows or more; or leave out `order`",
        ),
        (
            file({**asked_of(PROFILES), "questions": [{**ASK, "title": "{{row.a}}?"}]}),
            ".rows.order: 'latin' with one of the attributes cannot be used here. Write two attributes or more",
        ),
        (
            file(survey({"id": "x", "title": "{{row.what}}?"})),
            "(x).title: `{{row.what}}` cannot be used here. Write `rows` of this stage",
        ),
        (
            file(survey({"id": "x", "show_if": {"stage": "later", "question": "y", "value": True}}), LATER),
            ".show_if.stage: the stage 'later' comes later. Move it up, or name the id of a survey",
        ),
        (
            file(survey({"id": "x", "show_if": {"question": "y", "value": True}}, {"id": "y"})),
            ".show_if.question: the question 'y' comes later. Move it up, or name a question above this one.",
        ),
        (
            file(PAGE, END, treatments=[{"id": "t", "keep": ["page", "end"]}, {"id": "u"}]),
            "treatments[1] (u).keep: this has nothing, and other arms keep every stage",
        ),
        (
            file({**PAGE, "lines": ["{{answers.later.y}}"]}, LATER),
            "(page).lines[0]: `{{answers.later.y}}` cannot be used here. "
            "Write 'later' before this stage: it comes later",
        ),
        (
            file(
                {**PAGE, "lines": ["{{scene}}"]},
                END,
                factors={"who": ["man", "woman"]},
                texts=[{"who": "men", "scene": "A"}],
            ),
            "texts[0].who: there is no level called 'men'. Did you mean man?",
        ),
        (
            file(LATER, {**END, "show_if": ANSWERED}, PAGE, treatments=[{"id": "t", "keep": ["later"]}, {"id": "u"}]),
            "treatments[1] (u): 'later', which this arm leaves out, in show_if.stage of the stage end",
        ),
        (
            file(PAGE, assigned=[{"id": "o", "kind": "permutation", "values": ["a"], "order": "latin"}]),
            "assigned[0] (o).order: 'latin' with one value cannot be used here. Write two values or more",
        ),
    ],
)
def test_a_mistake_says_where_it_is_and_what_to_type(text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(text, "study.json")

    assert [told in str(problem) for problem in refused.value.problems] == [True]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"treatment": "t"}, "a variable, which is empty in other arms"),
        ({"role": "chair"}, "`question: role`, with the `stage` that gives the roles"),
        ({"score": "g", "value": 1}, "prompts know no other"),
    ],
)
def test_a_rule_that_no_prompt_can_have_says_what_can_take_its_place(rule: Any, expected: str) -> None:
    prompts = {"g": [{"type": "text", "text": "T", "show_if": rule}, {"type": "task"}]}
    personas = [{"id": "p", "prompts": prompts}]
    with pytest.raises(InvalidInput) as refused:
        load(file(survey({"id": "x"}), personas=personas, treatments=[{"id": "t"}]), "study.json")

    assert [expected in problem.expected for problem in refused.value.problems] == [True]


def test_a_cell_that_is_empty_within_a_text_is_told_once_for_each_column() -> None:
    rows = [*ITEMS, {"id": "c", "waht": "z", "topic": "u"}, {"id": "d", "topic": "u"}]
    questions = [
        ASK,
        {"id": "r", "kind": "number", "title": "And {{row.what}}, {{row.topic}}?", "maximum": "{{row.waht}}"},
    ]

    reading = read(file({**asked_of(rows), "questions": questions}), "study.json")

    assert [(one.where, one.wrong) for one in reading.warnings()] == [
        ("stages[0].questions[0].title", "`{{row.what}}` is empty in 2 rows, first in c")
    ]
