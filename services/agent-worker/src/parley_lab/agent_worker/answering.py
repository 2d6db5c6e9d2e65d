"""Checks a reply to an ask, stores it and acts on it; decides what happens to an ask without a usable reply."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from parley_lab.agent_worker.attempts import Attempt, Invalid, call_row, read_reply
from parley_lab.agent_worker.models.parsing import Unreadable, parse_object
from parley_lab.agent_worker.steps import CAUSE, Others, walk_on
from parley_lab.answers import answering, asking, page_times
from parley_lab.answers.advancing import end_member
from parley_lab.base import seeds
from parley_lab.base.clock import Clock
from parley_lab.base.errors import InvalidInput, NotFound
from parley_lab.base.logs import correlation
from parley_lab.base.replies import OpenThought, after_thoughts, fields_in_text
from parley_lab.base.urgency import is_urgent
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.lives import STILL_IN
from parley_lab.contracts.models import CUT_OFF, ModelReply
from parley_lab.drafts import drafts
from parley_lab.kinds import Ask, Json, OwnView, Question, UnusableReply
from parley_lab.kinds.kind import to_read
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing, lock_standings, standing_of
from parley_lab.store.batcher import Batcher
from parley_lab.store.session import Database, Session
from parley_lab.talk import page_seconds

TIMER_MARGIN_SECONDS = 0.01
"""Added to a timer, so that it does not fire a moment before the row is due; the watchdog would then be the next to
look."""
_MOST_AT_ONCE = 32
GONE: Final = "the member had left the stage"

Reply = tuple[drafts.Lease, Attempt]
Answered = tuple[StageConfig, Ask, Json]
Later = Callable[[float, Callable[[], Awaitable[None]]], None]
"""Runs something after so many seconds. A process that dies loses its schedule; the rows stay."""


class Answering:
    """Stores the answers of agents for one process.

    Simultaneous answers that follow from the same cause are stored together. Those of one member need the member's
    lock, and waiting for it would keep a database connection busy; for those of several members one transaction costs
    less than one each.
    """

    def __init__(self, database: Database, clock: Clock, later: Later) -> None:
        self._database = database
        self._clock = clock
        self._later = later
        self._batcher = Batcher[tuple[str | None, bool], Reply, bool](self._store, most=_MOST_AT_ONCE)

    async def store(self, lease: drafts.Lease, attempt: Attempt) -> None:
        """Check the answer, store it, close the ask and let the member act on it, all in one transaction.

        A shared ask that comes with its view saves a second read of the member's row. In pace `live` the answer is
        checked and kept until a person would have given it (`give_due`).

        Raises:
            Invalid: the reply is no valid answer; nothing is stored.
        """
        takes_time = lease.pace == "live" and lease.agent.pages.take_time
        if takes_time or attempt.view is None or not await self._store_at_once(lease, attempt, attempt.view):
            # All consequences of a batch carry one correlation id.
            reply = lease, attempt
            if not await self._batcher.do((correlation.get(), is_urgent()), reply):
                await self._store_alone(reply)

    async def look(self, lease: drafts.Lease) -> OwnView:
        """Read the view against which an answer to this ask is checked."""
        async with self._database.read() as session:
            standing = await standing_of(session, lease.member_id, drawn_on=(lease.stage.id,))
        return standing.view(lease.stage, self._clock.now())

    async def _store_at_once(self, lease: drafts.Lease, attempt: Attempt, view: OwnView) -> bool:
        """Store an answer to a shared ask with one statement; the cohort's settle does the rest.

        False when it was not stored: `_store` then finds out why.
        """
        read, value = _read(lease, attempt, view)
        async with self._database.autocommit() as session:
            call, now = call_row(lease, read), self._clock.now()
            return await answering.answer_shared_ask(session, lease, call, value, now, cause=CAUSE)

    async def _store_alone(self, reply: Reply) -> None:
        (result,) = await self._store([reply])
        if isinstance(result, Exception):
            raise result

    async def _store(self, replies: Sequence[Reply]) -> list[bool | Exception]:
        """Store these answers, and let each member act on theirs.

        False for each of several members whom another transaction holds: their answers are not stored.
        """
        now = self._clock.now()
        results: list[bool | Exception] = []
        at_once: list[tuple[drafts.Lease, Mapping[str, Any], Json]] = []
        due: dict[UUID, datetime | None] = {}
        members = dict.fromkeys(lease.member_id for lease, _ in replies)
        async with self._database.transaction() as session:
            found = await lock_standings(session, members, drawn_on={lease.stage.id for lease, _ in replies})
            for lease, attempt in replies:
                if lease.member_id not in found:
                    is_waited_for = len(members) == 1
                    results.append(NotFound("There is no such participant.") if is_waited_for else False)
                    continue
                try:
                    at_once += await _kept_or_given(session, found[lease.member_id], lease, attempt, now)
                except Invalid as error:
                    results.append(error)
                else:
                    results.append(True)
            stored = await answering.answer_by_replies(session, at_once, now)
            others = Others() if len(found) > 1 else None
            for member_id, standing in found.items():
                given = [(lease, value) for lease, _, value in at_once if lease.member_id == member_id]
                answered = [(lease.stage, lease.ask, value) for lease, value in given if lease.draft_id in stored]
                await act_on(session, standing, answered, now, others)
                if len(given) < sum(lease.member_id == member_id for lease, _ in replies):
                    due[member_id] = await page_times.next_due(session, member_id)
        for member_id, due_at in due.items():
            self._give_later(member_id, due_at)
        return results

    def _give_later(self, member_id: UUID, due_at: datetime | None) -> None:
        if due_at is not None:
            seconds = max(0.0, (due_at - self._clock.now()).total_seconds()) + TIMER_MARGIN_SECONDS
            self._later(seconds, partial(self.give_due, member_id))

    async def give_due(self, member_id: UUID) -> None:
        """Give the kept answers of this member that are due; none while the member is paused."""
        now = self._clock.now()

        async def give(session: Session) -> datetime | None:
            standing = await lock_standing(session, member_id)
            if standing.is_held:
                return None
            for due in await page_times.due_answers(session, member_id, now):
                standing = await _give(session, standing, due, now)
            return await page_times.next_due(session, member_id)

        with suppress(NotFound):
            self._give_later(member_id, await self._database.transact(give))


def is_there(standing: Standing, stage_id: str) -> bool:
    """Whether the member can still answer: a mediator while the cohort runs, a participant on this stage."""
    if standing.status not in STILL_IN:
        return False
    return standing.member.kind == "mediator" or (standing.stage is not None and standing.stage.id == stage_id)


async def _kept_or_given(
    session: Session, standing: Standing, lease: drafts.Lease, attempt: Attempt, now: datetime
) -> list[tuple[drafts.Lease, Mapping[str, Any], Json]]:
    """The answer with its call when it is to be stored now; None when it was kept, or comes too late.

    Raises:
        Invalid: the reply is no valid answer; nothing is stored.
    """
    if not is_there(standing, lease.stage.id):
        await drafts.save_call(session, call_row(lease, attempt))
        await drafts.close(session, lease, "cancelled", GONE, now)
        return []
    view = standing.view(lease.stage, now)
    read, value = _read(lease, attempt, view)
    call, seconds = call_row(lease, read), _seconds_taken(lease, view, value)
    if seconds == 0:
        return [(lease, call, value)]
    await page_times.save_answer(session, lease, call, value, taken_seconds=seconds, now=now)
    return []


async def _give(session: Session, standing: Standing, due: page_times.DueAnswer, now: datetime) -> Standing:
    """Store one kept answer and let the member act on it; returns where the member is then."""
    if not is_there(standing, due.stage_id) or not await answering.answer(session, due.ask_id, due.value, now):
        await page_times.close_kept(session, due.draft_id, "cancelled", GONE, now)
        return standing
    await page_times.close_kept(session, due.draft_id, "answered", None, now)
    await act_on(session, standing, [(standing.design.stage(due.stage_id), due.ask, due.value)], now)
    return await standing_of(session, standing.member.id)


def _seconds_taken(lease: drafts.Lease, view: OwnView, value: Json) -> float:
    """How long a person would take for this answer; 0 where the pace does not wait."""
    if lease.pace != "live":
        return 0.0
    shown = to_read(kind_of(lease.stage), lease.stage, view, lease.ask)
    written = _question(lease, view).written(value)
    return page_seconds(shown, written, lease.agent.pages, seeds.rng(lease.seed, f"{lease.path}/pace"))


async def act_on(
    session: Session,
    standing: Standing,
    answered: Sequence[Answered],
    now: datetime,
    others: Others | None = None,
) -> None:
    """Act on a member's answers: settle the cohort, or let the member go on; `others` as in `walk_on`."""
    acts = False
    for stage, ask, value in answered:
        standing = standing.with_answer(stage.id, ask.key, value)
        if parts_of(stage).state is not None:
            answering.record_answer(session, standing, stage.id, ask, value, now, cause=CAUSE)
        else:
            acts = True
    if acts:
        await walk_on(session, standing, now, others)


