"""Finds conversations in which people cannot follow the agents: these answer at once, and answer each other. Pure."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from parley_lab.base.errors import IN_WORDS, Problem
from parley_lab.contracts.experiment import CohortPlan, Persona, StageConfig
from parley_lab.design.document import Experiment, usual_typing_speed
from parley_lab.design.treatments import Resolved, resolve
from parley_lab.kinds.stages import parts_of

_MOST_NAMED: Final = 3


def too_fast(experiment: Experiment, *, sketched: Collection[str] = ()) -> Iterator[Problem]:
    """A warning for each conversation with people in which at least two agents type at no speed.

    sketched: the ids of personas of which only the name is known; no cohort with one of them is warned of.
    """
    if experiment.pace != "live":
        return
    found: dict[str, Sequence[str]] = {}
    for plan in experiment.cohorts:
        seated = {*(seat.persona for seat in plan.seats if seat.persona is not None), *plan.mediators}
        if not plan.people or not seated or not seated.isdisjoint(sketched):
            continue
        for arm in _arms(experiment, plan):
            for stage_id, names in _too_fast_in(plan, resolve(experiment, arm, personas=seated)):
                found.setdefault(stage_id, names)
    for place, stage in enumerate(experiment.stages):
        if stage.id in found:
            yield _warning(f"stages[{place}]", found[stage.id])


def _arms(experiment: Experiment, plan: CohortPlan) -> Sequence[str | None]:
    if plan.treatment is not None:
        return [plan.treatment]
    return [one.id for one in experiment.treatments] or [None]


def _too_fast_in(plan: CohortPlan, design: Resolved) -> Iterator[tuple[str, Sequence[str]]]:
    """The conversations of an arm with the personas that are too fast there."""
    if usual_typing_speed(design.personas.values()) is not None:
        # Agents without a speed take the mean of the others.
        return
    for stage in design.stages:
        agents = [one for one in _agents(plan, design, stage) if not _speed(one, stage)]
        unset = dict.fromkeys(one.id for one in agents if _speed(one, stage) is None)
        if len(agents) > 1 and unset:
            yield stage.id, [*unset]


def _agents(plan: CohortPlan, design: Resolved, stage: StageConfig) -> Iterator[Persona]:
    """The agents who answer each other in one thread of the stage, without waiting for a person's turn."""
    talk = parts_of(stage).talk
    if talk is None or talk.rules.turn_taking == "round":
        return
    there = [] if talk.rules.is_private else [(seat.persona, seat.count) for seat in plan.seats if seat.persona]
    mediating = [design.personas[one] for one in plan.mediators]
    there += [(one.id, 1) for one in mediating if one.mediates_in is None or stage.id in one.mediates_in]
    for persona, count in ((design.personas[one], count) for one, count in there):
        # Two are as many as matter, of seats for thousands.
        yield from [persona] * min(count, 2) if persona.player == "agent" else []


def _speed(persona: Persona, stage: StageConfig) -> float | None:
    own = persona.by_stage.get(stage.id)
    usual = persona.chat.words_per_minute
    speed: float | None = usual if own is None else own.chat.get("words_per_minute", usual)
    return speed


def _warning(where: str, personas: Sequence[str]) -> Problem:
    more = f" and {len(personas) - _MOST_NAMED} more" if len(personas) > _MOST_NAMED else ""
    wrong = (
        "agents answer at once, and answer each other, faster than people can read "
        f"({', '.join(personas[:_MOST_NAMED])}{more})"
    )
    expected = "`chat: {words_per_minute: 60}` for each of them"
    return Problem(where, "agents without a speed", expected, wrong, f"Write {expected}.", code=IN_WORDS)
