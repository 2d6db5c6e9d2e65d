"""What an agent would know in an experiment that was not started: everybody is there, nothing was said. Pure."""

from collections.abc import Sequence
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
from shared.stage import TALK, Ask, Member, StageView
from shared.stages import kind_of
from shared.views import alone, drawn, lab_view, member_of, with_state

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
    members = _members(experiment_id, cohort, resolved)
    path = next(seat.path for seat in _seats(cohort) if seat.persona_id == persona_id)
    author = next(member for member in members if member.path == path)
    stages = _until(resolved, stage_id)
    opened = {stage.id: _opened(seed, cohort, stage, members, resolved) for stage in stages}
    opened[stage_id] = _when_asked(stages[-1], opened[stage_id], author)
    return PromptContext(
        draft_id=author.id,
        seed=seed,
        cohort_path=cohort.path,
        ask=Ask(author.id, "", TALK),
        author=author,
        agent=snapshot(resolved.personas[persona_id]),
        stages=stages,
        members=members,
        reached={},
        partner=first_partner(stages[-1], members),
        draws={stage_id: view.draws for stage_id, view in opened.items()},
        answers=(),
        messages={},
        variables=resolved.variables,
        states={stage_id: view.state for stage_id, view in opened.items()},
    )


def _opened(
    seed: int, cohort: CohortAssignment, stage: StageConfig, members: Sequence[Member], resolved: Resolved
) -> StageView:
    """The stage when everybody has come to it and nobody has answered."""
    arrived = [member for member in members if member.kind == "participant"]
    draws = drawn(stage, seed=seed, cohort_name=cohort.name, arrived=arrived, levels=resolved.levels)
    return lab_view(stage, members=members, draws=draws, answers={}, variables=resolved.variables)


def _when_asked(stage: StageConfig, view: StageView, author: Member) -> StageView:
    """The stage when the author is asked for the first time; others who come before have said nothing."""
    kind = kind_of(stage)
    is_first = not kind.has_shared_asks or any(ask.member_id == author.id for ask in kind.next_asks(stage, view))
    return view if is_first else with_state(stage, alone(view, author.id))


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


def _members(experiment_id: UUID, cohort: CohortAssignment, resolved: Resolved) -> tuple[Member, ...]:
    participants = [_member(experiment_id, seat, resolved, number) for number, seat in enumerate(cohort.seats, 1)]
    mediators = [_member(experiment_id, seat, resolved, number) for number, seat in enumerate(cohort.mediators, 1)]
    return tuple(sorted((*participants, *mediators), key=lambda member: member.path))


def _member(experiment_id: UUID, seat: Seat, resolved: Resolved, number: int) -> Member:
    is_mediator = isinstance(seat, MediatorAssignment)
    persona = resolved.personas[seat.persona_id] if seat.persona_id is not None else None
    return member_of(
        id=seeds.row_id(experiment_id, seat.path),
        path=seat.path,
        kind="mediator" if is_mediator else "participant",
        player="person" if persona is None else persona.player,
        profile=_profile(persona, f"{'Mediator' if is_mediator else 'Participant'} {number}"),
        present=True,
        chat=persona.chat.model_dump() if persona else None,
        script=persona.script if persona else None,
    )


def _profile(persona: Persona | None, seat_name: str) -> dict[str, str]:
    profile = persona.profile if persona else Profile()
    named = profile if profile.name else profile.model_copy(update={"name": seat_name})
    return as_seen(named.model_dump())
