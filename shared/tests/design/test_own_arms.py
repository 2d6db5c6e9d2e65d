"""Treatments by participant: which arms agents get at the start, and which files are refused."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.design import OF_PARTICIPANTS, Experiment, SeatAssignment, allocate, load
from parley_lab.design.most_calls import most_calls

SEEDS = st.integers(0, 2**63 - 1)
ALIKE = "the same in all arms: say what differs in `variables`, or allocate the arms `by: cohort`"
FILE: dict[str, Any] = {
    "parley": 1,
    "name": "Own arms",
    "variables": {"word": "nothing"},
    "stages": [
        {"id": "read", "kind": "info", "lines": ["{{tone}}"], "block": "order"},
        {
            "id": "asked",
            "kind": "survey",
            "block": "order",
            "questions": [{"id": "why", "kind": "text", "title": "Why {{word}}?"}],
        },
        {"id": "talk", "kind": "group_chat", "description": "{{word}}", "block": "order"},
        {"id": "alone", "kind": "private_chat", "description": "{{tone}}", "block": "order"},
    ],
    "personas": [
        {"id": "ana"},
        {"id": "host", "text": "Be {{word}}.", "mediates_in": ["talk"]},
        {"id": "guide", "text": "Be {{tone}}.", "mediates_in": ["alone"]},
    ],
    "cohorts": [{"seats": [{"persona": "ana", "count": 3}, {"open": True}], "mediators": ["host", "guide"]}],
    "treatments": [{"id": "warm", "variables": {"tone": "warm"}}, {"id": "cold", "variables": {"tone": "cold"}}],
    "allocation": {"by": "participant"},
}


def arm(**changes: Any) -> dict[str, Any]:
    """The file with these changes in its first arm."""
    first, second = FILE["treatments"]
    return {**FILE, "treatments": [{**first, **changes}, second]}


def changed(stage: int, **changes: Any) -> dict[str, Any]:
    stages = [{**one, **changes} if number == stage else one for number, one in enumerate(FILE["stages"])]
    return {**FILE, "stages": stages}


def complaints(file: dict[str, Any]) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidInput) as refused:
        load(json.dumps(file), "study.json")
    return [(one.where, one.found, one.expected) for one in refused.value.problems]


def test_a_file_in_which_arms_change_what_each_has_alone_is_read() -> None:
    own = arm(
        stages={"asked": {"description": "Warmly", "stay": {"at_least_seconds": 5}}, "read": {"lines": ["Hello"]}},
        personas={"ana": {"text": "You are warm."}, "guide": {"text": "You are {{tone}}."}},
        model={"temperature": 0.2},
        order={"order": ["asked", "read", "talk", "alone"]},
    )
    assert load(json.dumps(own), "study.json").allocation.by == "participant"
    assert load(json.dumps(arm(leave_out=["read"])), "study.json").treatments[0].leave_out == ("read",)


@pytest.mark.parametrize(
    ("file", "where", "found", "expected"),
    [
        (
            arm(stages={"talk": {"time_limit_seconds": 60}}),
            "treatments[0].stages.talk",
            "a change of the stage 'talk', where members talk",
            ALIKE,
        ),
        (
            arm(stages={"asked": {"progress": {"wait_for_all": True}}}),
            "treatments[0].stages.asked",
            "a change of the stage 'asked', where members wait for each other",
            ALIKE,
        ),
        (
            arm(stages={"asked": {"audience": "cohort"}}),
            "treatments[0].stages.asked",
            "a change of the stage 'asked', whose answers others read",
            ALIKE,
        ),
        (arm(leave_out=["talk"]), "treatments[0].leave_out[0]", "the stage 'talk', where members talk", ALIKE),
        (
            arm(order={"order": ["read", "asked", "alone", "talk"]}),
            "treatments[0].order",
            "alone, talk, where members wait or meet",
            "talk, alone in all arms: members of other arms would wait there for each other",
        ),
        (
            arm(personas={"host": {"text": "Be warm."}}),
            "treatments[0].personas.host",
            "a change of a mediator of 'talk', where members of all arms are",
            f"one that sits only where participants talk in private (`mediates_in`); else {ALIKE}",
        ),
        (
            arm(personas={"guide": {"model": {"temperature": 0}}}),
            "treatments[0].personas.guide.model",
            "a change of model of a mediator",
            "one of text, role, goal, backstory, attributes, prompts: the mediator is the same for all arms but for "
            "what it is told",
        ),
        (
            changed(2, description="{{tone}}"),
            "stages[2].description",
            "`{{tone}}`",
            "a name with a value in `variables` of the experiment, for those who have no arm: mediators and the lab",
        ),
        (
            {**FILE, "cohorts": [{"seats": [{"open": True, "treatment": "hot"}]}]},
            "cohorts[0].seats[0].treatment",
            "'hot'",
            "one of warm, cold",
        ),
        (
            {**FILE, "allocation": {}, "cohorts": [{"seats": [{"open": True, "treatment": "warm"}]}]},
            "cohorts[0].seats[0].treatment",
            "'warm'",
            "`allocation: {by: participant}` beside it; or `treatment` of the whole cohort",
        ),
        (
            {key: value for key, value in changed(0, lines=["Hi"]).items() if key != "treatments"}
            | {
                "stages": [{"id": "read", "kind": "info", "lines": ["Hello"]}],
                "personas": [{"id": "ana"}],
                "cohorts": [{"seats": [{"persona": "ana"}]}],
            },
            "allocation",
            "no arms to allocate",
            "`treatments` or `factors` beside it; or leave it out",
        ),
    ],
)
def test_a_file_whose_arms_differ_where_members_are_together_is_refused(
    file: dict[str, Any], where: str, found: str, expected: str
) -> None:
    assert (where, found, expected) in complaints(file)


PARTS: dict[str, Any] = {
    "id": "parts",
    "kind": "role",
    "roles": [{"id": "chair", "lines": ["Be {{tone}}."], "max_participants": 1}, {"id": "member"}],
}


def parted(**role: Any) -> dict[str, Any]:
    """The file with a stage of roles, in whose first arm the chair is different."""
    chair, member = PARTS["roles"]
    file = arm(stages={"parts": {"roles": [{**chair, **role}, member]}})
    return {**file, "stages": [*FILE["stages"], PARTS], "variables": {**FILE["variables"], "tone": "neutral"}}


def test_arms_may_change_the_words_of_a_role_and_not_how_many_have_it() -> None:
    own = load(json.dumps(parted(name="Chairperson", lines=["Be very warm."])), "study.json")
    assert own.allocation.by == "participant"

    for change in ({"max_participants": 2}, {"id": "head"}):
        found = "a change of the stage 'parts', where members wait for each other"
        assert ("treatments[0].stages.parts", found, ALIKE) in complaints(parted(**change))


def test_arms_may_change_what_is_shown_above_a_talk() -> None:
    shown = arm(stages={"talk": {"description": "Talk warmly.", "name": "Warm talk"}})
    assert load(json.dumps(shown), "study.json").allocation.by == "participant"


@pytest.mark.parametrize("set_name", ["nature", "free"])
def test_arms_may_give_their_members_names_of_different_sets(set_name: str) -> None:
    file = arm(stages={"who": {"set": set_name}})
    stages = [{"id": "who", "kind": "profile", "set": "animals"}, *FILE["stages"]]
    assert load(json.dumps({**file, "stages": stages}), "study.json").allocation.by == "participant"


def test_what_the_answers_of_all_are_read_for_is_one_stage() -> None:
    cohort_reads = changed(1, audience="cohort")
    moved = {
        **cohort_reads,
        "treatments": [
            {**FILE["treatments"][0], "order": {"order": ["asked", "read", "talk", "alone"]}},
            FILE["treatments"][1],
        ],
    }

    assert ("treatments[0].order", "'read' after 'asked'", "'talk' there in all arms") in complaints(moved)


def test_a_level_of_a_factor_that_changes_a_talk_is_told_at_its_place() -> None:
    levels = {"short": {"stages": {"talk": {"time_limit_seconds": 60}}}, "long": {}}
    file = {key: value for key, value in FILE.items() if key != "treatments"}
    file |= {"variables": {"word": "", "tone": ""}, "factors": {"length": levels}}

    assert [one[0] for one in complaints(file)] == ["factors.length.short.stages.talk"]


def an_experiment(method: str, agents: int, weights: dict[str, int], **cohort: Any) -> Experiment:
    seats = [{"persona": "ana", "count": agents}] if agents else []
    return Experiment.model_validate(
        {
            "parley": 1,
            "name": "Draws",
            "stages": [{"id": "read", "kind": "info", "lines": ["Hello"]}],
            "personas": [{"id": "ana"}],
            "cohorts": [{"seats": [*seats, {"open": True}], "count": 2, **cohort}],
            "treatments": [{"id": one} for one in weights],
            "allocation": {"by": "participant", "method": method, "weights": weights},
        }
    )


def seats_of(experiment: Experiment, seed: int) -> list[SeatAssignment]:
    plan = allocate(experiment, seed)
    assert {cohort.treatment_id for cohort in plan} == {OF_PARTICIPANTS}
    return [seat for cohort in plan for seat in cohort.seats]


@given(
    method=st.sampled_from(["complete", "blocked", "simple"]),
    agents=st.integers(0, 20),
    weights=st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1),
    seed=SEEDS,
)
def test_agents_of_all_cohorts_get_their_arms_by_the_quotas_of_the_method(
    method: str, agents: int, weights: dict[str, int], seed: int
) -> None:
    experiment = an_experiment(method, agents, weights)

    seats = seats_of(experiment, seed)

    assert seats == seats_of(experiment, seed)
    people = [seat for seat in seats if seat.persona_id is None]
    assert all(seat.treatment_id is None and not seat.allocated for seat in people)
    drawn = [seat for seat in seats if seat.persona_id is not None]
    arms = [seat.treatment_id or "" for seat in drawn]
    assert len(arms) == 2 * agents
    cycle = sum(weights.values())
    assert [seat.allocated["draw"] for seat in drawn] == list(range(1, len(drawn) + 1))
    assert [seat.allocated["probability"] for seat in drawn] == [weights[one] / cycle for one in arms]
    if method != "simple":
        whole = len(arms) // cycle
        counted = Counter(arms)
        assert all(whole * weight <= counted[one] <= (whole + 1) * weight for one, weight in weights.items())
    if method == "blocked":
        for begin in range(0, len(arms) - cycle + 1, cycle):
            assert Counter(arms[begin : begin + cycle]) == weights


def test_a_seat_or_a_cohort_that_names_its_arm_has_it_and_takes_no_draw() -> None:
    named = an_experiment("complete", 0, {"a": 1, "b": 1}, seats=[{"open": True, "treatment": "b"}, {"persona": "ana"}])
    cohort = an_experiment("complete", 1, {"a": 1, "b": 1}, treatment="a")

    open_seats = [seat for seat in seats_of(named, 1) if seat.persona_id is None]
    agents = [seat for seat in seats_of(named, 1) if seat.persona_id is not None]

    assert {(seat.treatment_id, seat.allocated["rule"]) for seat in open_seats} == {("b", "named")}
    assert Counter(seat.treatment_id for seat in agents) == {"a": 1, "b": 1}
    assert {(seat.treatment_id, seat.allocated["rule"]) for seat in seats_of(cohort, 1)} == {("a", "named")}


def test_the_most_calls_are_those_of_agents_who_all_draw_the_arm_with_most() -> None:
    """In a mixed cohort each agent counts with the most expensive arm; one whose arm is named counts with that."""
    survey = {"id": "asked", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]}
    document: dict[str, Any] = {
        "parley": 1,
        "name": "Calls",
        "stages": [{"id": "read", "kind": "info", "lines": ["Hello"]}, survey],
        "personas": [{"id": "ana", "model": {"max_attempts": 1}}],
        "cohorts": [{"seats": [{"persona": "ana", "count": 3}, {"persona": "ana", "treatment": "none"}]}],
        "treatments": [{"id": "all"}, {"id": "none", "leave_out": ["asked"]}],
        "allocation": {"by": "participant"},
    }

    assert most_calls(Experiment.model_validate(document)).replies == 3
