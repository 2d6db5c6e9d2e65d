"""How many calls of models an experiment can make at most, as far as its file says it. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from shared.contracts.experiment import CohortPlan, StageConfig
from shared.experiment.document import Experiment
from shared.experiment.treatments import Resolved, resolve
from shared.stages import kind_of


@dataclass(frozen=True, slots=True)
class MostCalls:
    """`replies` of models are wanted at most, and `calls` made for them when each is asked for as often as it may.

    `open_ended` are the stages of which nobody knows beforehand how many replies they take; they are not counted.
    """

    replies: int
    calls: int
    open_ended: tuple[str, ...] = ()


def most_calls(experiment: Experiment) -> MostCalls:
    """What the file can ask of models. A cohort whose arm is drawn counts with the arm that asks most."""

    @cache
    def resolved(arm: str | None) -> Resolved:
        return resolve(experiment, arm)

    arms: list[str | None] = [one.id for one in experiment.treatments] or [None]
    open_ended: dict[str, None] = {}
    replies = calls = 0
    for plan in experiment.cohorts:
        possible = [resolved(arm) for arm in (arms if plan.treatment is None else [plan.treatment])]
        of_arms = [_of_cohort(plan, design) for design in possible]
        replies += plan.count * max(one.replies for one in of_arms)
        calls += plan.count * max(one.calls for one in of_arms)
        open_ended |= dict.fromkeys(stage_id for one in of_arms for stage_id in one.open_ended)
    return MostCalls(replies, calls, tuple(open_ended))


def _of_cohort(plan: CohortPlan, design: Resolved) -> MostCalls:
    replies = calls = 0
    open_ended: dict[str, None] = {}
    for persona_id, stages in _agents(plan, design):
        for stage in stages:
            most = kind_of(stage).most_replies(stage)
            if most is None:
                open_ended[stage.id] = None
            else:
                replies += most
                calls += most * design.personas[persona_id].model.max_attempts
    return MostCalls(replies, calls, tuple(open_ended))


def _agents(plan: CohortPlan, design: Resolved) -> Iterator[tuple[str, Sequence[StageConfig]]]:
    """Everybody whom a model speaks for, with the stages on which it may be asked."""
    for seat in plan.seats:
        if seat.persona is not None and design.personas[seat.persona].player == "agent":
            for _ in range(seat.count):
                yield seat.persona, design.stages
    for mediator in plan.mediators:
        yield mediator, [stage for stage in design.stages if kind_of(stage).thread is not None]
