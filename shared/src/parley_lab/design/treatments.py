"""Applies a treatment to an experiment: its stages in order, its personas, its variables. Pure."""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from parley_lab.base import variables as texts
from parley_lab.base.errors import NotFound
from parley_lab.base.meant_names import what_is_known
from parley_lab.base.rules import Comparison, applies, is_empty
from parley_lab.contracts.assigned import Permutation
from parley_lab.contracts.experiment import Persona, StageConfig, Treatment
from parley_lab.contracts.texts import has_blocks
from parley_lab.design import conditions
from parley_lab.design.document import Experiment
from parley_lab.kinds.questions.rows import fill_stage
from parley_lab.kinds.stages import AnyStage, parts_of, read_of_everybody, read_stage

Json = Any


class Resolved(BaseModel):
    """The experiment of one arm, with all replacements and orders applied.

    What differs from reader to reader is filled in by `for_reader`; everything else is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    treatment_id: str | None
    stages: tuple[AnyStage, ...]
    personas: dict[str, Persona]
    variables: dict[str, JsonValue]
    levels: dict[str, str] = {}
    """The level of each factor that this arm has, by factor."""
    orders: dict[str, list[str]] = Field(default={}, exclude_if=is_empty)
    """The variables that say in which order a participant has the stages of a block, by block."""
    unfilled: dict[str, dict[str, JsonValue]] = {}
    """The fields of stages with texts that differ from reader to reader, before anything is filled in, by stage.

    A text is filled once, from these fields: a second filling would take a participant's braces for the file's.
    """
    unfilled_personas: dict[str, dict[str, JsonValue]] = {}
    """The same of personas. `stages` and `personas` keep such placeholders unchanged."""

    def stage(self, stage_id: str) -> StageConfig:
        """The stage with this id.

        Raises:
            NotFound: this arm has no such stage.
        """
        found = self.by_id.get(stage_id)
        if found is None:
            raise NotFound(f"There is no stage {stage_id!r} here. {what_is_known(stage_id, self.stage_ids, 'stage')}")
        return found

    @cached_property
    def by_id(self) -> dict[str, StageConfig]:
        return {stage.id: stage for stage in self.stages}

    @cached_property
    def read_of_everybody(self) -> frozenset[str]:
        """The stages whose pages, of all members, one of the stages reads."""
        return frozenset(read_of_everybody(self.stages))

    @property
    def stage_ids(self) -> tuple[str, ...]:
        return tuple(stage.id for stage in self.stages)

    def seats_of_mediator(self, persona: Persona | None) -> list[str]:
        """The stages in which a mediator of this persona sits."""
        chosen = None if persona is None else persona.mediates_in
        return [one.id for one in self.stages if parts_of(one).has_thread and (chosen is None or one.id in chosen)]

    @cached_property
    def names_of_readers(self) -> tuple[str, ...]:
        """What readers have answered, or what came of a stage, as far as texts name it."""
        named = texts.places([*self.unfilled.values(), *self.unfilled_personas.values()])
        return tuple(dict.fromkeys(name for _, name in named if texts.is_of_reader(name)))

    @cached_property
    def compared(self) -> tuple[Comparison, ...]:
        """What rules compare that a reader has of earlier stages: answers, scores."""
        found = (one for _, one in conditions.compared([*self.unfilled.values()]))
        return tuple({conditions.key_of(one): one for one in found if one.subject in ("question", "score")}.values())

    def own_way(self, stage_ids: Sequence[str], position: int, values: Mapping[str, Json]) -> list[str]:
        """The stages as they are for one reader, whose values are filled in: without those right ahead that rules leave
        out, and with the block that is right ahead then in the reader's own order.

        position: the place of the reader.
        """
        way = [*stage_ids]
        while True:
            way = self.in_own_order(way, position, values)
            following = way[position + 1 : position + 2]
            if not following or applies(self.stage(following[0]).show_if):
                return way
            way.remove(following[0])

    def way_at(
        self, stage_id: str, values: Mapping[str, Json], *, left_out: Collection[str] = (), until: str | None = None
    ) -> list[str]:
        """The stages for a reader who begins at one of them: each block in the reader's own order, and without those
        before it that rules have `left_out`. `until`: the stage before which the reader's part ends.

        `own_way` decides about the stages from there on.
        """
        way = [*self.stage_ids]
        for block in self.orders:
            first = next((place for place, one in enumerate(way) if self.stage(one).block == block), None)
            if first is not None:
                way = self.in_own_order(way, first - 1, values)
        place = way.index(stage_id)
        way = [one for at, one in enumerate(way) if at >= place or one not in left_out]
        return way if until is None else way[: way.index(until)]

    def in_own_order(self, stage_ids: Sequence[str], position: int, values: Mapping[str, Json]) -> list[str]:
        """The stages, of which this member has those of the block right ahead in an order of their own.

        position: the place of the member; before a block of which they have been on no stage yet.
        """
        block = self.stage(stage_ids[position + 1]).block if position + 1 < len(stage_ids) else None
        mine = [place for place, one in enumerate(stage_ids) if block is not None and self.stage(one).block == block]
        if block is None or block not in self.orders or mine[0] <= position:
            return [*stage_ids]
        wanted = [one for name in self.orders[block] if (one := str(values.get(name))) in stage_ids]
        found = [*stage_ids]
        if len(wanted) == len(mine):
            for place, one in zip(mine, wanted, strict=True):
                found[place] = one
        return found

    def for_reader(self, values: Mapping[str, Json], roles: Mapping[str, Collection[str]]) -> "Resolved":
        """The same with the values of one reader in the texts of stages, and with the parts for the reader's roles.

        `roles`: those that the reader has on each stage, by its id.
        """
        if not self.unfilled:
            return self
        stages = tuple(
            self._filled(stage, values, roles.get(stage.id, ())).of_reader() if stage.id in self.unfilled else stage
            for stage in self.stages
        )
        return Resolved.model_construct(**{**dict(self), "stages": stages})

    def for_cohort(self, values: Mapping[str, Json]) -> "Resolved":
        """The same with the values that are one for all members of a cohort, for what the lab says to all of them.

        What differs between readers stays as it is written.
        """
        if not self.unfilled or not values:
            return self
        stages = tuple(self._filled(stage, values, None) for stage in self.stages)
        return Resolved.model_construct(**{**dict(self), "stages": stages})

    def _filled(self, stage: AnyStage, values: Mapping[str, Json], roles: Collection[str] | None) -> AnyStage:
        """roles: None leaves what is for single roles as it is written."""
        fields = self.unfilled.get(stage.id)
        if fields is None:
            return stage
        known = {**self.variables, **values}
        fields = conditions.filled(fields, _known_of_reader(known, roles))
        try:
            return read_stage(fill_stage(fields, known), roles=roles)
        except ValidationError:
            # A reader's value does not fit into the text; the file was checked without it.
            return read_stage(fill_stage(fields, {**self.variables, **dict.fromkeys(values, "")}), roles=roles)

    def persona_for(self, persona_id: str, values: Mapping[str, Json]) -> Persona:
        """A persona with the values of the reader in its texts; names without a value stay as they are."""
        fields = self.unfilled_personas.get(persona_id)
        if fields is None:
            return self.personas[persona_id]
        return Persona.model_validate(fill_persona(fields, {**self.variables, **values}))


def resolve(experiment: Experiment, treatment_id: str | None, *, personas: Container[str] | None = None) -> Resolved:
    """The experiment under one of its treatments, or unchanged when `treatment_id` is None.

    personas: the ids of the personas that take part; None: all.

    Raises:
        NotFound: the experiment has no such treatment.
    """
    treatment = treatment_named(experiment, treatment_id) if treatment_id is not None else None
    values = variables_of(experiment, treatment)
    assigned = {name for one in experiment.assigned for name in one.names}
    known = {name: value for name, value in values.items() if name not in assigned}
    usual = {"look_back": experiment.look_back, "record": experiment.record, "paste": experiment.paste}
    decides = known_of(experiment, treatment)
    written = {one.id: _with(usual, stage_fields(one, treatment)) for one in in_order(experiment.stages, treatment)}
    there = {name: conditions.is_there(one, decides) for name, one in written.items()}
    stages = {
        name: conditions.filled(conditions.without_rule(one) if there[name] else one, decides)
        for name, one in written.items()
        if there[name] is not False
    }
    played = [one for one in experiment.personas if personas is None or one.id in personas]
    fields = {one.id: persona_fields(one, treatment) for one in played}
    return Resolved(
        treatment_id=treatment_id,
        stages=tuple(read_stage(fill_stage(one, known)) for one in stages.values()),
        personas={name: Persona.model_validate(fill_persona(one, known)) for name, one in fields.items()},
        variables=values,
        levels=dict(treatment.levels) if treatment else {},
        orders={one.block: [*one.names] for one in experiment.assigned if isinstance(one, Permutation) and one.block},
        unfilled={name: one for name, one in stages.items() if _differs(one, assigned)},
        unfilled_personas={name: one for name, one in fields.items() if _differs(one, assigned)},
    )


def known_of(experiment: Experiment, treatment: Treatment | None) -> conditions.Known:
    """What the arm knows of all its readers, for rules."""
    assigned = {name for one in experiment.assigned for name in one.names}
    values = {name: one for name, one in variables_of(experiment, treatment).items() if name not in assigned}
    if treatment is not None:
        return conditions.known_of_arm(treatment.id, treatment.levels, values, has_others=False)
    varied = {name for one in experiment.treatments for name in one.variables}
    values = {name: one for name, one in values.items() if name not in varied}
    return conditions.known_of_arm(None, {}, values, has_others=bool(experiment.treatments))


def _known_of_reader(values: Mapping[str, Json], roles: Collection[str] | None) -> conditions.Known:
    """roles: None for what is the same for all of a cohort."""

    def known(comparison: Comparison) -> Json:
        if comparison.given is not None:
            return comparison.given
        match comparison.subject:
            case "variable":
                return texts.value_of(comparison.name, values)
            case "role":
                return None if roles is None else comparison.name if comparison.name in roles else ""
            case _:
                return values.get(conditions.key_of(comparison))

    return known


def _with(usual: Mapping[str, Json], fields: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a stage, with what the experiment says of all stages where this one says nothing."""
    return {**fields, **{name: value for name, value in usual.items() if fields.get(name) is None}}


