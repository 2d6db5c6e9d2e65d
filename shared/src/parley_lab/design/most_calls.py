"""The maximum number of model calls of an experiment, as far as its file determines it. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from parley_lab.contracts.experiment import CohortPlan, StageConfig
from parley_lab.design.document import Experiment
from parley_lab.design.treatments import Resolved, resolve
from parley_lab.kinds.stages import parts_of


@dataclass(frozen=True, slots=True)
class MostCalls:
    """At most `replies` of models, and `calls` when each takes all its attempts.

    `open_ended`: the stages without a fixed number of replies, which are not counted.
    """

    replies: int
    calls: int
    open_ended: tuple[str, ...] = ()


def most_calls(experiment: Experiment) -> MostCalls:
    """The maximum for this file. A cohort or a participant whose arm is drawn counts with the most expensive arm."""

    @cache
    def resolved(arm: str | None) -> Resolved:
        return resolve(experiment, arm)

    open_ended: dict[str, None] = {}
    replies = calls = 0
    for plan, possible in _with_arms(experiment):
        of_arms = [_of_cohort(plan, resolved(arm)) for arm in possible]
        replies += plan.count * max(one.replies for one in of_arms)
        calls += plan.count * max(one.calls for one in of_arms)
        open_ended |= dict.fromkeys(stage_id for one in of_arms for stage_id in one.open_ended)
    return MostCalls(replies, calls, tuple(open_ended))


def _with_arms(experiment: Experiment) -> Iterator[tuple[CohortPlan, Sequence[str | None]]]:
    """Cohorts with the arms that they may have; parts of cohorts, where participants have arms of their own."""
    arms: Sequence[str | None] = [one.id for one in experiment.treatments] or [None]
    for plan in experiment.cohorts:
        if experiment.allocation.by == "cohort":
            yield plan, arms if plan.treatment is None else [plan.treatment]
            continue
        yield plan.model_copy(update={"seats": ()}), [None]
        for seat in plan.seats:
            named = seat.treatment or plan.treatment
            yield plan.model_copy(update={"seats": (seat,), "mediators": ()}), arms if named is None else [named]


def _of_cohort(plan: CohortPlan, design: Resolved) -> MostCalls:
    replies = calls = 0
    open_ended: dict[str, None] = {}
    for persona_id, stages in _agents(plan, design):
        for stage in stages:
            most = _most_replies(stage)
            if most is None:
                open_ended[stage.id] = None
            else:
                replies += most
                calls += most * design.personas[persona_id].model.max_attempts
    return MostCalls(replies, calls, tuple(open_ended))


def _most_replies(stage: StageConfig) -> int | None:
    """The most replies of one member on the stage; None when their number is open."""
    parts = parts_of(stage)
    if parts.talk is not None:
        return None
    return 0 if parts.questions is None else parts.questions.most_replies()


def _agents(plan: CohortPlan, design: Resolved) -> Iterator[tuple[str, Sequence[StageConfig]]]:
    """Every agent with a model, with the stages on which it may be asked."""
    for seat in plan.seats:
        if seat.persona is not None and design.personas[seat.persona].player == "agent":
            for _ in range(seat.count):
                yield seat.persona, design.stages
    for mediator in plan.mediators:
        yield mediator, [stage for stage in design.stages if parts_of(stage).has_thread]
