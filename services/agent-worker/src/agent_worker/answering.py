"""What becomes of a reply to an ask: checked, stored, and acted on; and of an ask that gets none."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from agent_worker.attempts import Attempt, Invalid, call_row, validated
from agent_worker.steps import CAUSE, walk_on
from shared import seeds
from shared.acts import answering, asking, drafts, page_times
from shared.acts.advancing import end_member
from shared.clock import Clock
from shared.contracts.experiment import StageConfig
from shared.contracts.models import ModelReply
from shared.conversation import page_seconds
from shared.db.gathering import Gathering
from shared.db.session import Database, Session
from shared.db.standings import Standing, lock_standing, standing_of
from shared.errors import InvalidInput, NotFound
from shared.stage import Ask, Json, OwnView, UnusableReply
from shared.stages import kind_of

TIMER_MARGIN_SECONDS = 0.01
"""A look that is a moment too early finds nothing to do, and the next one may be the watchdog's."""
_MOST_AT_ONCE = 32
_GONE = "the member had left the stage"
_CUT_OFF = "length"
"""How providers say that a reply has all the tokens that it may have, and no end."""

Reply = tuple[drafts.Lease, Attempt]
Answered = tuple[StageConfig, Ask, Json]
Later = Callable[[float, Callable[[], Awaitable[None]]], None]
"""Runs something after so many seconds; what is scheduled may be lost with the process, rows are not."""


class Answering:
    """Stores the answers of agents for one process.

    Answers of one member that come at the same time are stored together: each needs the member's lock, and a connection
    that waits for it is one that nobody else can use.
    """

    def __init__(self, database: Database, clock: Clock, later: Later) -> None:
        self._database = database
        self._clock = clock
        self._later = later
        self._gathering = Gathering[UUID, Reply, None](self._store, most=_MOST_AT_ONCE)

    async def store(self, lease: drafts.Lease, attempt: Attempt) -> None:
        """Check the answer, store it, close the ask and let the member act on it, all in one transaction.

        An answer to a shared ask that comes with its view does not wait for the member's row to be read once more.
        In pace `live` an answer is checked and kept until a person would have given it (`give_due`).

        Raises:
            Invalid: it is no answer; nothing is stored.
        """
        takes_time = lease.pace == "live" and lease.agent.pages.take_time
        if takes_time or attempt.view is None or not await self._store_at_once(lease, attempt, attempt.view):
            await self._gathering.do(lease.member_id, (lease, attempt))

    async def look(self, lease: drafts.Lease) -> OwnView:
        """What an answer to this ask is checked against, as things stand now."""
        async with self._database.looking() as session:
            standing = await standing_of(session, lease.member_id)
        return standing.view(lease.stage, self._clock.now())

    async def _store_at_once(self, lease: drafts.Lease, attempt: Attempt, view: OwnView) -> bool:
        """What follows from an answer to a shared ask is the cohort's business: storing it is one statement.

        False when it was not stored: the other way finds out why.
        """
        read, value = _read(lease, attempt, view)
        async with self._database.deciding() as session:
            call, now = call_row(lease, read), self._clock.now()
            return await answering.answer_shared_ask(session, lease, call, value, now, cause=CAUSE)

    async def _store(self, replies: Sequence[Reply]) -> list[Exception | None]:
        """The answers of one member."""
        now = self._clock.now()
        results: list[Exception | None] = []
        at_once: list[tuple[drafts.Lease, Mapping[str, Any], Json]] = []
        member_id = replies[0][0].member_id
        async with self._database.transaction() as session:
            standing = await lock_standing(session, member_id)
            for lease, attempt in replies:
                try:
                    at_once += await _kept_or_given(session, standing, lease, attempt, now)
                except Invalid as invalid:
                    results.append(invalid)
                else:
                    results.append(None)
            stored = await answering.answer_by_replies(session, at_once, now)
            answered = [(lease.stage, lease.ask, value) for lease, _, value in at_once if lease.draft_id in stored]
            await act_on(session, standing, answered, now)
            due_at = await page_times.next_due(session, member_id) if len(at_once) < len(replies) else None
        self._give_later(member_id, due_at)
        return results

    def _give_later(self, member_id: UUID, due_at: datetime | None) -> None:
        if due_at is not None:
            seconds = max(0.0, (due_at - self._clock.now()).total_seconds()) + TIMER_MARGIN_SECONDS
            self._later(seconds, partial(self.give_due, member_id))

    async def give_due(self, member_id: UUID) -> None:
        """Give the answers of this member whose time has come; nothing while the experiment is paused."""
        now = self._clock.now()
        with suppress(NotFound):
            async with self._database.transaction() as session:
                standing = await lock_standing(session, member_id)
                if standing.is_paused:
                    return
                for due in await page_times.due_answers(session, member_id, now):
                    standing = await _give(session, standing, due, now)
                due_at = await page_times.next_due(session, member_id)
            self._give_later(member_id, due_at)


def is_there(standing: Standing, stage_id: str) -> bool:
    """Whether the member can still answer: a mediator for as long as the cohort goes on, others on their stage."""
    if not standing.is_in_progress:
        return False
    return standing.member.kind == "mediator" or (standing.stage is not None and standing.stage.id == stage_id)


