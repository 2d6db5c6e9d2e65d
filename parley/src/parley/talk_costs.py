"""What a message costs in the conversations of an experiment, told before anything is paid."""

from collections.abc import Iterator

from shared.experiment import Experiment
from shared.stages import kind_of


def talk_costs(experiment: Experiment) -> Iterator[str]:
    """A line for each conversation with agents: `talk (race): up to 4 calls for each message, ...`."""
    people = {persona.id for persona in experiment.personas if persona.player != "agent"}
    groups = [
        (sum(seat.count for seat in cohort.seats if seat.persona and seat.persona not in people), len(cohort.mediators))
        for cohort in experiment.cohorts
    ]
    participants, mediators = max(groups, key=sum, default=(0, 0))
    for stage in experiment.stages:
        cost = kind_of(stage).message_cost(stage, participants, mediators) if participants + mediators else None
        if cost is not None:
            yield f"{stage.id} ({kind_of(stage).turn_taking(stage)}): {cost}."
