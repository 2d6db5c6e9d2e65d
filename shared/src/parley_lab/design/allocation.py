"""Assigns treatments to cohorts or to their agents, and members to seats: seeded draws, known before anyone joins."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from parley_lab.base import seeds
from parley_lab.base.errors import Problem
from parley_lab.contracts.allocation import Allocation
from parley_lab.contracts.experiment import CohortPlan
from parley_lab.design.document import Experiment

LONGEST_PIECE: Final = 20
"""Within so many, arms with weights come close to them, however long a cycle of the weights is."""
OF_PARTICIPANTS: Final = ""
"""The arm of a cohort whose participants have arms of their own: the file without the changes of any treatment."""


@dataclass(frozen=True, slots=True)
class SeatAssignment:
    """The seat of one participant; `persona_id` is None for a person who joins."""

    path: str
    persona_id: str | None
    treatment_id: str | None = None
    """Its own arm, where treatments are allocated by participant; None: the cohort's, or not drawn before a person
    comes."""
    allocated: Mapping[str, Any] = field(default_factory=dict)
    """How it came by its own arm."""


@dataclass(frozen=True, slots=True)
class MediatorAssignment:
    path: str
    persona_id: str


@dataclass(frozen=True, slots=True)
class Allocated:
    """The arm of a cohort or an agent, and how it came by it: the rule and, of a draw, its number and the arm's
    probability."""

    treatment_id: str | None
    how: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CohortAssignment:
    """One cohort with its members. `name` is the id in the file, or the path."""

    path: str
    name: str
    treatment_id: str | None
    seats: tuple[SeatAssignment, ...]
    mediators: tuple[MediatorAssignment, ...]
    draws: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Values that the file sets and that are not drawn, by stage."""
    allocated: Mapping[str, Any] = field(default_factory=dict)
    """How it came by its arm."""
    on_arrival: bool = False
    """Whether it is made when a person comes and no other has a place."""
    together: bool = False
    """Whether it is made of people who are there at a stage; then its arm is only one that it may get."""
    plan_id: str | None = None
    """The id of its plan in the file, which several cohorts may share; None: it has none."""

    @property
    def persona_ids(self) -> set[str]:
        """The personas of the cohort."""
        seated = {seat.persona_id for seat in self.seats if seat.persona_id is not None}
        return seated | {mediator.persona_id for mediator in self.mediators}

    @property
    def own_arms(self) -> set[str]:
        """The arms of seats that have one of their own."""
        return {seat.treatment_id for seat in self.seats if seat.treatment_id is not None}


def allocate(experiment: Experiment, seed: int) -> list[CohortAssignment]:
    """Every cohort of the experiment, in the order of the file; the same file and seed give the same draw.

    Groups that are made of people who are there come last, because it is not known how many it takes.

    A cohort that names a treatment has it. The arms of the other cohorts are drawn by the method of the file; by the
    method `complete`, arms of the same weight differ by at most one cohort. Allocated by participant, the same holds of
    the seats of agents, and people get their arms when they join.
    """
    plans = list(_repeated(experiment.cohorts, seed))
    arms = [one.id for one in experiment.treatments]
    rng = seeds.rng(seed, "allocation")
    if experiment.allocation.by == "participant":
        return _with_own_arms(plans, arms, experiment.allocation, rng)
    undecided = sum(plan.treatment is None for plan, _ in plans)
    drawn = iter(_draw(arms, experiment.allocation, undecided, rng))
    return [
        cohort_of(f"c{number}", name, plan, _named(plan.treatment) if plan.treatment else next(drawn))
        for number, (plan, name) in enumerate(plans, start=1)
    ]


def _with_own_arms(
    plans: Sequence[tuple[CohortPlan, str | None]], arms: Sequence[str], how: Allocation, rng: Random
) -> list[CohortAssignment]:
    """Cohorts whose seats have arms of their own, if they are named or those of agents."""
    cohorts = [
        cohort_of(f"c{number}", name, plan, Allocated(OF_PARTICIPANTS, {}))
        for number, (plan, name) in enumerate(plans, start=1)
    ]
    named = [[seat.treatment or plan.treatment for seat in plan.seats for _ in range(seat.count)] for plan, _ in plans]
    undecided = sum(
        arm is None and seat.persona_id is not None
        for cohort, given in zip(cohorts, named, strict=True)
        for seat, arm in zip(cohort.seats, given, strict=True)
    )
    drawn = iter(_draw(arms, how, undecided, rng))
    return [
        replace(cohort, seats=tuple(_armed(seat, arm, drawn) for seat, arm in zip(cohort.seats, given, strict=True)))
        for cohort, given in zip(cohorts, named, strict=True)
    ]


def _armed(seat: SeatAssignment, arm: str | None, drawn: Iterator[Allocated]) -> SeatAssignment:
    if arm is None and seat.persona_id is None:
        return seat
    own = next(drawn) if arm is None else _named(arm)
    return replace(seat, treatment_id=own.treatment_id, allocated=own.how)


def _named(arm: str) -> Allocated:
    return Allocated(arm, {"rule": "named"})