async def _kept_or_given(
    session: Session, standing: Standing, lease: drafts.Lease, attempt: Attempt, now: datetime
) -> list[tuple[drafts.Lease, Mapping[str, Any], Json]]:
    """The answer with its call when it is to be stored at once; nothing when it was kept, or comes too late.

    Raises:
        Invalid: it is no answer; nothing is stored.
    """
    if not is_there(standing, lease.stage.id):
        await drafts.save_call(session, call_row(lease, attempt))
        await drafts.close(session, lease, "cancelled", _GONE, now)
        return []
    view = standing.view(lease.stage, now)
    read, value = _read(lease, attempt, view)
    call, seconds = call_row(lease, read), _seconds_taken(lease, view, value)
    if seconds == 0:
        return [(lease, call, value)]
    await page_times.save_answer(session, lease, call, value, taken_seconds=seconds, now=now)
    return []


async def _give(session: Session, standing: Standing, due: page_times.DueAnswer, now: datetime) -> Standing:
    """Store one answer that was kept, and let the member act on it; where the member stands then."""
    if not is_there(standing, due.stage_id) or not await answering.answer(session, due.ask_id, due.value, now):
        await page_times.close_kept(session, due.draft_id, "cancelled", _GONE, now)
        return standing
    await page_times.close_kept(session, due.draft_id, "answered", None, now)
    await act_on(session, standing, [(standing.design.stage(due.stage_id), due.ask, due.value)], now)
    return await standing_of(session, standing.member.id)


def _seconds_taken(lease: drafts.Lease, view: OwnView, value: Json) -> float:
    """How long a person in this agent's place takes for the answer, as far as the pace has it waited for."""
    if lease.pace != "live":
        return 0.0
    kind = kind_of(lease.stage)
    shown, written = kind.to_read(lease.stage, view, lease.ask), kind.to_write(lease.stage, lease.ask, value)
    return page_seconds(shown, written, lease.agent.pages, seeds.rng(lease.seed, f"{lease.path}/pace"))


async def act_on(session: Session, standing: Standing, answered: Sequence[Answered], now: datetime) -> None:
    """What follows from a member's answers: the cohort is settled, or the member goes on by itself."""
    acts = False
    for stage, ask, value in answered:
        standing = standing.with_answer(stage.id, ask.key, value)
        if kind_of(stage).has_shared_asks:
            answering.record_answer(session, standing, stage.id, ask, value, now, cause=CAUSE)
        else:
            acts = True
    if acts:
        await walk_on(session, standing, now)


async def do_without(
    session: Session,
    standing: Standing,
    lease: drafts.Lease,
    reason: str,
    replies: Sequence[UnusableReply],
    now: datetime,
) -> Mapping[str, str]:
    """There will be no answer as it should be: the kind decides what becomes of the ask and of the member.

    replies: what came and cannot be used. Returns what is missing in the answer that is stored, and why.
    """
    assert lease.ask_id is not None
    kind = kind_of(lease.stage)
    decision = kind.on_unanswered(lease.stage, lease.ask, "invalid" if replies else "failed")
    if decision in ("wait", "drop") or not is_there(standing, lease.stage.id):
        await asking.close_ask(session, lease.ask_id, "failed", reason, now)
        if decision == "drop":
            await end_member(session, standing, "failed", reason, now, cause=CAUSE)
        return {}
    view = standing.view(lease.stage, now)
    if decision == "salvage":
        found = kind.salvaged(lease.stage, lease.ask, view, replies)
        if await answering.answer_in_part(session, lease.ask, lease.ask_id, found, reason, now):
            await act_on(session, standing, [(lease.stage, lease.ask, found.value)], now)
        return found.missing
    value = None
    if decision == "default":
        value = kind.default_answer(lease.stage, lease.ask, view, replies[-1].raw if replies else "")
    if await answering.answer_for_want_of_one(session, lease.ask_id, value, reason, now):
        await act_on(session, standing, [(lease.stage, lease.ask, value)], now)
    return {}


def _read(lease: drafts.Lease, attempt: Attempt, view: OwnView) -> tuple[Attempt, Json]:
    """The attempt with the fields of its reply, and the answer that this is.

    Raises:
        Invalid: it is none.
    """
    read = replace(attempt, reply=_with_fields(lease, attempt, view))
    return read, _answer_of(lease, read.reply, view)


def is_text_to_read(lease: drafts.Lease, attempt: Attempt) -> bool:
    """Whether the model said something without the object that is wanted, and the kind can read that."""
    reply = attempt.reply
    if reply.finish_reason == _CUT_OFF or not kind_of(lease.stage).reads_texts:
        return False
    if reply.parsed is None:
        return reply.status == "invalid"
    # Where a text was asked for, an object in it may be the answer itself.
    wanted = attempt.request.reply_schema.get("required", ())
    return attempt.request.is_text and not all(name in reply.parsed for name in wanted)


def _with_fields(lease: drafts.Lease, attempt: Attempt, view: OwnView) -> ModelReply:
    """The reply with the fields that its text alone stands for, where the kind can tell."""
    reply = attempt.reply
    if not is_text_to_read(lease, attempt):
        return reply
    try:
        fields = kind_of(lease.stage).reply_from_text(lease.stage, lease.ask, view, reply.raw)
    except InvalidInput as error:
        raise Invalid(error.message) from error
    return reply.model_copy(update={"status": "ok", "parsed": fields, "error": None})


def _answer_of(lease: drafts.Lease, reply: ModelReply, view: OwnView) -> Json:
    kind = kind_of(lease.stage)
    reply_model = kind.reply_model(lease.stage, lease.ask, view)
    if reply_model is None:
        raise Invalid("nothing was asked")
    answer = kind.answer_from_reply(lease.stage, lease.ask, validated(reply_model, reply))
    try:
        return kind.check_answer(lease.stage, lease.ask, answer, view)
    except InvalidInput as error:
        raise Invalid("; ".join(map(str, error.problems)) or error.message) from error
