"""Files whose groups are made of those who are there, and what is refused in them."""

from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import allocate, validate

SURVEY = {"id": "ask", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]}
TALK = {"id": "talk", "kind": "group_chat"}
PAIR = {"made": "when_together", "at": "talk", "count": 2, "seats": [{"open": True, "count": 2}]}


def file(**changes: Any) -> dict[str, Any]:
    base = {"parley": 1, "name": "Pairs", "stages": [SURVEY, TALK], "cohorts": [PAIR], "personas": [{"id": "ana"}]}
    return {**base, **changes}


def pair(**changes: Any) -> dict[str, Any]:
    return {"cohorts": [{**PAIR, **changes}]}


def arm(**changes: Any) -> dict[str, Any]:
    return {"treatments": [{"id": "a"}, {"id": "b", **changes}]}


ASK: dict[str, Any] = {
    "id": "ask",
    "kind": "survey",
    "questions": [
        {
            "id": "view",
            "kind": "choice",
            "title": "For?",
            "options": [{"id": "pro", "text": "For"}, {"id": "con", "text": "Not"}],
        }
    ],
}
BY = {"stage": "ask", "question": "view"}


def matched(**rule: Any) -> dict[str, Any]:
    return {"stages": [ASK, TALK], "cohorts": [{**PAIR, "match": {"by": BY, **rule}}]}


def by_rule(rule: dict[str, Any], want: dict[str, Any] | None = None) -> dict[str, Any]:
    return matched(by={"rules": {"for": rule}}, want=want or {"for": 2})


FOR: dict[str, Any] = {**BY, "value": "pro"}
TWO = {**TALK, "id": "two"}
BY_PARTICIPANT = {"allocation": {"by": "participant"}}
IN_BLOCK = [{"id": one, "kind": "info", "lines": ["Read."], "block": "cases"} for one in "pq"]
OWN_ORDER = {"id": "order", "kind": "permutation", "values": ["p", "q"], "order": "latin", "block": "cases"}
LAST = {"id": "end", "kind": "info", "lines": ["Bye"]}
TONES: dict[str, Any] = {"factors": {"tone": {"warm": {}, "cold": {}}}}
BEFORE = "a stage that each goes through alone: people meet at 'talk'"
ALIKE = "the same in all arms: the arm of a group is drawn at 'talk'"


