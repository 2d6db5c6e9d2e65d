"""What a treatment makes of an experiment: its stages in their order, its personas, its variables. Pure."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

from shared import variables as texts
from shared.contracts.experiment import Persona, StageConfig, Treatment
from shared.errors import NotFound
from shared.experiment.complaints import one_of
from shared.experiment.document import Experiment
from shared.stages import AnyStage, read_stage

Json = Any


class Resolved(BaseModel):
    """An experiment as the participants of one arm meet it: nothing left to replace, reorder or fill in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    treatment_id: str | None
    stages: tuple[AnyStage, ...]
    personas: dict[str, Persona]
    variables: dict[str, JsonValue]
    levels: dict[str, str] = {}
    """The level of each factor that this arm has, by factor."""

    def stage(self, stage_id: str) -> StageConfig:
        """The stage with this id.

        Raises:
            NotFound: this arm has no such stage.
        """
        found = next((stage for stage in self.stages if stage.id == stage_id), None)
        if found is None:
            raise NotFound(
                f"There is no stage {stage_id!r} here; expected {one_of(stage_id, self.stage_ids, 'stage')}."
            )
        return found

    @property
    def stage_ids(self) -> tuple[str, ...]:
        return tuple(stage.id for stage in self.stages)


def resolve(experiment: Experiment, treatment_id: str | None, *, personas: Container[str] | None = None) -> Resolved:
    """The experiment under one of its treatments, or as it stands when `treatment_id` is None.

    personas: the ids of those who are there; None: all.

    Raises:
        NotFound: the experiment has no such treatment.
    """
    treatment = treatment_named(experiment, treatment_id) if treatment_id is not None else None
    values = variables_of(experiment, treatment)
    stages = [
        read_stage(texts.fill(stage_fields(stage, treatment), values))
        for stage in in_order(experiment.stages, treatment)
    ]
    present = [one for one in experiment.personas if personas is None or one.id in personas]
    filled = [Persona.model_validate(filled_persona(persona, treatment, values)) for persona in present]
    return Resolved(
        treatment_id=treatment_id,
        stages=tuple(stages),
        personas={persona.id: persona for persona in filled},
        variables=values,
        levels=dict(treatment.levels) if treatment else {},
    )


def treatment_named(experiment: Experiment, treatment_id: str) -> Treatment:
    found = experiment.treatments_by_id.get(treatment_id)
    if found is None:
        expected = one_of(treatment_id, experiment.treatments_by_id, "treatment")
        raise NotFound(f"There is no treatment {treatment_id!r} in this experiment; expected {expected}.")
    return found


def variables_of(experiment: Experiment, treatment: Treatment | None) -> dict[str, Json]:
    return texts.merged(experiment.variables, treatment.variables if treatment else {})


def in_order(stages: Sequence[StageConfig], treatment: Treatment | None) -> list[StageConfig]:
    """The stages that this arm sees, in its order: a block's stages swap places among themselves."""
    if treatment is None:
        return list(stages)
    by_id = {stage.id: stage for stage in stages}
    queues = {block: iter(order) for block, order in treatment.order.items()}
    placed = [by_id[next(queues[stage.block])] if stage.block in queues else stage for stage in stages]
    return [stage for stage in placed if stage.id not in treatment.leave_out]


def stage_fields(stage: StageConfig, treatment: Treatment | None) -> dict[str, Json]:
    """The stage's fields with the treatment's in their places, not yet validated."""
    replaced = treatment.stages.get(stage.id, {}) if treatment else {}
    return merged(stage.model_dump(mode="json"), replaced)


def persona_fields(persona: Persona, treatment: Treatment | None) -> dict[str, Json]:
    """The persona's fields; what a treatment says about one persona wins over what it says about all models."""
    fields = persona.model_dump(mode="json")
    if treatment is None:
        return fields
    return merged(merged(fields, {"model": treatment.model}), treatment.personas.get(persona.id, {}))


def filled_persona(persona: Persona, treatment: Treatment | None, values: Mapping[str, Json]) -> dict[str, Json]:
    """Texts are filled in everywhere but in model settings: those go to a provider as they are."""
    fields = persona_fields(persona, treatment)
    return {name: part if name == "model" else texts.fill(part, values) for name, part in fields.items()}


def merged(base: Mapping[str, Json], replaced: Mapping[str, Json]) -> dict[str, Json]:
    """`base` with the fields of `replaced`: objects are merged field by field, everything else is replaced whole.

    An object that says that it is of another `type` is another one, and replaced whole, too.
    """
    return {**base, **dict(_merged_fields(base, replaced))}


def _merged_fields(base: Mapping[str, Json], replaced: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, value in replaced.items():
        old = base.get(name)
        if (
            isinstance(old, Mapping)
            and isinstance(value, Mapping)
            and value.get("type", old.get("type")) == old.get("type")
        ):
            yield name, merged(old, value)
        else:
            yield name, value