def _differs(fields: Json, assigned: Container[str]) -> bool:
    """Whether a text has something else for every reader, or a rule depends on more than the arm."""
    if any(one.given is None for _, one in conditions.compared(fields)):
        return True
    named = (name for _, name in texts.places(fields))
    return has_blocks(fields) or any(texts.is_of_reader(name) or name.partition(".")[0] in assigned for name in named)


def treatment_named(experiment: Experiment, treatment_id: str) -> Treatment:
    found = experiment.treatments_by_id.get(treatment_id)
    if found is None:
        known = what_is_known(treatment_id, experiment.treatments_by_id, "treatment")
        raise NotFound(f"There is no treatment {treatment_id!r} in this experiment. {known}")
    return found


def variables_of(experiment: Experiment, treatment: Treatment | None) -> dict[str, Json]:
    return texts.merged(experiment.variables, treatment.variables if treatment else {})


def in_order(stages: Sequence[StageConfig], treatment: Treatment | None) -> list[StageConfig]:
    """The stages of this arm, in order: the stages of a block swap places among themselves."""
    if treatment is None:
        return list(stages)
    by_id = {stage.id: stage for stage in stages}
    queues = {block: iter(order) for block, order in treatment.order.items()}
    placed = [by_id[next(queues[stage.block])] if stage.block in queues else stage for stage in stages]
    return [stage for stage in placed if stage.id not in treatment.leave_out]