@pytest.mark.parametrize(
    ("changes", "where", "expected"),
    [
        (pair(at="tolk"), "cohorts[0].at", "talk"),
        (
            {"cohorts": [{"made": "when_together", "seats": [{"open": True}]}]},
            "cohorts[0].at",
            "the stage where people",
        ),
        (pair(made="on_arrival"), "cohorts[0].at", "`made: when_together` beside it"),
        (pair(seats=[{"persona": "ana"}]), "cohorts[0].made", "a seat with `open: true`"),
        (pair(groups_of=2), "cohorts[0].groups_of", "nothing beside `made: when_together`"),
        ({"cohorts": [PAIR, {"seats": [{"open": True}]}]}, "cohorts[1].seats", "seats of agents"),
        ({"stages": [{**SURVEY, "audience": "cohort"}, TALK]}, "stages[0]", BEFORE),
        ({"stages": [{**TALK, "id": "first"}, TALK]}, "stages[0]", BEFORE),
        ({"stages": [{"id": "alone", "kind": "private_chat"}, TALK]}, "stages[0]", BEFORE),
        (arm(stages={"ask": {"name": "Other"}}), "treatments[1].stages.ask", ALIKE),
        (arm(leave_out=["ask"]), "treatments[1].leave_out", ALIKE),
        (arm(leave_out=["talk"]), "treatments[1].leave_out", "a stage that is not left out"),
        (
            {
                "stages": [{**SURVEY, "name": "{{word}}"}, TALK],
                "variables": {"word": "x"},
                **arm(variables={"word": "y"}),
            },
            "treatments[1].variables.word",
            ALIKE,
        ),
        ({"cohorts": [{**PAIR, "made": "at_start", "at": None, "match": {}}]}, "cohorts[0].match", "when_together"),
        (pair(at=["talk", "tolk"]), "cohorts[0].at", "talk"),
        (pair(at=["talk", "talk"]), "cohorts[0].at", "each stage once"),
        (
            {"stages": [SURVEY, TALK, TWO], **arm(leave_out=["two"]), **pair(at=["talk", "two"]), **BY_PARTICIPANT},
            "treatments[1].leave_out",
            "a stage that is not left out: people meet at 'two'",
        ),
        (
            {"stages": [SURVEY, *IN_BLOCK], "assigned": [OWN_ORDER], **pair(at="p")},
            "stages[1].block",
            "a stage outside the block",
        ),
        (
            {"stages": [SURVEY, IN_BLOCK[0], TALK, IN_BLOCK[1]], "assigned": [OWN_ORDER]},
            "stages[3].block",
            "people meet at 'talk'",
        ),
        (
            {"stages": [SURVEY, IN_BLOCK[0], TALK, IN_BLOCK[1]], **arm(order={"cases": ["q", "p"]}), **BY_PARTICIPANT},
            "treatments[1].order",
            "on one side of a meeting",
        ),
        (pair(match={"never_again": True}), "cohorts[0].match.never_again", "several stages"),
        (
            {"stages": [SURVEY, TALK, {**TALK, "id": "two"}], **pair(at=["talk", "two"]), **arm()},
            "cohorts[0].at",
            "participant",
        ),
        (matched(want={"pro": 1}, values="same"), "cohorts[0].match", "one of `values`"),
        (matched(balance=True), "cohorts[0].match.balance", "`kinds` beside it"),
        (matched(by=None, values="same"), "cohorts[0].match.by", "the value that decides"),
        (matched(by={"stage": "talk", "question": "x"}), "cohorts[0].match.by", "before people meet"),
        (matched(by={"stage": "ask", "question": "veiw"}), "cohorts[0].match.by.question", "view"),
        (matched(by={"variable": "side"}), "cohorts[0].match.by.variable", "assigned variable"),
        (matched(want={"por": 1, "con": 1}), "cohorts[0].match.want.por", "pro"),
        (
            {
                **matched(by={"variable": "side"}, want={"x": 1, "2": 1}),
                "assigned": [{"id": "side", "kind": "balanced", "values": ["l", 2]}],
            },
            "cohorts[0].match.want.x",
            "l, 2",
        ),
        (matched(want={"pro": {"least": 2, "most": 1}}), "cohorts[0].match.want.pro", "no more at least"),
        (matched(want={"pro": 2, "con": 1}), "cohorts[0].match.want", "at most 2"),
        (matched(kinds=[{"id": "a", "want": {"pro": 1}}] * 2), "cohorts[0].match.kinds[1].id", "an id of its own"),
        (
            matched(kinds=[{"id": "a", "want": {"pro": 1}, "treatment": "x"}]),
            "cohorts[0].match.kinds[0].treatment",
            "treatment",
        ),
        (
            pair(seats=[{"open": True}, {"persona": "ana", "persona_for": {"pro": "ana"}}]),
            "cohorts[0].seats[1].persona_for",
            "`match: {by: ...}`",
        ),
        (
            {"assigned": [{"id": "word", "kind": "balanced", "values": ["x", "y"], "across": "cohort"}]},
            "assigned[0].across",
            "experiment",
        ),
        (
            {
                "stages": [{**SURVEY, "name": "{{word}}"}, TALK],
                "assigned": [{"id": "word", "kind": "by_cohort", "value": "x"}],
            },
            "stages[0].name",
            "a value that a person has before there is a group",
        ),
        ({"stages": [ASK, {**TALK, "show_if": FOR}]}, "stages[1].show_if", "a stage after it"),
        (
            {"stages": [ASK, TALK, {**TALK, "id": "two", "show_if": FOR}], **pair(at=["talk", "two"])},
            "stages[2].show_if",
            "a stage after it",
        ),
        (
            {"stages": [ASK, TALK], **arm(stages={"talk": {"show_if": FOR}})},
            "treatments[1].stages.talk.show_if",
            "a stage after it",
        ),
        (
            {"stages": [SURVEY, {**LAST, "show_if": {"treatment": "b"}}, TALK], **arm()},
            "stages[1].show_if.treatment",
            "`allocation: {by: participant}`",
        ),
        (
            {
                "stages": [{**LAST, "lines": [{"text": "x", "show_if": {"factor": "tone", "value": "warm"}}]}, TALK],
                **TONES,
            },
            "stages[0].lines[0].show_if.factor",
            "`allocation: {by: participant}`",
        ),
        (
            {
                "stages": [SURVEY, {**LAST, "show_if": {"variable": "word", "value": "y"}}, TALK],
                "variables": {"word": "x"},
                **arm(variables={"word": "y"}),
            },
            "stages[1].show_if.variable",
            "`allocation: {by: participant}`",
        ),
        (
            {
                "stages": [SURVEY, {**ASK, "id": "more", "show_if": {**FOR, "question": "why", "value": "x"}}, TALK],
                "cohorts": [{**PAIR, "match": {"by": {**BY, "stage": "more"}}}],
            },
            "cohorts[0].match.by.stage",
            "a stage without `show_if`",
        ),
        (matched(grows_to=2), "cohorts[0].match.grows_to", "more than 2, for whom the plan has open seats"),
        (
            matched(values="same", grows_to=6),
            "cohorts[0].match.grows_to",
            "`want`, `kinds` or those who came first",
        ),
        (
            {**pair(match={"grows_to": 6}), "stages": [{**TALK, "kind": "beauty_contest"}]},
            "cohorts[0].match.grows_to",
            "a stage that people may join when it has begun, such as a conversation",
        ),
        (
            by_rule({"stage": "ask", "question": "colour", "value": "red"}),
            "cohorts[0].match.by.rules.for.question",
            "view",
        ),
        (
            by_rule({"stage": "talk", "question": "view", "value": "pro"}),
            "cohorts[0].match.by.rules.for.stage",
            "one of ask before people meet",
        ),
        (
            by_rule({"treatment": "a"}),
            "cohorts[0].match.by.rules.for",
            "a rule with `stage` and `question`, or `variable`",
        ),
        (by_rule(FOR, want={"against": 2}), "cohorts[0].match.want.against", "for"),
    ],
)
def test_a_mistake_is_told_at_its_place(changes: dict[str, Any], where: str, expected: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        validate(file(**changes))

    assert any(one.where.startswith(where) and expected in one.expected for one in refused.value.problems)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        arm(stages={"talk": {"time_limit_seconds": 60}}),
        {"stages": [{"id": "me", "kind": "profile", "set": "animals"}, SURVEY, TALK]},
        {"cohorts": [PAIR, {"seats": [{"persona": "ana", "count": 2}]}]},
        matched(want={"pro": 1, "con": {"least": 0, "most": 2}}),
        matched(values="different"),
        {"stages": [SURVEY, TALK, {**TALK, "id": "two"}], **pair(at=["talk", "two"], match={"never_again": True})},
        matched(kinds=[{"id": "a", "want": {"pro": 1}}, {"id": "b", "want": {"con": 1}}], balance=True),
        {**arm(stages={"ask": {"name": "Other"}}), "allocation": {"by": "participant"}},
        {"stages": [ASK, TALK, {**LAST, "show_if": FOR}]},
        {"stages": [SURVEY, *IN_BLOCK, TALK], "assigned": [OWN_ORDER]},
        {"stages": [SURVEY, *IN_BLOCK, TALK], **arm(order={"cases": ["q", "p"]}), **BY_PARTICIPANT},
        {"stages": [SURVEY, TALK, *IN_BLOCK, TWO], "assigned": [OWN_ORDER], **pair(at=["talk", "two"])},
        {"stages": [SURVEY, TALK, {**LAST, "show_if": {"treatment": "b"}}], **arm()},
        {
            "stages": [SURVEY, {**LAST, "show_if": {"treatment": "b"}}, TALK],
            **arm(),
            "allocation": {"by": "participant"},
        },
    ],
)
def test_what_a_person_can_do_alone_may_lie_before_the_meeting(changes: dict[str, Any]) -> None:
    validate(file(**changes))


def test_groups_that_are_made_of_those_who_are_there_are_numbered_last() -> None:
    agents = {"id": "agents", "seats": [{"persona": "ana", "count": 2}]}

    plan = allocate(validate(file(cohorts=[{**PAIR, "id": "pair"}, agents])), 1)

    assert [(one.path, one.name, one.together) for one in plan] == [
        ("c1", "agents", False),
        ("c2", "pair-1", True),
        ("c3", "pair-2", True),
    ]
