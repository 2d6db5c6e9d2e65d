"""Pairings: who meets whom, written out as treatments and cohorts, with every problem at its place."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import NAMESPACE_OID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base import seeds
from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.design import Experiment, load, resolve
from parley_lab.design.allocation import allocate
from parley_lab.design.library import named_personas
from parley_lab.design.pairings import LONGEST_ID, with_pairings
from parley_lab.design.reading import read
from parley_lab.kinds import Json, Member
from parley_lab.kinds.stages import parts_of

POLICIES = ("allc", "alld", "tft", "grim", "gtft", "wsls", "random")


def document(pairings: str, cohorts: str = "", seed: int = 5) -> str:
    personas = "\n".join(
        f"  - {{id: {one}, player: script, script: {{matrix_game: {{policy: {one.upper()}}}}}}}" for one in POLICIES
    )
    return f"""
parley: 1
name: Pairs
seed: {seed}
personas:
{personas}
stages:
  - {{id: game, kind: matrix_game, horizon: {{type: geometric, stop_probability: 0.1}}}}
{cohorts}
pairings:
  stage: game
{pairings}
"""


def paired(*pairs: tuple[str, str], rest: str = "") -> Experiment:
    listed = "\n".join(f"    - {{seats: [{a}, {b}]}}" for a, b in pairs)
    return load(document(f"  replicates: 3\n  pairs:\n{listed}\n{rest}"))


def problems_of(pairings: str, cohorts: str = "") -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        load(document(pairings, cohorts))
    return [str(replace(problem, at="")) for problem in refused.value.problems]


def draws_of(experiment: Experiment) -> dict[str, dict[str, Json]]:
    """What is drawn when each game opens, by cohort."""
    assert experiment.seed is not None
    found = {}
    for cohort in allocate(experiment, experiment.seed):
        stage = resolve(experiment, cohort.treatment_id).stage("game")
        members = [
            Member(seeds.row_id(NAMESPACE_OID, seat.path), seat.path, "participant", "script", Profile())
            for seat in cohort.seats
        ]
        draws = parts_of(stage).draws
        assert draws is not None
        drawn = draws.draw(members, {}, seeds.rng(experiment.seed, f"{cohort.name}/game/draw"))
        found[cohort.name] = {name: value for name, value in drawn.items() if name not in ("a", "b")}
    return found


def test_a_pair_is_a_treatment_and_its_replicates_are_cohorts() -> None:
    experiment = paired(("tft", "alld"), ("tft", "tft"))
    assert [one.id for one in experiment.treatments] == ["tft-vs-alld", "tft-vs-tft"]
    assert [(plan.id, plan.treatment, plan.count) for plan in experiment.cohorts] == [
        ("tft-vs-alld", "tft-vs-alld", 3),
        ("tft-vs-tft", "tft-vs-tft", 3),
    ]
    assert [[seat.persona for seat in plan.seats] for plan in experiment.cohorts] == [["tft", "alld"], ["tft", "tft"]]


def test_an_arm_is_called_after_its_players() -> None:
    personas = "  - {id: coop, profile: {name: Cooperative}, role: r, goal: g, backstory: b}"
    text = document("  pairs: [{seats: [coop, alld]}]").replace("personas:", f"personas:\n{personas}")
    assert load(text).treatments[0].name == "Cooperative vs alld"


@pytest.mark.parametrize(("self_play", "pairs"), [(False, 21), (True, 28)])
def test_in_a_round_robin_everybody_meets_everybody_once(self_play: bool, pairs: int) -> None:
    players = ", ".join(POLICIES)
    experiment = load(document(f"  round_robin: [{players}]\n  self_play: {str(self_play).lower()}"))
    seats = [frozenset(seat.persona for seat in plan.seats) for plan in experiment.cohorts]
    assert len(seats) == len(set(seats)) == pairs


def test_every_pair_plays_in_every_cell_and_its_own_settings_stay() -> None:
    experiment = load(
        document(
            "  pairs: [{seats: [tft, alld], settings: {announce_horizon: true}}, {seats: [tft, {open: true}]}]\n"
            "  factors:\n"
            "    framing: [named, neutral]\n"
            "    horizon: {short: {type: fixed, rounds: 5}, long: {type: fixed, rounds: 50}}"
        )
    )
    assert len(experiment.treatments) == 8
    resolved = resolve(experiment, "tft-vs-alld-neutral-long").stage("game").model_dump()
    assert resolved["framing"] == "neutral"
    assert resolved["horizon"] == {"type": "fixed", "rounds": 50}
    assert resolved["announce_horizon"]
    other = resolve(experiment, "tft-vs-person-named-short").stage("game").model_dump()
    assert (other["framing"], other["horizon"]["rounds"], other["announce_horizon"]) == ("named", 5, False)


def test_pairings_are_beside_cohorts_that_name_their_treatment() -> None:
    cohorts = "treatments: [{id: own}]\ncohorts: [{seats: [{persona: tft}, {persona: wsls}], treatment: own}]"
    experiment = load(document("  pairs: [{seats: [tft, alld]}]", cohorts))
    assert [plan.treatment for plan in experiment.cohorts] == ["own", "tft-vs-alld"]


def test_players_of_the_library_may_be_paired() -> None:
    text = document("  round_robin: [tft, stranger]")
    assert named_personas(read(text, "x.yaml").value) == ["stranger"]


def test_all_problems_of_a_file_are_told_at_once_with_their_place() -> None:
    text = document("  round_robin: [tft, tft]\n  factors: {framing: []}").replace("seed: 5", "seed: -1")
    with pytest.raises(InvalidInput) as refused:
        load(text.replace("stage: game", "stage: gme"))
    places = [problem.where for problem in refused.value.problems]
    assert {"pairings.stage", "pairings.round_robin[1]", "pairings.factors.framing", "seed"} <= set(places)


@pytest.mark.parametrize(
    ("pairings", "where"),
    [
        ("  pairs: [{seats: [tft]}]", "pairings.pairs[0].seats"),
        ("  pairs: [{seats: [tft, alld, wsls]}]", "pairings.pairs[0].seats"),
        ("  pairs: []", "pairings"),
        ("  round_robin: [tft]", "pairings.round_robin"),
        ("  pairs: [{seats: [tft, alld]}, {seats: [tft, alld]}]", "pairings.pairs[1]"),
        ("  pairs: [{seats: [tft, nobody]}]", "pairings.pairs[0], tft-vs-nobody: seats[1]"),
        ("  pairs: [{seats: [tft, alld], settings: {rounds: 3}}]", "pairings.pairs[0], tft-vs-alld: stages"),
        ("  round_robin: [tft, alld]\n  factors: {framing: [loud]}", "pairings.round_robin, tft-vs-alld-loud: stages"),
        ("  round_robin: [tft, alld]\n  factors: {payoffs: [{CC: [3, 3]}]}", "pairings.factors.payoffs"),
    ],
)
def test_what_cannot_be_paired_is_refused_at_its_place(pairings: str, where: str) -> None:
    assert any(problem.startswith(where) for problem in problems_of(pairings)), problems_of(pairings)


def test_cohorts_without_a_treatment_are_not_mixed_with_pairs() -> None:
    found = problems_of("  pairs: [{seats: [tft, alld]}]", "cohorts: [{seats: [{persona: tft}, {persona: tft}]}]")
    assert found[0].startswith("cohorts[0].treatment")


def test_names_that_are_too_long_stay_different() -> None:
    names = [f"{'x' * 60}{index}" for index in range(3)]
    personas = "\n".join(f"  - {{id: {one}, role: r, goal: g, backstory: b}}" for one in names)
    text = document(f"  round_robin: [{', '.join(names)}]\n  self_play: true").replace(
        "personas:", f"personas:\n{personas}"
    )
    assert len({one.id for one in load(text).treatments}) == 6


PAIRS = st.lists(st.tuples(st.sampled_from(POLICIES), st.sampled_from(POLICIES)), unique=True, min_size=1, max_size=6)


@given(pairs=PAIRS, data=st.data())
def test_a_pair_draws_the_same_when_others_are_added_or_reordered(
    pairs: Sequence[tuple[str, str]], data: st.DataObject
) -> None:
    alone = draws_of(paired(*pairs[:1]))
    together = draws_of(paired(*data.draw(st.permutations(pairs))))
    assert {name: together[name] for name in alone} == alone
    lucks = [drawn[f"luck_{seat}"] for drawn in together.values() for seat in "ab"]
    assert len(set(lucks)) == 2 * 3 * len(pairs)


@given(replicates=st.integers(min_value=1, max_value=6))
def test_further_replicates_do_not_change_the_first_ones(replicates: int) -> None:
    def drawn(count: int) -> dict[str, dict[str, Json]]:
        return draws_of(load(document(f"  replicates: {count}\n  pairs: [{{seats: [random, gtft]}}]")))

    few = drawn(replicates)
    assert {name: drawn(replicates + 3)[name] for name in few} == few


def test_levels_stay_at_the_end_of_long_ids_so_that_matched_draws_find_the_pair() -> None:
    pairs = {"stage": "game", "pairs": [{"seats": ["a" * 40, "b" * 40]}]}
    fields = {"chat": {"with": True, "without": False}}

    arms = with_pairings({"pairings": {**pairs, "factors": fields}, "stages": [{"id": "game"}]})["treatments"]

    found = {arm["id"].removesuffix(f"-{arm['levels']['chat']}") for arm in arms}
    assert len(found) == 1
    assert all(len(arm["id"]) <= LONGEST_ID for arm in arms)


def test_levels_that_leave_no_room_for_a_pair_are_refused() -> None:
    levels = {"x" * 50: True, "y": False}
    file = {
        "pairings": {"stage": "game", "pairs": [{"seats": ["a", "b"]}], "factors": {"chat": levels}},
        "stages": [{"id": "game"}],
    }

    with pytest.raises(InvalidInput, match="ids of levels with 51 characters together"):
        with_pairings(file)
