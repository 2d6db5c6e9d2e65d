"""What becomes of a reply to an ask: checked, stored, and acted on; and of an ask that gets none."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from agent_worker.attempts import Attempt, Invalid, call_row, validated
from agent_worker.gathering import Gathering
from agent_worker.steps import CAUSE, walk_on
from shared.clock import Clock
from shared.contracts.models import ModelReply
from shared.db import asks, drafts
from shared.db.members import Standing, end_member, lock_standing, standing_of
from shared.db.session import Database, Session
from shared.errors import InvalidInput
from shared.stage import Json, StageView, UnusableReply
from shared.stages import kind_of

_MOST_AT_ONCE = 32
_CUT_OFF = "length"
"""How providers say that a reply has all the tokens that it may have, and no end."""

Reply = tuple[drafts.Lease, Attempt]
Answered = tuple[drafts.Lease, Json]


class Answering:
    """Stores the answers of agents for one process.

    Answers of one member that come at the same time are stored together: each needs the member's lock, and a connection
    that waits for it is one that nobody else can use.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._gathering = Gathering[UUID, Reply, None](self._store, most=_MOST_AT_ONCE)

    async def store(self, lease: drafts.Lease, attempt: Attempt) -> None:
        """Check the answer, store it, close the ask and let the member act on it, all in one transaction.

        An answer to a shared ask that comes with its view does not wait for the member's row to be read once more.

        Raises:
            Invalid: it is no answer; nothing is stored.
        """
        if attempt.view is None or not await self._store_at_once(lease, attempt, attempt.view):
            await self._gathering.do(lease.member_id, (lease, attempt))

    async def look(self, lease: drafts.Lease) -> StageView:
        """What an answer to this ask is checked against, as things stand now."""
        async with self._database.looking() as session:
            standing = await standing_of(session, lease.member_id)
        return standing.view(lease.stage, self._clock.now())

    async def _store_at_once(self, lease: drafts.Lease, attempt: Attempt, view: StageView) -> bool:
        """What follows from an answer to a shared ask is the cohort's business: storing it is one statement.

        False when it was not stored: the other way finds out why.
        """
        read, value = _read(lease, attempt, view)
        async with self._database.deciding() as session:
            call, now = call_row(lease, read), self._clock.now()
            return await asks.answer_shared_ask(session, lease, call, value, now, cause=CAUSE)

    async def _store(self, replies: Sequence[Reply]) -> list[Exception | None]:
        """The answers of one member."""
        now = self._clock.now()
        results: list[Exception | None] = []
        usable: list[tuple[drafts.Lease, Attempt, Json]] = []
        async with self._database.transaction() as session:
            standing = await lock_standing(session, replies[0][0].member_id)
            for lease, attempt in replies:
                problem = None
                if is_there(standing, lease):
                    try:
                        usable.append((lease, *_read(lease, attempt, standing.view(lease.stage, now))))
                    except Invalid as invalid:
                        problem = invalid
                else:
                    await drafts.save_call(session, call_row(lease, attempt))
                    await drafts.close(session, lease, "cancelled", "the member had left the stage", now)
                results.append(problem)
            rows = [(lease, call_row(lease, attempt), value) for lease, attempt, value in usable]
            stored = await asks.answer_by_replies(session, rows, now)
            await act_on(
                session, standing, [(lease, value) for lease, _, value in rows if lease.draft_id in stored], now
            )
        return results


def is_there(standing: Standing, lease: drafts.Lease) -> bool:
    """Whether the member can still answer: a mediator for as long as the cohort goes on, others on their stage."""
    if not standing.is_in_progress:
        return False
    return lease.member_kind == "mediator" or (standing.stage is not None and standing.stage.id == lease.stage.id)


async def act_on(session: Session, standing: Standing, answered: Sequence[Answered], now: datetime) -> None:
    """What follows from a member's answers: the cohort is settled, or the member goes on by itself."""
    acts = False
    for lease, value in answered:
        standing = standing.with_answer(lease.stage.id, lease.key, value)
        if kind_of(lease.stage).has_shared_asks:
            asks.record_answer(session, standing, lease.stage.id, lease.ask, value, now, cause=CAUSE)
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
    if decision in ("wait", "drop") or not is_there(standing, lease):
        await asks.close_ask(session, lease.ask_id, "failed", reason, now)
        if decision == "drop":
            await end_member(session, standing, "failed", reason, now, cause=CAUSE)
        return {}
    view = standing.view(lease.stage, now)
    if decision == "salvage":
        found = kind.salvaged(lease.stage, lease.ask, view, replies)
        if await asks.answer_in_part(session, lease.ask, lease.ask_id, found, reason, now):
            await act_on(session, standing, [(lease, found.value)], now)
        return found.missing
    value = None
    if decision == "default":
        value = kind.default_answer(lease.stage, lease.ask, view, replies[-1].raw if replies else "")
    if await asks.answer_for_want_of_one(session, lease.ask_id, value, reason, now):
        await act_on(session, standing, [(lease, value)], now)
    return {}


def _read(lease: drafts.Lease, attempt: Attempt, view: StageView) -> tuple[Attempt, Json]:
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


def _with_fields(lease: drafts.Lease, attempt: Attempt, view: StageView) -> ModelReply:
    """The reply with the fields that its text alone stands for, where the kind can tell."""
    reply = attempt.reply
    if not is_text_to_read(lease, attempt):
        return reply
    try:
        fields = kind_of(lease.stage).reply_from_text(lease.stage, lease.ask, view, reply.raw)
    except InvalidInput as error:
        raise Invalid(error.message) from error
    return reply.model_copy(update={"status": "ok", "parsed": fields, "error": None})


def _answer_of(lease: drafts.Lease, reply: ModelReply, view: StageView) -> Json:
    kind = kind_of(lease.stage)
    reply_model = kind.reply_model(lease.stage, lease.ask, view)
    if reply_model is None:
        raise Invalid("nothing was asked")
    answer = kind.answer_from_reply(lease.stage, lease.ask, validated(reply_model, reply))
    try:
        return kind.check_answer(lease.stage, lease.ask, answer, view)
    except InvalidInput as error:
        raise Invalid("; ".join(map(str, error.problems)) or error.message) from error
