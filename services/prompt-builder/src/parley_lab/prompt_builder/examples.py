"""What an agent would know in an experiment before its start: all members are there, nothing was said. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Literal
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.base.errors import NotFound
from parley_lab.base.meant_names import what_is_known
from parley_lab.contracts.experiment import Persona, Profile, StageConfig
from parley_lab.design import (
    OF_PARTICIPANTS,
    CohortAssignment,
    Experiment,
    MediatorAssignment,
    Resolved,
    SeatAssignment,
    allocate,
    resolve,
    snapshot,
)
from parley_lab.design.assigning import of_cohort, of_seat, values_of
from parley_lab.design.seat_names import seat_name
from parley_lab.design.treatments import treatment_named
from parley_lab.drafts.context import PromptContext, as_seen, first_partner
from parley_lab.kinds import PAGE, Ask, Done, Json
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.kinds.view import TALK
from parley_lab.members.reader_texts import reader_roles
from parley_lab.views.builder import Facts, People, by_tag, lab_view, member_of, own_view, stated
from parley_lab.views.playing import alone, drawn

Seat = SeatAssignment | MediatorAssignment
Before = Callable[[Facts, StageConfig, UUID], Facts]
"""The facts once a stage is over, for this reader."""


ACTS_BY_SCRIPT: Final = "{persona!r} acts by its script: no model is shown anything."


def example_context(
    experiment: Experiment,
    experiment_id: UUID,
    *,
    seed: int,
    persona_id: str,
    stage_id: str,
    treatment_id: str | None = None,
    is_guest: bool = False,
) -> PromptContext:
    """The context of a persona on a stage that has just opened, in the first cohort in which it sits.

    Ids, paths and draws are those of the started experiment. People have the names of their seats. There are no answers
    and no messages. A guest that sits nowhere takes the first seat of an agent, without agents the first open one.

    Raises:
        NotFound: the persona sits in no such cohort, or that cohort does not come to this stage.
    """
    cohort = _cohort(experiment, seed, persona_id, treatment_id, is_guest=is_guest)
    seat = _seat_of(cohort, persona_id, treatment_id)
    resolved = resolve(experiment, _arm_of(cohort, seat, treatment_id))
    if resolved.personas[persona_id].player == "script":
        raise NotFound(ACTS_BY_SCRIPT.format(persona=persona_id))
    return _context(experiment, experiment_id, cohort, seat, resolved, seed=seed, stage_id=stage_id)


def seat_context(
    experiment: Experiment,
    experiment_id: UUID,
    cohort: CohortAssignment,
    seat: Seat,
    *,
    seed: int,
    stage_id: str,
    treatment_id: str | None = None,
    before: Before | None = None,
) -> PromptContext:
    """The context of this seat on a stage that has just opened; an agent on an open seat has an empty persona.

    `before` makes what each earlier stage comes to; None: nothing was said or answered there.

    Raises:
        NotFound: the seat does not come to this stage.
    """
    resolved = resolve(experiment, _arm_of(cohort, seat, treatment_id))
    return _context(experiment, experiment_id, cohort, seat, resolved, seed=seed, stage_id=stage_id, before=before)


def _context(
    experiment: Experiment,
    experiment_id: UUID,
    cohort: CohortAssignment,
    seat: Seat,
    resolved: Resolved,
    *,
    seed: int,
    stage_id: str,
    before: Before | None = None,
) -> PromptContext:
    values = _values(experiment, resolved, seed, cohort, seat.path)
    persona = Persona(id="agent") if seat.persona_id is None else resolved.persona_for(seat.persona_id, values)
    resolved = resolved.for_cohort(values_of(of_cohort(experiment.assigned, seed, cohort.path, cohort.plan_id)))
    stages = _until(resolved, stage_id)
    if isinstance(seat, MediatorAssignment) and stage_id not in resolved.seats_of_mediator(persona):
        raise NotFound(f"{seat.persona_id!r} does not sit in the stage {stage_id!r}.")
    people = _people(experiment_id, cohort, resolved, experiment.language)
    author = next(one for one in people.rows if one.path == seat.path)
    facts = Facts(
        people=_all_on(people, stages[-1]),
        draws={stage.id: _drawn(experiment, seed, cohort, stage, people, resolved) for stage in stages},
        variables=resolved.variables,
        stages=resolved.by_id,
        whole=resolved.stage_ids,
        at=stage_id,
        partner=first_partner(stages[-1], people.rows),
    )
    for stage in stages:
        facts = replace(facts, people=_all_on(facts.people, stage))
        facts = facts.with_state(stage.id, stated(stage, lab_view(facts, stage)).state)
        if before is not None and stage is not stages[-1]:
            facts = before(facts, stage, author.id)
    facts = replace(facts, people=by_tag(seed, facts.people.rows))
    resolved = resolved.for_reader(values, reader_roles(resolved, _with_roles(facts, stages, author.id), author.id))
    stages, facts = _until(resolved, stage_id), replace(facts, stages=resolved.by_id)
    return PromptContext(
        draft_id=author.id,
        seed=seed,
        cohort_path=cohort.path,
        ask=Ask(author.id, "", TALK),
        author=member_of(facts.people.row(author.id), stage_id),
        agent=snapshot(persona),
        stages=stages,
        facts=_when_asked(facts, stages[-1], author.id),
    )


def _with_roles(facts: Facts, stages: Sequence[StageConfig], author: UUID) -> Facts:
    """The facts with the pages of stages that give roles: the draws say which."""
    for stage in stages:
        if parts_of(stage).data.roles():
            done = kind_of(stage).completion(stage, own_view(facts, stage, author))
            page = done.page if isinstance(done, Done) else None
            facts = facts.with_answers(stage.id, {author: {PAGE: page}})
    return facts


def _values(
    experiment: Experiment, resolved: Resolved, seed: int, cohort: CohortAssignment, path: str
) -> dict[str, Json]:
    """The values of the texts for the member on this seat: no answers, and no earlier arrivals."""
    seats = [seat.path for seat in cohort.seats]
    if path in seats:
        assigned = of_seat(experiment.assigned, seed, cohort, seats.index(path))
    else:
        assigned = values_of(of_cohort(experiment.assigned, seed, cohort.path, cohort.plan_id))
    return {**assigned, **dict.fromkeys(resolved.names_of_readers)}


def _drawn(
    experiment: Experiment,
    seed: int,
    cohort: CohortAssignment,
    stage: StageConfig,
    people: People,
    resolved: Resolved,
) -> dict[str, Json]:
    """What is drawn when everybody has come to the stage."""
    arrived = [member for member in people.on(stage.id) if member.kind == "participant"]
    return drawn(
        stage,
        seed=seed,
        cohort_name=cohort.name,
        arrived=arrived,
        given=cohort.draws.get(stage.id),
        levels=resolved.levels,
        language=experiment.language,
    )


def _when_asked(facts: Facts, stage: StageConfig, author: UUID) -> Facts:
    """The facts when the author is asked for the first time; others who are asked before have said nothing."""
    parts = parts_of(stage)
    if parts.state is None or parts.questions is None or parts.questions.due(own_view(facts, stage, author)):
        return facts
    return facts.with_state(stage.id, alone(facts, stage, author).states[stage.id])


def as_guest(experiment: Experiment, persona: Persona) -> Experiment:
    """The experiment with this persona, in the place of its own one with the same id."""
    own = experiment.personas
    if persona.id not in {one.id for one in own}:
        return experiment.model_copy(update={"personas": (*own, persona)})
    return experiment.model_copy(update={"personas": tuple(persona if one.id == persona.id else one for one in own)})


def _cohort(
    experiment: Experiment, seed: int, persona_id: str, treatment_id: str | None, *, is_guest: bool
) -> CohortAssignment:
    if treatment_id is not None:
        treatment_named(experiment, treatment_id)
    seated: dict[str, None] = {}
    may_receive: CohortAssignment | None = None
    for cohort in allocate(experiment, seed):
        players = [seat.persona_id for seat in _seats(cohort) if seat.persona_id is not None]
        if treatment_id not in (None, cohort.treatment_id) and cohort.treatment_id != OF_PARTICIPANTS:
            continue
        if persona_id in players:
            return cohort
        seated.update(dict.fromkeys(players))
        may_receive = may_receive or (cohort if cohort.seats else None)
    if is_guest and may_receive is not None:
        return _seat_guest(may_receive, persona_id)
    arm = "" if treatment_id is None else f" of the treatment {treatment_id!r}"
    known = what_is_known(persona_id, seated, "persona")
    raise NotFound(f"No cohort{arm} has a seat with the persona {persona_id!r}. {known}")


def _seat_guest(cohort: CohortAssignment, persona_id: str) -> CohortAssignment:
    """The cohort with this persona on the first seat of an agent, without agents on the first one."""
    agents = (seat for seat in cohort.seats if seat.persona_id is not None)
    left = next(agents, cohort.seats[0])
    return replace(
        cohort, seats=tuple(replace(one, persona_id=persona_id) if one is left else one for one in cohort.seats)
    )


def _seat_of(cohort: CohortAssignment, persona_id: str, treatment_id: str | None) -> Seat:
    """The first seat of the persona in the cohort, if possible one with an own arm of this id."""
    found = [seat for seat in _seats(cohort) if seat.persona_id == persona_id]
    in_arm = (seat for seat in found if isinstance(seat, SeatAssignment) and seat.treatment_id == treatment_id)
    return next(in_arm, found[0])


def _arm_of(cohort: CohortAssignment, seat: Seat, treatment_id: str | None) -> str | None:
    """The arm that is asked for, the seat's own, or that of the cohort; None: a mediator for participants of all."""
    if cohort.treatment_id != OF_PARTICIPANTS:
        return cohort.treatment_id
    return treatment_id or (seat.treatment_id if isinstance(seat, SeatAssignment) else None)


