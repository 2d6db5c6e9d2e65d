"""Acts on many members at once, with an outcome for each; on a whole group; and Continue."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

import structlog
from fastapi import APIRouter

from parley_lab.answers import advancing
from parley_lab.base.errors import Conflict, InvalidInput, NotFound, ParleyError, Problem, Unavailable
from parley_lab.contracts import lives
from parley_lab.gateway.context import Context, InContext, UrgentKey
from parley_lab.gateway.once import InOnce, Once
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.problems import UNEXPECTED
from parley_lab.gateway.resources.acts import (
    Act,
    ActOutcome,
    ActOutcomes,
    ActRequest,
    CohortName,
    ContinueRequest,
    ReasonRequest,
)
from parley_lab.gateway.resources.base import Resource
from parley_lab.gateway.resources.members import CohortResource, MemberResource
from parley_lab.gateway.routes.experiments import owned_by
from parley_lab.gateway.routes.members import member_resource
from parley_lab.members import standings
from parley_lab.members.standing import Standing
from parley_lab.people import acting, attention, continuing, holding, joining, notices
from parley_lab.store import keys, ownership
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Session
from parley_lab.talk import pages as reads

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@dataclass(frozen=True, slots=True)
class _By:
    """Who acts, why, and what they say."""

    actor: str
    reason: str = ""
    text: str = ""


class _Chosen(Resource):
    """The members to whom an act is done, in its order."""

    actor: str
    member_ids: list[UUID]


Doing = Callable[[Session, Standing, _By, datetime], Awaitable[object]]


async def _pause(session: Session, standing: Standing, by: _By, now: datetime) -> None:
    await holding.pause_member(session, standing, now, cause="request", actor=by.actor)


async def _resume(session: Session, standing: Standing, by: _By, now: datetime) -> None:
    await holding.resume_member(session, standing, now, cause="request", actor=by.actor)


async def _check(session: Session, standing: Standing, by: _By, now: datetime) -> None:
    await attention.send_check(session, standing, now, sent_by=by.actor, cause="request", words=by.text)


async def _message(session: Session, standing: Standing, by: _By, now: datetime) -> None:
    await notices.send_notice(session, standing, by.text, now, sent_by=by.actor)


async def _remove(session: Session, standing: Standing, by: _By, now: datetime) -> None:
    outcome = lives.outcome(standing.status, "remove")
    await advancing.end_member(session, standing, outcome, by.reason, now, cause="request", actor=by.actor)


async def _advance(session: Session, standing: Standing, by: _By, now: datetime) -> None:
    await continuing.continue_member(session, standing, by.reason, now, actor=by.actor)


_DOING: Final[Mapping[Act, Doing]] = {
    "pause": _pause,
    "resume": _resume,
    "check": _check,
    "message": _message,
    "remove": _remove,
    "advance": _advance,
}


@router.post("/experiments/{experiment_id}/members/{act}", summary="Do something with many members at once")
async def act_on_members(
    experiment_id: UUID, act: Act, body: ActRequest, context: InContext, key: UrgentKey, once: InOnce
) -> ActOutcomes:
    """Each member is a transaction of its own, so one that is refused keeps no other from it; the answer has an outcome
    for each, in the order of `member_ids`. `remove` and `advance` need a reason, `message` a text. The same request
    again under an `Idempotency-Key` is for the same members, and only for those with whom it was not done before."""
    _require(act, body)

    async def begin(session: Session) -> tuple[_Chosen, frozenset[UUID]]:
        owner = await keys.require_scope(session, key, context.clock.now(), "write")
        await owned_by(session, owner, experiment_id)

        async def choose(session: Session) -> _Chosen:
            ids = body.member_ids if body.member_ids is not None else await acting.people_of(session, experiment_id)
            return _Chosen(actor=owner.name, member_ids=list(dict.fromkeys(ids)))

        chosen = await once.do_part(session, _Chosen, choose, "members")
        return chosen, await acting.among(session, experiment_id, chosen.member_ids)

    chosen, known = await context.database.transact(begin)
    by = _By(chosen.actor, body.reason, body.text)

    async def do(session: Session, member_id: UUID) -> None:
        now = context.clock.now()
        await keys.sign_in(session, key, now, scope="write")
        keys.note(session, experiment_id, body.reason)
        await _DOING[act](session, await standings.lock_standing(session, member_id), by, now)

    outcomes = [
        await _outcome(context, once, one, do)
        if one in known
        else ActOutcome(member_id=one, outcome="not_found", status=None, detail="There is no such participant.")
        for one in chosen.member_ids
    ]
    return ActOutcomes(outcomes=outcomes)


def _require(act: Act, body: ActRequest) -> None:
    problems = []
    if act in ("remove", "advance") and not body.reason.strip():
        problems.append(Problem("reason", "nothing", "why"))
    if act == "message" and not body.text.strip():
        problems.append(Problem("text", "nothing", "what is said"))
    if act != "message" and body.member_ids is None:
        problems.append(Problem("member_ids", "nothing", "the ids of members"))
    if problems:
        raise InvalidInput("The request is not as expected.", problems)


async def _outcome(
    context: Context, once: Once, member_id: UUID, do: Callable[[Session, UUID], Awaitable[None]]
) -> ActOutcome:
    async def work(session: Session) -> Resource:
        await do(session, member_id)
        return Resource()

    def outcome_of(
        outcome: Literal["done", "refused", "failed"], reason: str | None = None, detail: str | None = None
    ) -> ActOutcome:
        return ActOutcome(member_id=member_id, outcome=outcome, status=None, reason=reason, detail=detail)

    try:
        await context.database.transact(lambda session: once.do_part(session, Resource, work, str(member_id)))
        found = outcome_of("done")
    except NotFound:
        return ActOutcome(member_id=member_id, outcome="not_found", status=None, detail="It was deleted meanwhile.")
    except Conflict as error:
        found = outcome_of("refused", error.reason, error.message)
    except ParleyError as error:
        found = outcome_of("failed", error.code, error.message)
    except Exception:
        # The outcomes of the others, with whom it is done already, must not be lost.
        log.exception("act.failed", member=str(member_id))
        found = outcome_of("failed", "unexpected", UNEXPECTED)
    with suppress(Unavailable):
        async with context.database.read() as session:
            return found.model_copy(update={"status": await acting.status_of(session, member_id)})
    return found


@router.post("/members/{member_id}/advance", summary="Continue, as if the time was up")
async def advance(member_id: UUID, body: ContinueRequest, context: InContext, key: UrgentKey) -> MemberResource:
    """What the member has filled in counts where it fits, and a conversation is left. In a game their open moves are
    missing, by its rule. A wait ends for the whole group as the file says; without a limit, for those who have come.
    Refused on a consent and a test of comprehension, and where nothing is open (409, `cannot_advance`)."""

    async def work(session: Session) -> MemberResource:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        experiment_id = await ownership.check_member(session, member_id, owner.id)
        keys.note(session, experiment_id, body.reason)
        standing = await standings.lock_standing(session, member_id)
        await continuing.continue_member(session, standing, body.reason, now, actor=owner.name)
        return member_resource(await reads.roster_entry(session, member_id))

    return await context.database.transact(work)


@router.post("/cohorts/{cohort_id}/pause", summary="Pause all members of a group")
async def pause_cohort(
    cohort_id: UUID, context: InContext, key: UrgentKey, body: ReasonRequest | None = None
) -> ActOutcomes:
    """All in one transaction, so that no stage opens for those who are left. Those who cannot be paused now, such as
    members in an attention check, are refused one by one. Idempotent."""
    return await _on_cohort(context, key, cohort_id, _pause, "pause", (body or ReasonRequest()).reason)


@router.post("/cohorts/{cohort_id}/resume", summary="Let all members of a group go on")
async def resume_cohort(
    cohort_id: UUID, context: InContext, key: UrgentKey, body: ReasonRequest | None = None
) -> ActOutcomes:
    """Idempotent."""
    return await _on_cohort(context, key, cohort_id, _resume, "resume", (body or ReasonRequest()).reason)


@router.post("/cohorts/{cohort_id}/end", summary="End a group")
async def end_cohort(cohort_id: UUID, body: ContinueRequest, context: InContext, key: UrgentKey) -> ActOutcomes:
    """It is locked, and all who have not come to the end are removed, with empty seats; then it ends. Idempotent."""
    return await _on_cohort(context, key, cohort_id, _remove, "remove", body.reason)


async def _on_cohort(
    context: Context, key: str, cohort_id: UUID, doing: Doing, command: lives.Command, reason: str
) -> ActOutcomes:
    async def work(session: Session) -> ActOutcomes:
        now = context.clock.now()
        owner = await keys.require_scope(session, key, now, "write")
        experiment_id = await ownership.check_cohort(session, cohort_id, owner.id)
        if command == "remove":
            await joining.set_locked(session, cohort_id, True, now, actor=owner.name)
        by = _By(owner.name, reason)
        members = await acting.members_of(session, cohort_id, with_mediators=command != "remove")
        outcomes = [await _one_of(session, one, doing, command, by, now) for one in members]
        if command == "remove" or any(one.outcome == "done" for one in outcomes):
            await keys.sign_in(session, key, now, scope="write")
            keys.note(session, experiment_id, reason)
        return ActOutcomes(outcomes=outcomes)

    return await context.database.transact(work, statement_seconds=WHOLE_EXPERIMENT_SECONDS)


async def _one_of(
    session: Session, member_id: UUID, doing: Doing, command: lives.Command, by: _By, now: datetime
) -> ActOutcome:
    standing = await standings.lock_standing(session, member_id)
    try:
        after = lives.after(standing.status, command)
    except Conflict as error:
        return ActOutcome(
            member_id=member_id, outcome="refused", status=standing.status, reason=error.reason, detail=error.message
        )
    await doing(session, standing, by, now)
    return ActOutcome(member_id=member_id, outcome="done", status=after)


@router.patch("/cohorts/{cohort_id}", summary="Rename a group")
async def rename(cohort_id: UUID, body: CohortName, context: InContext, key: UrgentKey) -> CohortResource:
    async def work(session: Session) -> CohortResource:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="write")
        keys.note(session, await ownership.check_cohort(session, cohort_id, owner.id))
        await acting.rename(session, cohort_id, body.name)
        return CohortResource.model_validate(await reads.cohort(session, cohort_id), from_attributes=True)

    return await context.database.transact(work)
