"""Whether a cohort takes one more participant while it runs, and where one who comes from another cohort goes on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import Conflict, NotFound
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.lives import COUNTED, STILL_IN, in_sql
from parley_lab.design import Resolved
from parley_lab.kinds import PAGE, Json
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.stages import parts_of
from parley_lab.members.designs import design
from parley_lab.members.parts import answers_on
from parley_lab.members.standing import Standing
from parley_lab.people.spans import Span, span_of
from parley_lab.store.session import ReadSession

_TARGET: Final = text(
    f"""
    SELECT c.id, c.path, c.experiment_id, c.alone, e.version, coalesce(
            (SELECT m.treatment_id FROM members m WHERE m.id = :member_id), c.treatment_id) AS treatment_id,
        c.status = 'ended' OR EXISTS (
        SELECT FROM waits w WHERE w.cohort_id = c.id AND w.outcome = 'released') AS is_over,
        CASE WHEN EXISTS (SELECT FROM stays s WHERE s.cohort_id = c.id AND s.member_id = :member_id)
            THEN ARRAY(SELECT o.stage_id FROM cohort_stages o WHERE o.cohort_id = c.id) END AS begun_without,
        (SELECT count(*) FROM members m WHERE m.cohort_id = c.id AND m.kind = 'participant'
            AND m.status IN {in_sql(COUNTED)}) AS participants
    FROM cohorts c JOIN experiments e ON e.id = c.experiment_id WHERE c.id = :cohort_id
    """  # noqa: S608 - put together from constants
)


@dataclass(frozen=True, slots=True)
class Target:
    """The cohort that a member is to enter, and its way there."""

    id: UUID
    path: str
    stage_ids: tuple[str, ...]
    position: int


def target_on(standing: Standing, cohort_id: UUID, path: str, resolved: Resolved, stage_id: str) -> Target:
    """The stages of a member in the cohort of this arm that they enter, and the position of `stage_id` among them.

    A block that the member has begun keeps their own order, and stages behind them that a rule has left out stay out.
    """
    left_out = {one.id for one in standing.design.stages if one.show_if is not None} - {*standing.stage_ids}
    way = resolved.way_at(stage_id, standing.facts.variables, left_out=left_out)
    return Target(cohort_id, path, tuple(way), way.index(stage_id))


async def target_of(session: ReadSession, standing: Standing, cohort_id: UUID) -> Target:
    """The cohort with this id, if a participant who is in another one may enter it now.

    Raises:
        NotFound: the experiment has no such cohort.
        Conflict: it does not take the participant as they are; `reason` says why.
    """
    row = await session.first(_TARGET, {"cohort_id": cohort_id, "member_id": standing.member.id})
    if row is None or row.experiment_id != standing.experiment_id:
        raise NotFound("There is no such group.")
    if row.id == standing.cohort_id:
        raise Conflict("The member is in this group already.", reason="same_cohort")
    if row.alone:
        raise Conflict("This is one person who waits for a group; nobody comes to them.", reason="alone")
    if row.is_over:
        raise Conflict("This group has ended.", reason="cohort_ended")
    resolved = await design(session, row.experiment_id, row.version, row.treatment_id)
    stage = _stage(standing, resolved)
    span = await span_of(session, row.id)
    target = _in_span(target_on(standing, row.id, row.path, resolved, stage.id), span)
    ahead = [resolved.stage(one) for one in target.stage_ids[target.position :]]
    # Where the member was before, a game may have counted them as one who has gone.
    if any(plays_together(parts_of(one)) and one.id in (row.begun_without or ()) for one in ahead):
        raise Conflict("A game has begun there without the member.", reason="in_a_game")
    require_players(ahead, row.participants)
    done = [resolved.stage(one) for one in target.stage_ids[: target.position + 1]]
    await _require_role(session, standing, done, row.id)
    if standing.member.player == "person" or span.until is None:
        return target
    return replace(target, stage_ids=target.stage_ids[: target.stage_ids.index(span.until)])


def _stage(standing: Standing, resolved: Resolved) -> StageConfig:
    """The stage on which the member is, and goes on in the other cohort."""
    stage = standing.stage
    if stage is None or stage.id not in resolved.stage_ids:
        raise Conflict("The other group does not have the stage on which the member is.", reason="no_such_stage")
    parts = parts_of(stage)
    if plays_together(parts) and stage.id in standing.unlocked:
        raise Conflict("The member plays with others just now; move them after that.", reason="in_a_game")
    if parts.names_others and standing.facts.own(stage.id, standing.member.id):
        raise Conflict("The member answers about the others just now; move them after that.", reason="in_a_game")
    return stage


def _in_span(target: Target, span: Span) -> Target:
    """The target, if the members of the cohort are there on the stage where the member is."""
    ahead, behind = target.stage_ids[target.position + 1 :], target.stage_ids[: target.position + 1]
    if span.first in ahead:
        found = f"The other group was made at the stage {span.first}, to which the member has not come."
        raise Conflict(found, reason="no_such_stage")
    if span.until in behind:
        found = f"People leave the other group at the stage {span.until}, to which the member has come."
        raise Conflict(found, reason="no_such_stage")
    return target


def require_players(stages: Iterable[StageConfig], participants: int) -> None:
    """Refuse one more participant where a stage that lies ahead is for so many as there are.

    Raises:
        Conflict: it is.
    """
    for stage in stages:
        most = parts_of(stage).players[1]
        if most is not None and participants >= most:
            raise Conflict(f"The stage {stage.id} is for {most} participants at most.", reason="full")


_HERE: Final = text(
    f"""
    SELECT id FROM members
    WHERE cohort_id = :cohort_id AND kind = 'participant' AND status IN {in_sql((*STILL_IN, "completed"))}
    """  # noqa: S608 - put together from constants
)
_DRAWS: Final = text("SELECT draws FROM cohort_stages WHERE cohort_id = :cohort_id AND stage_id = :stage_id")


async def _require_role(session: ReadSession, standing: Standing, done: Iterable[StageConfig], cohort_id: UUID) -> None:
    """What was drawn for a member stays theirs, so there must be room for it; they are on the last stage of `done`."""
    member_id = standing.member.id
    for stage in done:
        draws = parts_of(stage).draws
        is_here = standing.stage is not None and stage.id == standing.stage.id
        elsewhere = standing.facts.draws.get(stage.id, {}) if is_here else None
        page = standing.facts.own(stage.id, member_id).get(PAGE)
        brought = None if draws is None else draws.brought(member_id, page, elsewhere)
        if draws is None or brought is None:
            continue
        if not draws.has_room(brought, await _held(session, stage, cohort_id)):
            found = "The other group has no place for the role that the member has."
            raise Conflict(found, reason="full")


async def _held(session: ReadSession, stage: StageConfig, cohort_id: UUID) -> Mapping[str, Json]:
    """What the participants of the cohort hold of this stage: drawn there, or brought by those who moved."""
    draws = parts_of(stage).draws
    row = await session.first(_DRAWS, {"cohort_id": cohort_id, "stage_id": stage.id})
    drawn = {} if row is None else row.draws
    pages = await answers_on(session, cohort_id, stage.id)
    found: dict[str, Json] = {}
    for one in await session.all(_HERE, {"cohort_id": cohort_id}):
        own = None if draws is None else draws.brought(one.id, pages.get(one.id, {}).get(PAGE))
        found.update({key: drawn.get(key, value) for key, value in (own or {}).items()})
    return found