def _seats(cohort: CohortAssignment) -> list[Seat]:
    return [*cohort.seats, *cohort.mediators]


def _until(resolved: Resolved, stage_id: str) -> tuple[StageConfig, ...]:
    resolved.stage(stage_id)
    return resolved.stages[: resolved.stage_ids.index(stage_id) + 1]


def _people(experiment_id: UUID, cohort: CohortAssignment, resolved: Resolved, language: str | None) -> People:
    """All members before the first stage, wherever mediators sit."""
    numbered: list[tuple[int, Seat]] = [*enumerate(cohort.seats, 1), *enumerate(cohort.mediators, 1)]
    rows = (_attendee(experiment_id, seat, resolved, number, language) for number, seat in numbered)
    return People(tuple(sorted(rows, key=lambda one: one.path)))


def _all_on(people: People, stage: StageConfig) -> People:
    """All members, the participants just after they have come to this stage; mediators are everywhere."""
    return People(
        tuple(
            one if one.kind == "mediator" else replace(one, position=one.stage_ids.index(stage.id))
            for one in people.rows
        )
    )


def _attendee(experiment_id: UUID, seat: Seat, resolved: Resolved, number: int, language: str | None) -> Attendee:
    kind: Literal["participant", "mediator"] = "mediator" if isinstance(seat, MediatorAssignment) else "participant"
    persona = resolved.personas[seat.persona_id] if seat.persona_id is not None else None
    return Attendee(
        id=seeds.row_id(experiment_id, seat.path),
        path=seat.path,
        kind=kind,
        player="person" if persona is None else persona.player,
        status="in_progress",
        stage_ids=tuple(resolved.seats_of_mediator(persona)) if kind == "mediator" else resolved.stage_ids,
        position=0,
        profile=_profile(persona, seat_name(kind, number, language)),
        chat=persona.chat.model_dump() if persona else {},
        script=persona.script if persona else {},
    )


def _profile(persona: Persona | None, seat_name: str) -> dict[str, str]:
    profile = persona.profile if persona else Profile()
    named = profile if profile.name else profile.model_copy(update={"name": seat_name})
    return as_seen(named.model_dump())
