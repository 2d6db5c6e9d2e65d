"""Assigned variables: which value a cohort or a participant has, and which draw gave it."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.assigned import Balanced, ByCohort, Permutation
from parley_lab.design import Experiment, resolve, validate
from parley_lab.design.allocation import allocate
from parley_lab.design.assigning import at_place, of_cohort, of_participant, values_of
from parley_lab.people.assigning import planned

FILE: dict[str, Any] = {
    "parley": 1,
    "name": "Assigned",
    "stages": [
        {"id": "before", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]},
        {"id": "after", "kind": "info", "lines": ["{{word}} {{city}}"]},
    ],
    "personas": [{"id": "ana"}],
    "cohorts": [{"id": "north", "count": 2, "seats": [{"persona": "ana"}]}, {"id": "south", "seats": [{"open": True}]}],
    "assigned": [
        {"id": "word", "kind": "balanced", "values": ["A", "B"], "weights": [2, 1]},
        {"id": "city", "kind": "by_cohort", "value": "Altmere", "cohorts": {"north": "Berg"}},
    ],
}


def complaints(**changes: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        validate({**FILE, **changes})
    return {problem.where: (problem.found, problem.expected) for problem in refused.value.problems}


def experiment(**changes: Any) -> Experiment:
    return validate({**FILE, **changes})


def test_weights_come_in_turn() -> None:
    word = Balanced(id="word", values=("A", "B"), weights=(2, 1))

    dealt = [at_place(word, "c1", number)["word"] for number in range(1, 7)]

    assert [one["value"] for one in dealt] == [*"AABAAB"]
    assert [one["draw"] for one in dealt] == [f"variable:word/{number}" for number in range(1, 7)]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 60))
def test_any_number_of_arrivals_has_each_value_as_often_as_its_weight_to_one_cycle(
    weights: list[int], arrivals: int
) -> None:
    word = Balanced(id="word", values=tuple(range(len(weights))), weights=tuple(weights))

    had = Counter(at_place(word, "c1", number)["word"]["value"] for number in range(1, arrivals + 1))

    whole = arrivals // sum(weights)
    assert all(whole * weight <= had[value] <= (whole + 1) * weight for value, weight in enumerate(weights))


def test_an_order_of_a_text_is_that_of_deliberate_lab() -> None:
    two = Permutation(id="colour", values=tuple("rgby"), take=2, seed_text="exp1")
    all_in_one = Permutation(id="letters", values=tuple("abcde"), split=False, seed_text="seed")

    found = of_participant([two, all_in_one], 1, "c1/m1")

    assert values_of(found) == {"colour_1": "b", "colour_2": "r", "letters": [*"eadbc"]}
    assert found["colour_2"]["draw"] == "c1/m1/variable:colour/2"


@pytest.mark.parametrize(("scope", "orders"), [("experiment", 1), ("cohort", 3), ("participant", 6)])
def test_who_has_the_same_order_is_said_by_the_scope(scope: str, orders: int) -> None:
    one = Permutation.model_validate({"id": "x", "scope": scope, "values": [*range(20)], "split": False})

    found = {
        str({**of_cohort([one], 7, cohort, cohort), **of_participant([one], 7, f"{cohort}/m{seat}")}["x"]["value"])
        for cohort in ("c1", "c2", "c3")
        for seat in (1, 2)
    }

    assert len(found) == orders


def test_a_random_value_is_as_likely_as_its_weight() -> None:
    word = Balanced(id="word", values=("A", "B"), weights=(3, 1), order="random")

    had = Counter(of_participant([word], 5, f"c1/m{seat}")["word"]["value"] for seat in range(2000))

    assert 0.70 < had["A"] / 2000 < 0.80


def test_the_value_of_a_cohort_is_that_of_its_plan() -> None:
    city = ByCohort(id="city", value="Altmere", cohorts={"north": "Berg"})

    cities = [of_cohort([city], 1, "c1", plan)["city"]["value"] for plan in ("north", "south", None)]

    assert cities == ["Berg", "Altmere", "Altmere"]


def test_a_cohort_does_not_have_the_value_of_one_whose_id_its_own_begins_with() -> None:
    pilots = [{"id": name, "seats": [{"persona": "ana"}]} for name in ("pilot", "pilot-2", "pilot-b")]
    city = {"id": "city", "kind": "by_cohort", "value": "Altmere", "cohorts": {"pilot": "Berg"}}
    found = experiment(cohorts=[{**pilots[0], "count": 1}, *pilots[1:]], assigned=[city, FILE["assigned"][0]])

    assert cities_of(found) == {"pilot": "Berg", "pilot-2": "Altmere", "pilot-b": "Altmere"}


def test_all_cohorts_of_a_plan_have_its_value() -> None:
    assert cities_of(experiment()) == {"north-1": "Berg", "north-2": "Berg", "south": "Altmere"}


def cities_of(found: Experiment) -> dict[str, Any]:
    """The city of each cohort, by its name."""
    cohorts = allocate(found, 1)
    given = planned(found, cohorts, 1).cohorts
    return {cohort.name: given[cohort.path]["city"]["value"] for cohort in cohorts}


def test_a_participants_value_wins_over_the_cohorts_and_that_over_the_experiments() -> None:
    info = {"id": "after", "kind": "info", "lines": ["{{a}} {{b}} {{c}}"]}
    assigned = [
        {"id": "b", "kind": "by_cohort", "value": "cohort"},
        {"id": "c", "kind": "by_cohort", "value": "cohort"},
    ]
    design = resolve(experiment(stages=[info], assigned=assigned, variables=dict.fromkeys("abc", "experiment")), None)
    cohort = of_cohort(experiment(stages=[info], assigned=assigned, variables={"a": 1}).assigned, 1, "c1", "c1")

    (stage,) = design.for_reader(values_of(cohort, {"c": {"value": "participant", "draw": ""}}), {}).stages

    assert stage.model_dump()["lines"] == ("experiment cohort participant",)


@given(st.text(max_size=40))
def test_what_is_in_a_value_is_not_looked_at_again(value: str) -> None:
    info = {"id": "after", "kind": "info", "lines": ["<{{word}}>"]}
    (stage,) = resolve(experiment(stages=[info]), None).for_reader({"word": value, "city": "no"}, {}).stages

    assert stage.model_dump()["lines"] == (f"<{value}>",)


@pytest.mark.parametrize(
    ("variable", "where"),
    [
        ({"id": "x", "kind": "balanced", "values": [1, 2], "weights": [1]}, "assigned[0].weights"),
        ({"id": "x", "kind": "permutation", "values": [1, 2], "take": 3}, "assigned[0].take"),
        ({"id": "x", "kind": "by_cohort", "cohorts": {"nowhere": 1}}, "assigned[0].cohorts.nowhere"),
        ({"id": "answers", "kind": "by_cohort"}, "assigned[0].id"),
    ],
)
def test_what_cannot_be_assigned_is_told_with_its_place(variable: dict[str, Any], where: str) -> None:
    assert where in complaints(stages=[{"id": "s", "kind": "info", "lines": ["Hello"]}], assigned=[variable])


def test_a_name_is_assigned_once() -> None:
    orders = {"id": "word", "kind": "permutation", "values": [1, 2]}
    taken = {"id": "word_1", "kind": "by_cohort"}

    found = complaints(stages=[FILE["stages"][0]], assigned=[orders, taken])

    assert found["assigned[1].id"] == ("'word_1', as in assigned[0]", "a name of its own")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("answers.before.wy", "why (did you mean that?), or another question"),
        ("answers.befor.why", "before (did you mean that?), or another earlier stage"),
        ("answers.after.why", "one of before"),
        ("results.before.winner", "another stage: this one has no result"),
    ],
)
def test_a_text_names_answers_and_results_that_earlier_stages_give(name: str, expected: str) -> None:
    stages = [FILE["stages"][0], {"id": "after", "kind": "info", "lines": ["Hello", f"{{{{{name}}}}}"]}]

    found = complaints(stages=stages, assigned=[])["stages[1].lines[1]"]

    assert found[0] == f"`{{{{{name}}}}}`"
    assert expected in found[1]


def test_an_answer_that_comes_later_cannot_be_named() -> None:
    stages = [{"id": "first", "kind": "info", "lines": ["{{answers.before.why}}"]}, FILE["stages"][0]]

    expected = "'before' before this stage: it comes later"
    assert complaints(stages=stages, assigned=[])["stages[0].lines[0]"][1] == expected


def test_a_prompt_names_answers_that_some_stage_gives() -> None:
    personas = [{"id": "ana", "text": "You said {{answers.before.why}} and {{answers.before.wy}}."}]

    found = complaints(personas=personas)

    assert [*found] == ["personas[0].text"]
