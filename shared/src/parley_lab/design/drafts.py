"""The form in which an experiment is stored before its start."""

from dataclasses import dataclass
from hashlib import sha256

import orjson

from parley_lab.base import seeds
from parley_lab.contracts.experiment import ModelMode, Pace
from parley_lab.design.document import Experiment
from parley_lab.design.media import stored_names


@dataclass(frozen=True, slots=True)
class Draft:
    """The columns of an experiment's row, and totals, so that readers need not parse the document.

    `document` is JSON, with a seed; `document_hash` is that of the file's content. `treatments` are ids. `most_calls`
    is the limit of paid calls, None without a limit.
    """

    name: str
    study: str
    seed: int
    pace: Pace
    model_mode: ModelMode
    language: str | None
    document: str
    document_hash: str
    stages: tuple[str, ...]
    treatments: tuple[str, ...]
    most_calls: int | None
    cohorts: int
    members: int
    files: tuple[tuple[str, str], ...] = ()
    """The files that its stages show: the place of each name, and the name."""
    warnings: tuple[str, ...] = ()
    """The warnings of its file, as `parley validate` prints them."""


def draft_of(experiment: Experiment) -> Draft:
    """The draft of an experiment; one without a seed gets one."""
    seed = seeds.fresh() if experiment.seed is None else experiment.seed
    return Draft(
        name=experiment.name,
        study=experiment.study or experiment.name,
        seed=seed,
        pace=experiment.pace,
        model_mode=experiment.model_mode,
        language=experiment.language,
        document=orjson.dumps(experiment.model_dump(mode="json") | {"seed": seed}).decode(),
        document_hash=document_hash(experiment),
        stages=tuple(stage.id for stage in experiment.stages),
        treatments=tuple(treatment.id for treatment in experiment.treatments),
        most_calls=experiment.limits.calls,
        cohorts=sum(plan.cohorts for plan in experiment.cohorts),
        members=sum(plan.members for plan in experiment.cohorts),
        files=tuple(stored_names(experiment.model_dump(mode="json"))),
    )


def document_hash(experiment: Experiment) -> str:
    """The same for two files with the same content, whatever their format and comments."""
    return sha256(orjson.dumps(experiment.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)).hexdigest()
