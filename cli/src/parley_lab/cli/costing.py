"""The number of calls that the user is told before the first paid call, in all and for each message."""

from collections.abc import Iterator

from parley_lab.design import Experiment
from parley_lab.design.most_calls import most_calls
from parley_lab.kinds.stages import parts_of


def costs_line(experiment: Experiment, max_calls: int | None) -> str:
    """How many calls the file can make, and where it stops; `max_calls`: the limit on the command line."""
    most = most_calls(experiment)
    replies = f"{most.replies} {'reply' if most.replies == 1 else 'replies'}"
    if most.open_ended:
        stages = ", ".join(most.open_ended)
        known = f" On other stages it asks for at most {replies}." if most.replies else ""
        told = f"How many calls of models it makes is not known beforehand: {stages} may take any number.{known}"
    else:
        told = (
            f"It asks models for at most {replies}: {most.replies} calls, or up to {most.calls} where they have to be "
            "asked for again. Calls that a provider turns away come on top."
        )
    limit = max_calls or experiment.limits.calls
    if limit is not None:
        return f"{told} It is paused after {limit} calls."
    return f"{told} --max-calls N pauses it after N." if most.open_ended else told


def talk_costs(experiment: Experiment) -> Iterator[str]:
    """A line for each conversation with agents: `talk (race): up to 4 calls for each message, ...`."""
    people = {persona.id for persona in experiment.personas if persona.player != "agent"}
    groups = [
        (sum(seat.count for seat in cohort.seats if seat.persona and seat.persona not in people), len(cohort.mediators))
        for cohort in experiment.cohorts
    ]
    participants, mediators = max(groups, key=sum, default=(0, 0))
    for stage in experiment.stages:
        talk = parts_of(stage).talk if participants + mediators else None
        cost = None if talk is None else talk.message_cost(participants, mediators)
        if talk is not None and cost is not None:
            yield f"{stage.id} ({talk.rules.turn_taking}): {cost}."