def stage_fields(stage: StageConfig, treatment: Treatment | None) -> dict[str, Json]:
    """The stage's fields with the treatment's replacements, not yet validated."""
    replaced = treatment.stages.get(stage.id, {}) if treatment else {}
    return merged(stage.model_dump(mode="json"), replaced)


def persona_fields(persona: Persona, treatment: Treatment | None) -> dict[str, Json]:
    """The persona's fields; the treatment's fields of one persona override its fields of all models."""
    fields = persona.model_dump(mode="json")
    if treatment is None:
        return fields
    return merged(merged(fields, {"model": treatment.model}), treatment.personas.get(persona.id, {}))


def filled_persona(persona: Persona, treatment: Treatment | None, values: Mapping[str, Json]) -> dict[str, Json]:
    """The persona with variables filled into all texts but model settings, which providers get unchanged."""
    return fill_persona(persona_fields(persona, treatment), values)


def fill_persona(fields: Mapping[str, Json], values: Mapping[str, Json]) -> dict[str, Json]:
    return {name: part if name == "model" else texts.fill(part, values) for name, part in fields.items()}


def merged(base: Mapping[str, Json], replaced: Mapping[str, Json]) -> dict[str, Json]:
    """`base` with the fields of `replaced`: objects are merged field by field, everything else is replaced whole.

    An object with another `type` is replaced whole, too.
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
