"""An experiment as it is stored before it is started."""

from dataclasses import dataclass
from hashlib import sha256

import orjson

from shared import seeds
from shared.contracts.experiment import ModelMode, Pace
from shared.experiment.document import Experiment


@dataclass(frozen=True, slots=True)
class Draft:
    """What a row says of an experiment, and what the experiment comes to; nobody has to read the document for it.

    `document` is JSON, with a seed; `document_hash` is that of what the file says. `treatments` are ids.
    `most_calls` is the limit of paid calls, None where there is none.
    """

    name: str
    study: str
    seed: int
    pace: Pace
    model_mode: ModelMode
    document: str
    document_hash: str
    stages: tuple[str, ...]
    treatments: tuple[str, ...]
    most_calls: int | None
    cohorts: int
    members: int


def draft_of(experiment: Experiment) -> Draft:
    """The draft of an experiment; one without a seed gets one."""
    seed = seeds.fresh() if experiment.seed is None else experiment.seed
    return Draft(
        name=experiment.name,
        study=experiment.study or experiment.name,
        seed=seed,
        pace=experiment.pace,
        model_mode=experiment.model_mode,
        document=orjson.dumps(experiment.model_dump(mode="json") | {"seed": seed}).decode(),
        document_hash=document_hash(experiment),
        stages=tuple(stage.id for stage in experiment.stages),
        treatments=tuple(treatment.id for treatment in experiment.treatments),
        most_calls=experiment.limits.calls,
        cohorts=sum(plan.count for plan in experiment.cohorts),
        members=sum(plan.members for plan in experiment.cohorts),
    )


def document_hash(experiment: Experiment) -> str:
    """The same for two files that say the same, whatever their format and comments."""
    return sha256(orjson.dumps(experiment.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)).hexdigest()