def is_asked(standing: Standing, lease: drafts.Lease, ask_id: UUID) -> bool:
    """Whether the draft's ask is still open, and its member can still answer it."""
    return is_there(standing, lease.stage.id) and any(ask.id == ask_id for ask in standing.asks)


async def do_without(
    session: Session,
    standing: Standing,
    lease: drafts.Lease,
    reason: str,
    replies: Sequence[UnusableReply],
    now: datetime,
) -> Mapping[str, str]:
    """Close an ask without a usable reply: the kind decides about the stored answer and the member.

    replies: the replies that could not be used. Returns the missing fields of the stored answer, each with the reason.
    An ask for whose key the kind has no question any more is closed, and nothing else happens; nothing at all where
    the ask was closed before.
    """
    assert lease.ask_id is not None
    question = _question_of(lease, standing.view(lease.stage, now))
    found = None if question is None else question.without_answer(replies)
    if found is None or found == "drop":
        if await asking.close_ask(session, lease.ask_id, "failed", reason, now) and found == "drop":
            await end_member(session, standing, "failed", reason, now, cause=CAUSE)
        return {}
    if await answering.answer_with_substitute(session, lease.ask, lease.ask_id, found, reason, now):
        await act_on(session, standing, [(lease.stage, lease.ask, found.value)], now)
    return found.missing or {}


