"""What participants do: join, see where they are, answer and go on, talk, follow, leave."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from fastapi import APIRouter

from parley_lab.answers import advancing, answering, asking, filling_in, going_on
from parley_lab.answers.advancing import is_quiet
from parley_lab.answers.asking import FoundAsk
from parley_lab.answers.going_on import go_on_quietly
from parley_lab.answers.staying import require_long_enough
from parley_lab.base.errors import Conflict, InvalidInput, NotFound, Paused, Problem
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.contracts import lives
from parley_lab.contracts.experiment import Profile, Slug, StageConfig
from parley_lab.gateway import pages
from parley_lab.gateway.context import ApiKey, Context, InContext, MemberToken, ReaderToken, reader_of
from parley_lab.gateway.once import InOnce, by_key, by_token
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.appearance import AppearanceResource, shown_appearance
from parley_lab.gateway.resources.events import Nothing
from parley_lab.gateway.resources.participants import (
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
from parley_lab.gateway.routes.experiments import owned
from parley_lab.kinds import PAGE, Blocked, Done, Json, Questions
from parley_lab.kinds.parts import NotTaken
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.members import standings
from parley_lab.members.moved import after_going_on
from parley_lab.members.standing import Standing
from parley_lab.members.standings import hash_token
from parley_lab.members.stays import StayTimes, stay_times
from parley_lab.people import attention, confirming, giving_back, joining, notices, transferring
from parley_lab.people.shells import appearance_of, shell_of, shows_others
from parley_lab.store.session import ReadSession, Session
from parley_lab.talk import pages as reads

router = APIRouter(prefix="/v1", tags=["participants"], route_class=Route)


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
            parameters=wanted.parameters,
            old_token=wanted.token,
        )
        return await joined(session, context, member_id, token)

    return await once.transact(Joined, work, sign_in=by_key(context, key))


async def joined(session: Session, context: Context, member_id: UUID, token: str) -> Joined:
    """The answer to a person who has just joined, which is a sign of life."""
    context.presence.has_asked(hash_token(token))
    standing = await standings.sign_in(session, token, lock=False)
    return Joined(member_id=member_id, token=token, me=await _me(session, context, standing))


@router.get("/me", summary="Everything that the shell of the page shows")
async def who_am_i(context: InContext, token: ReaderToken) -> Me:
    """The time for an attention check begins with the first answer that has it."""
    reader = await reader_of(context, token)
    found = await _shell(context, reader.key)
    is_of_page = reader.until is None and found.check is not None and found.check.due_at is None
    if is_of_page and await _begin_deadline(context, found.member_id):
        return await _shell(context, reader.key)
    return found


async def _shell(context: Context, key: UUID | str) -> Me:
    async with context.database.read() as session:
        return await _me(session, context, await standings.seen_by(session, key))


async def _begin_deadline(context: Context, member_id: UUID) -> bool:
    return await context.database.transact(
        lambda session: attention.begin_deadline(session, member_id, context.clock.now())
    )


async def _me(session: ReadSession, context: Context, standing: Standing) -> Me:
    if standing.stage is not None and (standing.asks or shows_others(standing)):
        # The form of an ask may name those who are there.
        standing = await reads.with_company(session, standing, standing.stage)
    now = context.clock.now()
    return pages.me(standing, await shell_of(session, standing, now), now)


@router.get("/me/appearance", summary="How the pages of the experiment look")
async def appearance(context: InContext, token: ReaderToken) -> AppearanceResource:
    """It stays the same for as long as the experiment runs."""
    reader = await reader_of(context, token)
    async with context.database.read() as session:
        whose = await reads.bearer(session, reader.key)
        return shown_appearance(await appearance_of(session, whose.experiment_id))


@router.get("/me/stages/{stage_id}", summary="Everything that one stage shows")
async def stage(stage_id: Slug, context: InContext, token: ReaderToken) -> StagePage:
    reader = await reader_of(context, token)
    async with context.database.read() as session:
        standing = await standings.seen_by(session, reader.key)
        if reader.until is not None:
            # What is being typed belongs to the participant until it is sent.
            standing = replace(standing, begun={})
        index = _index(standing, stage_id)
        if index > standing.position:
            raise Conflict("You have not come to this stage yet.", reason="stage_not_reached")
        looked_at = standing.design.stage(stage_id)
        if index < standing.position:
            pages.require_look_back(looked_at)
        standing = await standings.looking_at(session, standing, looked_at)
        standing = await reads.with_company(session, standing, looked_at)
        stay = await _stay(session, standing, looked_at)
    return pages.stage_page(standing, looked_at, stay, context.clock.now())


@router.post("/me/stages/{stage_id}/advance", summary="Answer and go on, in one request")
async def advance(stage_id: Slug, context: InContext, token: MemberToken, body: AdvanceRequest | None = None) -> Page:
    """The answer is the page where the participant is afterwards; its `cursor` comes after the events that going on has
    made, unless others have made some meanwhile. Idempotent: for a stage that the participant has left, nothing is
    stored, and the answer is the page where they are."""
    request = body or AdvanceRequest()
    if request.from_stage_id not in (None, stage_id):
        problem = Problem("from_stage_id", repr(request.from_stage_id), f"{stage_id!r}, as in the path")
        raise InvalidInput("The request names two stages.", [problem])

    async def work(session: Session) -> tuple[Page, Session]:
        standing = await standings.sign_in(session, token, lock=True)
        if _index(standing, stage_id) >= standing.position:
            left = await _left(session, context, standing, stage_id, request.answer)
            left.store(session, standing)
            await going_on.go_on(session, standing, left.done, left.at, cause="request", answered=left.answered)
            standing = await after_going_on(session, left.answered, left.done)
        return await _page(session, context, standing), session

    async def quick() -> tuple[Page, Session] | None:
        return await _advanced_quietly(context, token, stage_id, request.answer)

    page, written = await context.database.transact(work, quick=quick)
    return pages.seen_with(page, written.counted)


async def _advanced_quietly(context: Context, token: str, stage_id: str, answer: Json) -> tuple[Page, Session] | None:
    """The same without a lock, where nothing but the move follows; None: it is another move, or none.

    Raises:
        StaleRead: something has happened since the participant was read.
    """
    async with context.database.autocommit() as session:
        standing = await standings.seen_by(session, hash_token(token))
        if _index(standing, stage_id) != standing.position or standing.asks or not is_quiet(standing):
            return None
        left = await _left(session, context, standing, stage_id, answer)
        if left.done.effects or left.not_taken is not None:
            return None
        await go_on_quietly(session, standing, left.page, left.at, cause="request")
        standing = await after_going_on(session, left.answered, left.done)
        return await _page(session, context, standing), session


def _index(standing: Standing, stage_id: str) -> int:
    if stage_id not in standing.stage_ids:
        raise NotFound(f"There is no stage {stage_id!r} here.")
    return standing.stage_ids.index(stage_id)


@dataclass(frozen=True, slots=True)
class _Left:
    """How a participant leaves a stage: with this page, after which they are `answered`, and what follows.

    `not_taken`: what is left of their answer, where the time for it was up.
    """

    page: Json
    answered: Standing
    done: Done
    at: datetime
    not_taken: NotTaken | None = None

    def store(self, session: Session, standing: Standing) -> None:
        """Store the page, and beside it what is left of the answer. The caller holds the member's lock."""
        missing = {} if self.not_taken is None else self.not_taken.missing
        answering.write_page(session, standing, self.page, self.at, missing=missing)
        if self.not_taken is not None and self.not_taken.rest:
            filling_in.keep_timed_out(session, standing, self.not_taken.rest, self.at)


