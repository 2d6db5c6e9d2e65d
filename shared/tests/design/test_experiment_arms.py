"""What treatments make of an experiment, and which cohort gets which."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput, NotFound
from parley_lab.design import Experiment, Resolved, allocate, resolve, validate


def info(stage_id: str, **changes: Any) -> dict[str, Any]:
    return {"id": stage_id, "kind": "info", "lines": ["Hello"], **changes}


def experiment(**changes: Any) -> Experiment:
    base: dict[str, Any] = {
        "parley": 1,
        "name": "Test",
        "stages": [info("a"), info("b")],
        "personas": [{"id": "ana", "model": {"temperature": 0.5}}, {"id": "ben"}],
        "cohorts": [{"seats": [{"open": True}]}],
    }
    return validate({**base, **changes})


def ids(resolved: Resolved) -> list[str]:
    return list(resolved.stage_ids)


def test_without_a_treatment_the_experiment_is_as_it_is() -> None:
    plain = resolve(experiment(), None)

    usual = {"look_back": "texts", "paste": "allowed"}
    assert plain.stages == tuple(one.model_copy(update=usual) for one in experiment().stages)
    assert plain.treatment_id is None


def test_an_unknown_treatment_or_stage_is_not_found() -> None:
    with pytest.raises(NotFound):
        resolve(experiment(), "t")
    with pytest.raises(NotFound):
        resolve(experiment(), None).stage("z")


def test_treatments_replace_fields_and_merge_objects() -> None:
    stages = [info("a", progress={"min_participants": 2, "show_progress": False}, name="A")]
    change = {"a": {"lines": ["New"], "progress": {"min_participants": 3}}}

    stage = resolve(experiment(stages=stages, treatments=[{"id": "t", "stages": change}]), "t").stage("a")

    assert stage.model_dump()["lines"] == ("New",)
    assert (stage.progress.min_participants, stage.progress.show_progress, stage.name) == (3, False, "A")


def test_what_a_treatment_says_about_one_persona_wins_over_all_models() -> None:
    change = {"model": {"temperature": 1, "top_p": 0.5}, "personas": {"ana": {"text": "x", "model": {"top_p": 0.9}}}}

    personas = resolve(experiment(treatments=[{"id": "t", **change}]), "t").personas

    assert (personas["ana"].model.temperature, personas["ana"].model.top_p, personas["ana"].text) == (1, 0.9, "x")
    assert (personas["ben"].model.temperature, personas["ben"].model.top_p) == (1, 0.5)


def test_a_block_is_reordered_in_its_own_places_and_left_out_stages_are_gone() -> None:
    stages = [info("x"), info("a", block="k"), info("y"), info("b", block="k"), info("c", block="k")]
    arms = [{"id": "t", "order": {"k": ["c", "b", "a"]}, "leave_out": ["y"]}]

    assert ids(resolve(experiment(stages=stages, treatments=arms), "t")) == ["x", "c", "b", "a"]


def test_variables_of_the_treatment_win_and_fill_texts() -> None:
    built = experiment(
        variables={"town": "Altmere", "day": "Monday"},
        stages=[info("a", lines=["{{town}} on {{day}}"])],
        personas=[{"id": "ana", "text": "From {{town}}", "model": {"extra_body": {"x": "{{town}}"}}}],
        treatments=[{"id": "t", "variables": {"town": "Bergen"}}],
    )

    resolved = resolve(built, "t")

    assert resolved.stage("a").model_dump()["lines"] == ("Bergen on Monday",)
    assert resolved.personas["ana"].text == "From Bergen"
    assert resolved.personas["ana"].model.extra_body == {"x": "{{town}}"}
    assert resolved.variables == {"town": "Bergen", "day": "Monday"}


def test_a_resolved_experiment_survives_json() -> None:
    resolved = resolve(experiment(treatments=[{"id": "t"}]), "t")

    assert Resolved.model_validate(resolved.model_dump(mode="json")) == resolved
    assert Resolved.model_validate_json(resolved.model_dump_json()) == resolved


def test_seats_and_cohorts_are_written_out_with_their_paths() -> None:
    cohorts = [
        {"id": "pair", "count": 2, "seats": [{"persona": "ana"}, {"open": True, "count": 2}], "mediators": ["ben"]},
        {"seats": [{"persona": "ben"}]},
    ]

    first, second, third = allocate(experiment(cohorts=cohorts), 0)

    assert [(seat.path, seat.persona_id) for seat in second.seats] == [
        ("c2/m1", "ana"),
        ("c2/m2", None),
        ("c2/m3", None),
    ]
    assert [(one.path, one.persona_id) for one in first.mediators] == [("c1/med1", "ben")]
    assert [cohort.name for cohort in (first, second, third)] == ["pair-1", "pair-2", "c3"]
    assert first.treatment_id is None


@given(
    arms=st.integers(1, 6),
    free=st.integers(1, 40),
    fixed=st.integers(0, 5),
    seed=st.integers(0, 2**63 - 1),
)
def test_arms_are_as_equal_as_can_be_and_named_treatments_stay(arms: int, free: int, fixed: int, seed: int) -> None:
    seats = [{"open": True}]
    built = experiment(
        seed=seed,
        treatments=[{"id": f"t{number}"} for number in range(arms)],
        cohorts=[*({"seats": seats, "treatment": "t0"} for _ in range(fixed)), {"seats": seats, "count": free}],
    )

    drawn = [cohort.treatment_id for cohort in allocate(built, seed)]

    assert drawn == [cohort.treatment_id for cohort in allocate(built, seed)]
    assert drawn[:fixed] == ["t0"] * fixed
    counts = Counter({f"t{number}": 0 for number in range(arms)})
    counts.update(str(arm) for arm in drawn[fixed:])
    assert max(counts.values()) - min(counts.values()) <= 1


def test_seeds_draw_differently() -> None:
    def draw(seed: int) -> list[str | None]:
        cohorts = [{"seats": [{"open": True}], "count": 8}]
        built = experiment(seed=seed, treatments=[{"id": "t"}, {"id": "u"}], cohorts=cohorts)
        return [cohort.treatment_id for cohort in allocate(built, seed)]

    assert len({tuple(draw(seed)) for seed in range(20)}) > 5


def test_an_arm_needs_no_variable_of_a_stage_that_it_leaves_out() -> None:
    told = {"id": "told", "variables": {"story": "Once upon a time."}}
    story = [info("story", lines=["{{story}}"]), info("b")]

    found = experiment(stages=story, treatments=[told, {"id": "control", "leave_out": ["story"]}])
    with pytest.raises(InvalidInput, match=r"no variable called 'story'"):
        experiment(stages=story, treatments=[told, {"id": "control", "leave_out": ["b"]}])

    assert ids(resolve(found, "control")) == ["b"]
