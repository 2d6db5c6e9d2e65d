"""What participants do: join, see where they are, answer and go on, talk, follow, leave."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from fastapi import APIRouter

from gateway import pages
from gateway.context import (
    ApiKey,
    Context,
    InContext,
    MemberToken,
    ReaderToken,
    reader_of,
)
from gateway.once import InOnce, by_key
from gateway.resources.appearance import AppearanceResource, shown_appearance
from gateway.resources.events import Nothing
from gateway.resources.participants import (
    AdvanceRequest,
    AnsweredAsk,
    AnswerRequest,
    HelpRequest,
    Joined,
    JoinRequest,
    Me,
    Page,
    StagePage,
    TransferAnswer,
)
from gateway.routes.experiments import owned
from shared import lives
from shared.acts import (
    advancing,
    answering,
    asking,
    attention,
    going_on,
    joining,
    notices,
    transferring,
)
from shared.acts.asking import FoundAsk
from shared.acts.staying import require_long_enough
from shared.contracts.experiment import Profile, Slug, StageConfig
from shared.db import pages as reads
from shared.db import standings
from shared.db.appearances import appearance_of
from shared.db.session import Session
from shared.db.shells import shell_of, shows_others
from shared.db.standing import Standing
from shared.db.standings import hash_token
from shared.db.stays import StayTimes, stay_times
from shared.errors import Conflict, InvalidInput, NotFound, Paused, Problem
from shared.stage import PAGE, Blocked, Json, Questions
from shared.stages import kind_of, parts_of
from shared.urgency import Urgency, urgency

router = APIRouter(prefix="/v1", tags=["participants"])


@router.post(
    "/experiments/{experiment_id}/join",
    status_code=201,
    summary="Give a person the next open seat",
    tags=["experiments"],
)
async def join(
    experiment_id: UUID, context: InContext, key: ApiKey, once: InOnce, body: JoinRequest | None = None
) -> Joined:
    """For programs of the experimenter that bring people; people themselves join by a link (`POST /v1/join/{code}`).
    The token in the answer is shown this once; it is the key to everything below `/v1/me`. Joining again with the
    same `external_id` gives the place back, with a new token; the one before is void."""
    urgency.set(Urgency.PERSON)
    wanted = body or JoinRequest()
    profile = Profile(**wanted.profile.model_dump()) if wanted.profile else None

    async def work(session: Session) -> Joined:
        now = context.clock.now()
        await owned(session, context, key, experiment_id, "write")
        member_id, token = await joining.join(
            session,
            experiment_id,
            now,
            cohort_id=wanted.cohort_id,
            profile=profile,
            external_id=wanted.external_id,
            old_token=wanted.token,
        )
        return await joined(session, context, member_id, token)

    return await once.transact(Joined, work, sign_in=by_key(context, key))


async def joined(session: Session, context: Context, member_id: UUID, token: str) -> Joined:
    """The answer to a person who has just joined."""
    standing = await standings.sign_in(session, token, lock=False)
    return Joined(member_id=member_id, token=token, me=await _me(session, context, standing))


@router.get("/me", summary="Everything that the shell of the page shows")
async def who_am_i(context: InContext, token: ReaderToken) -> Me:
    async with context.database.transaction() as session:
        reader = await reader_of(session, context, token)
        return await _me(session, context, await standings.seen_by(session, reader.key))


async def _me(session: Session, context: Context, standing: Standing) -> Me:
    if standing.stage is not None and (standing.asks or shows_others(standing)):
        # The form of an ask may name those who are there.
        standing = await reads.with_company(session, standing, standing.stage)
    return pages.me(standing, await shell_of(session, standing), context.clock.now())


@router.get("/me/appearance", summary="How the pages of the experiment look")
async def appearance(context: InContext, token: ReaderToken) -> AppearanceResource:
    """It stays the same for as long as the experiment runs."""
    async with context.database.transaction() as session:
        reader = await reader_of(session, context, token)
        standing = await standings.seen_by(session, reader.key)
        return shown_appearance(await appearance_of(session, standing.experiment_id))


@router.get("/me/stages/{stage_id}", summary="Everything that one stage shows")
async def stage(stage_id: Slug, context: InContext, token: ReaderToken) -> StagePage:
    async with context.database.transaction() as session:
        reader = await reader_of(session, context, token)
        standing = await standings.seen_by(session, reader.key)
        if reader.until is not None:
            # What is being typed belongs to the participant until it is sent.
            standing = replace(standing, begun={})
        index = _index(standing, stage_id)
        if index > standing.position:
            raise Conflict("You have not come to this stage yet.", reason="stage_not_reached")
        looked_at = standing.design.stage(stage_id)
        standing = await standings.looking_at(session, standing, looked_at)
        standing = await reads.with_company(session, standing, looked_at)
        stay = await _stay(session, standing, looked_at)
    return pages.stage_page(standing, looked_at, stay, context.clock.now())


@router.post("/me/stages/{stage_id}/advance", summary="Answer and go on, in one request")
async def advance(stage_id: Slug, context: InContext, token: MemberToken, body: AdvanceRequest | None = None) -> Page:
    """The answer is the page where the participant is afterwards; its `cursor` comes after the events that going on has
    made, unless others have made some meanwhile. Going on twice from one stage is going on once."""
    request = body or AdvanceRequest()
    if request.from_stage_id not in (None, stage_id):
        problem = Problem("from_stage_id", repr(request.from_stage_id), f"{stage_id!r}, as in the path")
        raise InvalidInput("The request names two stages.", [problem])

    async def work(session: Session) -> tuple[Page, Session]:
        standing = await standings.sign_in(session, token, lock=True)
        if _index(standing, stage_id) >= standing.position:
            await _leave_stage(session, context, standing, stage_id, request.answer)
        return await _page(session, context, token), session

    page, written = await context.database.transact(work)
    return pages.seen_with(page, written.counted)


def _index(standing: Standing, stage_id: str) -> int:
    if stage_id not in standing.stage_ids:
        raise NotFound(f"There is no stage {stage_id!r} here.")
    return standing.stage_ids.index(stage_id)


async def _leave_stage(session: Session, context: Context, standing: Standing, stage_id: str, answer: Json) -> None:
    """Store the answer and move on.

    Raises:
        InvalidInput: the answer is not one.
        Conflict: the participant is not there, or cannot go on.
    """
    current = standing.stage
    lives.after(standing.status, "act")
    if standing.is_paused:
        raise Paused
    if current is None or current.id != stage_id:
        raise Conflict("You have not come to this stage yet.", reason="stage_not_reached")
    if standing.is_locked:
        raise Conflict("This stage is not open yet; wait for the others.", reason="stage_locked")
    now = context.clock.now()
    await require_long_enough(session, standing, current, now)
    view = standing.view(current, now)
    value = pages.page_answer(current, view, answer)
    if pages.takes_answer(current, view):
        view = standing.with_answer(current.id, PAGE, value).view(current, now)
    completion = kind_of(current).completion(current, view)
    if isinstance(completion, Blocked):
        reasons = [one.model_dump() for one in pages.reasons_of(completion.reasons)]
        raise Conflict(" ".join(completion.reasons), reason="blocked", params={"reasons": reasons})
    answering.write_page(session, standing, value, now)
    await going_on.go_on(session, standing, completion, now, cause="request")


async def _page(session: Session, context: Context, token: str) -> Page:
    """Read anew, because others may have moved meanwhile."""
    standing = await standings.sign_in(session, token, lock=False)
    if standing.stage is not None:
        standing = await reads.with_company(session, standing, standing.stage)
    stay = None if standing.stage is None else await _stay(session, standing, standing.stage)
    return pages.page(standing, stay, await shell_of(session, standing), context.clock.now())


async def _stay(session: Session, standing: Standing, stage: StageConfig) -> StayTimes | None:
    """The times of the stage, while the participant is on it."""
    if standing.stage is None or standing.stage.id != stage.id:
        return None
    return await stay_times(session, standing.member.id, standing.member.path, stage)


@router.post("/me/asks/{ask_id}/answer", summary="Answer what the lab wants now")
async def answer_ask(ask_id: UUID, body: AnswerRequest, context: InContext, token: MemberToken) -> AnsweredAsk:
    """An answer is final. The same answer again returns the stored one; the live stream tells what follows from it."""

    async def work(session: Session) -> AnsweredAsk:
        standing = await standings.sign_in(session, token, lock=True)
        found = await asking.find(session, ask_id, standing.member.id)
        value = found.answer if found.state == "answered" else None
        if found.state == "open":
            value = await _answered(session, context, standing, found, body.answer)
        elif found.state != "answered" or not _is_same(standing, found, body.answer, context.clock.now()):
            raise Conflict("This is not asked any more; the page shows what is.", reason="ask_closed")
        shown = _questions(standing, found).shown(value)
        return AnsweredAsk(ask_id=ask_id, stage_id=found.stage_id, key=found.ask.key, answer=shown)

    return await context.database.transact(work)


async def _answered(session: Session, context: Context, standing: Standing, found: FoundAsk, answer: Json) -> Json:
    """Store the answer to an open ask, and have the cohort settled because of it.

    Raises:
        InvalidInput: the answer is not one.
        Conflict: the participant is not there any more.
    """
    lives.after(standing.status, "act")
    if standing.stage is None or standing.stage.id != found.stage_id:
        raise Conflict("You are not on this stage any more.", reason="ask_closed")
    if standing.is_paused:
        raise Paused
    now = context.clock.now()
    value = _checked(standing, found, answer, now)
    await answering.answer(session, found.id, value, now)
    answering.record_answer(session, standing, found.stage_id, found.ask, value, now, cause="request")
    return value


def _checked(standing: Standing, found: FoundAsk, answer: Json, now: datetime) -> Json:
    view = standing.view(standing.design.stage(found.stage_id), now)
    question = _questions(standing, found).question(view, found.ask)
    if question is None:
        raise Conflict("This is not asked any more; the page shows what is.", reason="ask_closed")
    return question.check(answer)


def _questions(standing: Standing, found: FoundAsk) -> Questions:
    questions = parts_of(standing.design.stage(found.stage_id)).questions
    assert questions is not None  # an ask is only ever opened by them
    return questions


def _is_same(standing: Standing, found: FoundAsk, answer: Json, now: datetime) -> bool:
    """Whether this answer equals the stored one, as it was sent or as it was stored."""
    if answer == found.answer:
        return True
    try:
        return bool(_checked(standing, found, answer, now) == found.answer)
    except InvalidInput:
        return False


@router.post("/me/check", summary="Say that one is still there")
async def pass_check(context: InContext, token: MemberToken) -> Me:
    """Answers the attention check that is open. Idempotent."""

    async def work(session: Session) -> Me:
        standing = await standings.sign_in(session, token, lock=True)
        await attention.pass_check(session, standing, context.clock.now(), cause="request")
        return await _me(session, context, await standings.sign_in(session, token, lock=False))

    return await context.database.transact(work)


@router.post("/me/help", status_code=204, summary="Ask the experimenter for help")
async def ask_for_help(body: HelpRequest, context: InContext, token: MemberToken, once: InOnce) -> None:
    """Each request is an alert of its own, but the same one again under an `Idempotency-Key`."""

    async def work(session: Session) -> Nothing:
        standing = await standings.sign_in(session, token, lock=True)
        await notices.ask_for_help(session, standing, body.text, context.clock.now())
        return Nothing()

    async def sign_in(session: Session) -> object:
        return await standings.sign_in(session, token, lock=False)

    await once.transact(Nothing, work, sign_in=sign_in)


@router.post("/me/notices/{notice_id}/read", status_code=204, summary="Have read what the lab said")
async def read_notice(notice_id: UUID, context: InContext, token: MemberToken) -> None:
    """Idempotent."""

    async def work(session: Session) -> None:
        person = await reads.bearer(session, hash_token(token))
        await notices.read_notice(session, notice_id, person.member_id, context.clock.now())

    await context.database.transact(work)


@router.post("/me/transfer", summary="Answer the offer of a move to another group")
async def answer_offer(body: TransferAnswer, context: InContext, token: MemberToken) -> Me:
    """A participant who accepts is in the other group at once, on the same stage: follow a new stream from its
    `cursor`."""

    async def work(session: Session) -> Me:
        now = context.clock.now()
        person = await reads.bearer(session, hash_token(token))
        if body.accept:
            await transferring.accept(session, person.member_id, now, cause="request")
        else:
            standing = await standings.sign_in(session, token, lock=True)
            await transferring.decline(session, standing, now, cause="request")
        standing = await standings.sign_in(session, token, lock=False)
        return await _me(session, context, standing)

    return await context.database.transact(work)


@router.post("/me/leave", summary="Leave the experiment for good")
async def leave(context: InContext, token: MemberToken) -> Me:
    """Idempotent."""

    async def work(session: Session) -> Me:
        standing = await standings.sign_in(session, token, lock=True)
        await advancing.end_member(session, standing, "left", "left", context.clock.now(), cause="request")
        return await _me(session, context, await standings.sign_in(session, token, lock=False))

    return await context.database.transact(work)
