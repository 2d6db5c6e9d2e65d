"""Texts for one role: what a file may say, who reads what, and how it is written back."""

from typing import Any
from uuid import UUID

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import Experiment, resolve, validate
from parley_lab.kinds import PAGE
from parley_lab.members.reader_texts import reader_roles
from parley_lab.views.builder import Facts, People

ME = UUID(int=1)
PARTS = {"id": "parts", "kind": "role", "roles": [{"id": "sender"}, {"id": "receiver"}]}
AGAIN = {**PARTS, "id": "again"}
TEXTS: list[Any] = [
    "For all.",
    {"text": "You send {{sum}}.", "for": "sender"},
    {"text": "You wait.", "for": "receiver"},
]
READ = {"id": "read", "kind": "info", "description": TEXTS, "lines": TEXTS}
ASK = {"id": "ask", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": TEXTS[1:]}]}


def experiment(*stages: Any) -> Experiment:
    whole = {"parley": 1, "name": "Roles", "variables": {"sum": 5}, "cohorts": [{"seats": [{"open": True}]}]}
    return validate({**whole, "stages": [*stages]})


def read_by(role: str | None, *stages: Any, again: str | None = None) -> dict[str, Any]:
    """The stages as a member reads them who was given this role in `parts`, and another one in `again`."""
    resolved = resolve(experiment(*stages), None)
    given = {"parts": role, "again": again}
    answers = {stage: {ME: {PAGE: {"role": one, "name": one}}} for stage, one in given.items() if one is not None}
    roles = reader_roles(resolved, Facts(people=People(()), answers=answers), ME)
    return resolved.for_reader({}, roles).by_id


@pytest.mark.parametrize(
    ("role", "mine"), [("sender", ["You send 5."]), ("receiver", ["You wait."]), (None, [])], ids=str
)
def test_each_reads_what_is_for_all_and_for_their_own_role(role: str | None, mine: list[str]) -> None:
    stages = read_by(role, PARTS, READ, ASK)

    assert stages["read"].lines == ("For all.", *mine)
    assert stages["read"].description == "\n\n".join(["For all.", *mine])
    assert stages["ask"].questions[0].title == "".join(mine)


def test_the_role_that_was_given_last_decides_from_then_on() -> None:
    stages = read_by("sender", PARTS, READ, AGAIN, {**READ, "id": "later"}, again="receiver")

    assert stages["read"].lines == ("For all.", "You send 5.")
    assert stages["later"].lines == ("For all.", "You wait.")


def test_code_that_knows_no_reader_has_the_parts_for_all() -> None:
    stage: Any = resolve(experiment(PARTS, READ), None).by_id["read"]

    assert (stage.description, stage.lines) == ("For all.", ("For all.",))


def test_a_document_is_written_back_as_it_was_read() -> None:
    written = experiment(PARTS, READ, ASK).model_dump(mode="json")

    assert written["stages"][1]["lines"] == written["stages"][1]["description"] == TEXTS
    assert validate(written).model_dump(mode="json") == written


LINES = "stages[1].lines[0]"


@pytest.mark.parametrize(
    ("line", "where", "expected"),
    [
        ({"text": "x", "for": "chair"}, f"{LINES}.for", "one of sender, receiver"),
        ({"text": "x", "for": "sendr"}, f"{LINES}.for", "sender (did you mean that?), or another role"),
        ({"text": "x"}, f"{LINES}.for", "this field: `for: text`"),
        ({"for": "sender"}, f"{LINES}.text", "this field: `text: text`"),
        ({"text": "{{answers.no.a}}", "for": "sender"}, f"{LINES}.text", "one of parts"),
        ({"text": "{{nothing}}", "for": "sender"}, f"{LINES}.text", "one of the variables sum"),
        (7, LINES, 'text, in quotes: "7"'),
    ],
)
def test_what_is_wrong_is_told_at_its_place(line: Any, where: str, expected: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        experiment(PARTS, {**READ, "lines": [line]})

    assert [(one.where, one.expected) for one in refused.value.problems] == [(where, expected)]


def test_a_role_that_comes_later_is_told() -> None:
    with pytest.raises(InvalidInput) as refused:
        experiment({**READ, "lines": ["All."]}, PARTS)

    expected = "a role that an earlier stage gives: none comes before"
    assert {(one.where, one.expected) for one in refused.value.problems} == {
        ("stages[0].description[1].for", expected),
        ("stages[0].description[2].for", expected),
    }