def _read(lease: drafts.Lease, attempt: Attempt, view: OwnView) -> tuple[Attempt, Json]:
    """The attempt with the fields of its reply, and the answer in it.

    Raises:
        Invalid: it holds no valid answer.
    """
    return read_answer(_question(lease, view), attempt, lease.stage)


def read_answer(question: Question, attempt: Attempt, stage: StageConfig) -> tuple[Attempt, Json]:
    """The attempt with the fields of its reply, and the answer in it to a question of this stage.

    Raises:
        Invalid: it holds no valid answer.
    """
    with_fields = _with_fields(question, attempt)
    is_text = with_fields is not attempt.reply
    attempt, reply = read_reply(question.reply_model(), replace(attempt, reply=with_fields), stage)
    if is_text:
        attempt = replace(attempt, read_as=reply.model_dump(mode="json", by_alias=True))
    return attempt, _answer_of(question, reply)


def _question(lease: drafts.Lease, view: OwnView) -> Question:
    """The question that the draft answers.

    Raises:
        Invalid: the ask is no longer open.
    """
    question = _question_of(lease, view)
    if question is None:
        raise Invalid("nothing was asked")
    return question


def _question_of(lease: drafts.Lease, view: OwnView) -> Question | None:
    questions = parts_of(lease.stage).questions
    return None if questions is None else questions.question(view, lease.ask)


def is_text_to_read(lease: drafts.Lease, attempt: Attempt) -> bool:
    """Whether the model replied with text in place of the object that the question wants; the question may read
    text."""
    return lease.ask_id is not None and _is_text(attempt)


def _is_text(attempt: Attempt) -> bool:
    reply = attempt.reply
    if reply.finish_reason == CUT_OFF:
        return False
    if reply.parsed is None:
        return reply.status == "invalid" and bool(reply.words.strip())
    # If a text is wanted, an object in it may be the answer itself.
    wanted = attempt.request.reply_schema.get("required", ())
    return attempt.request.is_text and not all(name in reply.parsed for name in wanted)


def _with_fields(question: Question, attempt: Attempt) -> ModelReply:
    """The reply with the fields that the question reads from its text, where it reads texts."""
    reply = attempt.reply
    if not _is_text(attempt):
        return reply
    try:
        if not attempt.request.is_text:
            # Text around objects that may be read in two ways is no answer either.
            parse_object(reply.words, attempt.request.reply_schema.get("required", ()))
        text = after_thoughts(reply.words)
        fields = question.read_text(text)
    except InvalidInput as error:
        raise Invalid(error.message) from error
    except (OpenThought, Unreadable) as error:
        raise Invalid(str(error)) from error
    fields = fields_in_text(question.reply_model(), text) if fields is None else fields
    if fields is None:
        raise Invalid(reply.error or "the reply is not a JSON object")
    return reply.model_copy(update={"status": "ok", "parsed": fields, "error": None})


def _answer_of(question: Question, reply: BaseModel) -> Json:
    answer = question.answer_from_reply(reply)
    try:
        return question.check(answer)
    except InvalidInput as error:
        raise Invalid("; ".join(one.describe_to_model() for one in error.problems) or error.message) from error