def _draw(arms: Sequence[str], how: Allocation, number_of: int, rng: Random) -> Iterator[Allocated]:
    """The arms of so many. Before anything is drawn, each has an arm with the probability of its weight."""
    cycle = how.cycle(arms)
    if not cycle:
        yield from [Allocated(None, {})] * number_of
        return
    size = len(cycle) * how.block_cycles
    for number, arm in enumerate(_order(cycle, how, number_of, rng), 1):
        block = {"block": (number - 1) // size + 1} if how.method == "blocked" else {}
        probability = cycle.count(arm) / len(cycle)
        yield Allocated(arm, {"rule": how.method, "draw": number, **block, "probability": probability})


def _order(cycle: Sequence[str], how: Allocation, number_of: int, rng: Random) -> list[str]:
    if how.method == "simple":
        return rng.choices(cycle, k=number_of)
    if how.method == "complete":
        rounds, rest = divmod(number_of, len(cycle))
        drawn = [*cycle] * rounds + rng.sample(cycle, rest)
        rng.shuffle(drawn)
        return drawn
    drawn = []
    while len(drawn) < number_of:
        drawn += [arm for piece in pieces_of(how, cycle, rng) for arm in piece]
    return drawn[:number_of]


def pieces_of(how: Allocation, cycle: Sequence[str], rng: Random) -> list[list[str]]:
    """A block in a drawn order, in one piece; of weights whose cycle is longer than 20, in pieces of 20.

    Each piece comes as close to the weights as whole numbers can, counted from the beginning of the block.
    """
    block = [*cycle] * how.block_cycles
    if not how.weights or len(cycle) <= LONGEST_PIECE:
        rng.shuffle(block)
        return [block]
    ties = rng.sample(list(dict.fromkeys(cycle)), len(set(cycle)))
    given = dict.fromkeys(ties, 0)
    pieces: list[list[str]] = []
    for begin in range(0, len(block), LONGEST_PIECE):
        end = min(begin + LONGEST_PIECE, len(block))
        piece: list[str] = []
        while len(piece) < end - begin:
            # In whole numbers: the arm that lacks most of its share of the block so far.
            arm = max(ties, key=lambda one: block.count(one) * end - given[one] * len(block))
            given[arm] += 1
            piece.append(arm)
        rng.shuffle(piece)
        pieces.append(piece)
    return pieces


def _repeated(plans: Sequence[CohortPlan], seed: int) -> Iterator[tuple[CohortPlan, str | None]]:
    for position, plan in sorted(enumerate(plans), key=lambda one: one[1].made == "when_together"):
        dealt = [*_dealt(plan, seeds.rng(seed, f"deal/{plan.id or position}"))]
        for number, one in enumerate(dealt, 1):
            yield one, plan.id if plan.id is None or len(dealt) == 1 else f"{plan.id}-{number}"


_NUMBERED: Final = re.compile(r"(?:(?P<base>.+)-|c)(?P<number>[1-9][0-9]*)")


def repeated_names(plans: Mapping[int, CohortPlan]) -> Iterator[Problem]:
    """Ids that another cohort of the file has as its name, such as `pilot-2` beside `pilot` with a count of 3.

    Data and draws go by the name: two cohorts of one name would draw the same.
    """
    several = {name: index for index, plan in plans.items() if plan.cohorts > 1 for _, name in _ids_of(plan)}
    unnamed = _number_unnamed(plans)
    for index, plan in plans.items():
        for where, name in _ids_of(plan) if plan.cohorts == 1 else ():
            found = _NUMBERED.fullmatch(name)
            if found is None:
                continue
            base, number = found["base"], int(found["number"])
            if base is None:
                other = next((at for at, numbers in unnamed.items() if number in numbers), None)
            else:
                other = several.get(base)
            if other is not None and (base is None or number <= plans[other].cohorts):
                what = f"{name!r}, as a cohort of cohorts[{other}] is called"
                yield Problem(f"cohorts[{index}].{where}", what, "an id that no other cohort has as its name")


def _number_unnamed(plans: Mapping[int, CohortPlan]) -> dict[int, range]:
    """The numbers of the cohorts of each plan without an id."""
    found: dict[int, range] = {}
    next_number = 1
    for index, plan in sorted(plans.items(), key=lambda one: one[1].made == "when_together"):
        if plan.id is None:
            found[index] = range(next_number, next_number + plan.cohorts)
        next_number += plan.cohorts
    return found


def _ids_of(plan: CohortPlan) -> list[tuple[str, str]]:
    """The ids that name the cohorts of a plan, each with its place."""
    kinds = () if plan.match is None else plan.match.kinds
    of_kinds = [(f"match.kinds[{place}].id", kind.id) for place, kind in enumerate(kinds)]
    return of_kinds or ([] if plan.id is None else [("id", plan.id)])


def _dealt(plan: CohortPlan, rng: Random) -> Iterator[CohortPlan]:
    """The cohorts of a plan: as many like it as it says, or its seats in groups, in a drawn order."""
    for _ in range(plan.count):
        if plan.groups_of is None:
            yield plan
            continue
        seats = [seat.model_copy(update={"count": 1}) for seat in plan.seats for _ in range(seat.count)]
        rng.shuffle(seats)
        for begin in range(0, len(seats), plan.groups_of):
            yield plan.model_copy(update={"seats": tuple(seats[begin : begin + plan.groups_of])})


def cohort_of(path: str, name: str | None, plan: CohortPlan, arm: Allocated) -> CohortAssignment:
    """The cohort of this plan at this path, with a seat for each participant."""
    players = [seat.persona for seat in plan.seats for _ in range(seat.count)]
    return CohortAssignment(
        path=path,
        name=name or path,
        treatment_id=arm.treatment_id,
        allocated=arm.how,
        seats=tuple(SeatAssignment(f"{path}/m{number}", player) for number, player in enumerate(players, start=1)),
        mediators=tuple(
            MediatorAssignment(f"{path}/med{number}", persona_id)
            for number, persona_id in enumerate(plan.mediators, start=1)
        ),
        draws=plan.draws,
        on_arrival=plan.made == "on_arrival",
        together=plan.made == "when_together",
        plan_id=plan.id,
    )