async def _left(session: ReadSession, context: Context, standing: Standing, stage_id: str, answer: Json) -> _Left:
    """Raises:
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
    page = pages.page_answer(current, view, answer)
    answered = standing.with_answer(current.id, PAGE, page)
    if pages.takes_answer(current, view):
        view = answered.view(current, now)
    completion = kind_of(current).completion(current, view)
    if isinstance(completion, Blocked):
        reasons = [one.model_dump() for one in pages.reasons_of(completion.reasons)]
        raise Conflict(" ".join(completion.reasons), reason="blocked", params={"reasons": reasons})
    # An answer that was stored before stays.
    is_stored = PAGE in standing.facts.own(current.id, standing.member.id)
    left = None if is_stored else pages.not_taken(current, standing.view(current, now), answer, page)
    return _Left(page, standing if is_stored else answered, completion, now, left)


async def _page(session: ReadSession, context: Context, standing: Standing) -> Page:
    if standing.stage is not None:
        standing = await reads.with_company(session, standing, standing.stage)
    stay = None if standing.stage is None else await _stay(session, standing, standing.stage)
    now = context.clock.now()
    return pages.page(standing, stay, await shell_of(session, standing, now), now)


async def _stay(session: ReadSession, standing: Standing, stage: StageConfig) -> StayTimes | None:
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


@router.post("/me/confirm", summary="Say that one is there for a group")
async def confirm(context: InContext, token: MemberToken) -> Me:
    """Answers `waiting.confirm_until` of `GET /v1/me`; a participant who was passed over is there again. Idempotent."""

    async def work(session: Session) -> Me:
        standing = await standings.sign_in(session, token, lock=True)
        await confirming.confirm(session, standing.member.id, context.clock.now())
        return await _me(session, context, standing)

    return await context.database.transact(work)


@router.post("/me/help", status_code=204, summary="Ask the experimenter for help")
async def ask_for_help(body: HelpRequest, context: InContext, token: MemberToken, once: InOnce) -> None:
    """Each request is an alert of its own, but the same one again under an `Idempotency-Key`."""

    async def work(session: Session) -> Nothing:
        standing = await standings.sign_in(session, token, lock=True)
        await notices.ask_for_help(session, standing, body.text, context.clock.now())
        return Nothing()

    await once.transact(Nothing, work, sign_in=by_token(token))


@router.post("/me/notices/{notice_id}/read", status_code=204, summary="Have read what the lab said")
async def read_notice(notice_id: UUID, context: InContext, token: MemberToken) -> None:
    """Idempotent."""

    async def work(session: Session) -> None:
        person = await reads.bearer(session, hash_token(token))
        await notices.read_notice(session, notice_id, person.member_id, context.clock.now())

    await context.database.transact(work)


@router.post("/me/transfer", summary="Answer the offer of a move to another group")
async def answer_offer(body: TransferAnswer, context: InContext, token: MemberToken, once: InOnce) -> Me:
    """A participant who accepts is in the other group at once, on the same stage: follow a new stream from its
    `cursor`. An offer is answered once, but the same answer may come again under an `Idempotency-Key`."""

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

    return await once.transact(Me, work, sign_in=by_token(token))


@router.post("/me/return", summary="Come back to a seat on which an agent plays on")
async def come_back(context: InContext, token: MemberToken) -> Me:
    """With the token from before, as long as the agent has done nothing; it holds again then. Later the answer is 409
    (`place_taken`), as for every other request with this token. Idempotent."""

    async def work(session: Session) -> Me:
        await giving_back.come_back(session, token, context.clock.now())
        return await _me(session, context, await standings.sign_in(session, token, lock=False))

    return await context.database.transact(work)


@router.post("/me/leave", summary="Leave the experiment for good")
async def leave(context: InContext, token: MemberToken) -> Me:
    """Idempotent."""

    async def work(session: Session) -> Me:
        standing = await standings.sign_in(session, token, lock=True)
        await advancing.end_member(session, standing, "left", "left", context.clock.now(), cause="request")
        return await _me(session, context, await standings.sign_in(session, token, lock=False))

    return await context.database.transact(work)
