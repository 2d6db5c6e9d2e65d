"""What an agent would know in an experiment that was not started: everybody is there, nothing was said. Pure."""

from collections.abc import Sequence
from uuid import UUID

from shared import seeds
from shared.contracts.experiment import ChatSettings, Persona, Profile, StageConfig
from shared.db.context import PromptContext, as_seen
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
from shared.stage import TALK, Ask, Json, Member, StageView
from shared.stages import kind_of

Seat = SeatAssignment | MediatorAssignment


def example_context(
    experiment: Experiment,
    experiment_id: UUID,
    *,
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
    cohort = _cohort(experiment, persona_id, treatment_id)
    resolved = resolve(experiment, cohort.treatment_id)
    if resolved.personas[persona_id].player == "script":
        raise NotFound(f"{persona_id!r} acts by its script: no model is shown anything.")
    members = _members(experiment_id, cohort, resolved)
    path = next(seat.path for seat in _seats(cohort) if seat.persona_id == persona_id)
    author = next(member for member in members if member.path == path)
    stages = _until(resolved, stage_id)
    if kind_of(stages[-1]).has_private_threads:
        members = _in_private(members, author)
    draws = {stage.id: _drawn(experiment, cohort, stage, members) for stage in stages}
    return PromptContext(
        draft_id=author.id,
        seed=experiment.seed,
        cohort_path=cohort.path,
        ask=Ask(author.id, "", TALK),
        author=author,
        agent=snapshot(resolved.personas[persona_id]),
        stages=stages,
        members=members,
        reached={},
        draws=draws,
        answers=(),
        messages={},
        variables=resolved.variables,
        states={stage.id: _state(stage, members, draws[stage.id]) for stage in stages},
    )


def _cohort(experiment: Experiment, persona_id: str, treatment_id: str | None) -> CohortAssignment:
    for cohort in allocate(experiment):
        players = {seat.persona_id for seat in _seats(cohort)}
        if persona_id in players and treatment_id in (None, cohort.treatment_id):
            return cohort
    arm = "" if treatment_id is None else f" of the treatment {treatment_id!r}"
    raise NotFound(f"No cohort{arm} has a seat with the persona {persona_id!r}.")


def _seats(cohort: CohortAssignment) -> list[Seat]:
    return [*cohort.seats, *cohort.mediators]


def _in_private(members: Sequence[Member], author: Member) -> tuple[Member, ...]:
    """The mediators, and the participant who talks with them: the author, or the first one."""
    participants = [member for member in members if member.kind == "participant"]
    partner = author if author.kind == "participant" else participants[0]
    return tuple(member for member in members if member.kind == "mediator" or member is partner)


def _until(resolved: Resolved, stage_id: str) -> tuple[StageConfig, ...]:
    resolved.stage(stage_id)
    return resolved.stages[: resolved.stage_ids.index(stage_id) + 1]


def _members(experiment_id: UUID, cohort: CohortAssignment, resolved: Resolved) -> tuple[Member, ...]:
    participants = [_member(experiment_id, seat, resolved, number) for number, seat in enumerate(cohort.seats, 1)]
    mediators = [_member(experiment_id, seat, resolved, number) for number, seat in enumerate(cohort.mediators, 1)]
    return tuple(sorted((*participants, *mediators), key=lambda member: member.path))


def _member(experiment_id: UUID, seat: Seat, resolved: Resolved, number: int) -> Member:
    is_mediator = isinstance(seat, MediatorAssignment)
    persona = resolved.personas[seat.persona_id] if seat.persona_id is not None else None
    return Member(
        id=seeds.row_id(experiment_id, seat.path),
        path=seat.path,
        kind="mediator" if is_mediator else "participant",
        player="person" if persona is None else persona.player,
        profile=_profile(persona, f"{'Mediator' if is_mediator else 'Participant'} {number}"),
        chat=persona.chat if persona else ChatSettings(),
        script=persona.script if persona else {},
    )


def _profile(persona: Persona | None, seat_name: str) -> Profile:
    profile = persona.profile if persona else Profile()
    named = profile if profile.name else profile.model_copy(update={"name": seat_name})
    return Profile(**as_seen(named.model_dump()))


def _drawn(
    experiment: Experiment, cohort: CohortAssignment, stage: StageConfig, members: Sequence[Member]
) -> dict[str, Json]:
    participants = [member for member in members if member.kind == "participant"]
    rng = seeds.rng(experiment.seed, f"{cohort.path}/{stage.id}/draw")
    return kind_of(stage).draw(stage, participants, {}, rng)


def _state(stage: StageConfig, members: tuple[Member, ...], draws: dict[str, Json]) -> dict[str, Json]:
    return kind_of(stage).public_state(stage, StageView(members=members, draws=draws))
