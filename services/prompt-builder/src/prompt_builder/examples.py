"""What an agent would know in an experiment that was not started: everybody is there, nothing was said. Pure."""

from dataclasses import replace
from uuid import UUID

from shared import seeds
from shared.contracts.experiment import Persona, Profile, StageConfig
from shared.db.context import PromptContext, as_seen, first_partner
from shared.errors import NotFound
from shared.experiment import (
    CohortAssignment,
    Experiment,
    MediatorAssignment,
    Resolved,
    SeatAssignment,
    allocate,
    resolve,
    snapshot,
)
from shared.experiment.complaints import one_of
from shared.experiment.treatments import treatment_named
from shared.stage import TALK, Ask, Json
from shared.stages import kind_of
from shared.views import Attendee, Facts, People, alone, drawn, lab_view, member_of, own_view, stated

Seat = SeatAssignment | MediatorAssignment


def example_context(
    experiment: Experiment,
    experiment_id: UUID,
    *,
    seed: int,
    persona_id: str,
    stage_id: str,
    treatment_id: str | None = None,
) -> PromptContext:
    """The context of a persona on a stage that has just opened, in the first cohort in which it sits.

    Ids, paths and draws are those that the experiment has when it is started. People are there by the names of their
    seats. Nobody has answered or said anything.

    Raises:
        NotFound: the persona sits in no such cohort, or that cohort does not come to this stage.
    """
    cohort = _cohort(experiment, seed, persona_id, treatment_id)
    resolved = resolve(experiment, cohort.treatment_id)
    if resolved.personas[persona_id].player == "script":
        raise NotFound(f"{persona_id!r} acts by its script: no model is shown anything.")
    stages = _until(resolved, stage_id)
    people = _people(experiment_id, cohort, resolved)
    path = next(seat.path for seat in _seats(cohort) if seat.persona_id == persona_id)
    author = next(one for one in people.rows if one.path == path)
    facts = Facts(
        people=_all_on(people, stages[-1]),
        draws={stage.id: _drawn(seed, cohort, stage, people, resolved) for stage in stages},
        variables=resolved.variables,
        whole=resolved.stage_ids,
        at=stage_id,
        partner=first_partner(stages[-1], people.rows),
    )
    for stage in stages:
        just_opened = replace(facts, people=_all_on(people, stage))
        facts = facts.with_state(stage.id, stated(stage, lab_view(just_opened, stage)).state)
    return PromptContext(
        draft_id=author.id,
        seed=seed,
        cohort_path=cohort.path,
        ask=Ask(author.id, "", TALK),
        author=member_of(facts.people.row(author.id), stage_id),
        agent=snapshot(resolved.personas[persona_id]),
        stages=stages,
        facts=_when_asked(facts, stages[-1], author.id),
    )


def _drawn(
    seed: int, cohort: CohortAssignment, stage: StageConfig, people: People, resolved: Resolved
) -> dict[str, Json]:
    """What is drawn when everybody has come to the stage."""
    arrived = [member for member in people.on(stage.id) if member.kind == "participant"]
    return drawn(stage, seed=seed, cohort_name=cohort.name, arrived=arrived, levels=resolved.levels)


def _when_asked(facts: Facts, stage: StageConfig, author: UUID) -> Facts:
    """The facts when the author is asked for the first time; others who come before have said nothing."""
    kind = kind_of(stage)
    if not kind.has_shared_asks or kind.next_asks(stage, own_view(facts, stage, author)):
        return facts
    return facts.with_state(stage.id, alone(facts, stage, author).states[stage.id])


def _cohort(experiment: Experiment, seed: int, persona_id: str, treatment_id: str | None) -> CohortAssignment:
    if treatment_id is not None:
        treatment_named(experiment, treatment_id)
    seated: dict[str, None] = {}
    for cohort in allocate(experiment, seed):
        players = [seat.persona_id for seat in _seats(cohort) if seat.persona_id is not None]
        if treatment_id not in (None, cohort.treatment_id):
            continue
        if persona_id in players:
            return cohort
        seated.update(dict.fromkeys(players))
    arm = "" if treatment_id is None else f" of the treatment {treatment_id!r}"
    expected = one_of(persona_id, seated, "persona")
    raise NotFound(f"No cohort{arm} has a seat with the persona {persona_id!r}; expected {expected}.")


def _seats(cohort: CohortAssignment) -> list[Seat]:
    return [*cohort.seats, *cohort.mediators]


def _until(resolved: Resolved, stage_id: str) -> tuple[StageConfig, ...]:
    resolved.stage(stage_id)
    return resolved.stages[: resolved.stage_ids.index(stage_id) + 1]


def _people(experiment_id: UUID, cohort: CohortAssignment, resolved: Resolved) -> People:
    numbered: list[tuple[int, Seat]] = [*enumerate(cohort.seats, 1), *enumerate(cohort.mediators, 1)]
    rows = (_attendee(experiment_id, seat, resolved, number) for number, seat in numbered)
    return People(tuple(sorted(rows, key=lambda one: one.path)))


def _all_on(people: People, stage: StageConfig) -> People:
    """Everybody, when they have just come to this stage."""
    return People(tuple(replace(one, position=one.stage_ids.index(stage.id)) for one in people.rows))


def _attendee(experiment_id: UUID, seat: Seat, resolved: Resolved, number: int) -> Attendee:
    is_mediator = isinstance(seat, MediatorAssignment)
    persona = resolved.personas[seat.persona_id] if seat.persona_id is not None else None
    return Attendee(
        id=seeds.row_id(experiment_id, seat.path),
        path=seat.path,
        kind="mediator" if is_mediator else "participant",
        player="person" if persona is None else persona.player,
        status="in_progress",
        stage_ids=resolved.stage_ids,
        position=0,
        profile=_profile(persona, f"{'Mediator' if is_mediator else 'Participant'} {number}"),
        chat=persona.chat.model_dump() if persona else {},
        script=persona.script if persona else {},
    )


def _profile(persona: Persona | None, seat_name: str) -> dict[str, str]:
    profile = persona.profile if persona else Profile()
    named = profile if profile.name else profile.model_copy(update={"name": seat_name})
    return as_seen(named.model_dump())
