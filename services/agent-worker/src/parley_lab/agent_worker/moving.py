"""Takes the reply of a model whose agent is offered a move to another group."""

from datetime import datetime
from uuid import UUID

from parley_lab.agent_worker.attempts import Attempt, call_row, read_reply
from parley_lab.agent_worker.steps import CAUSE
from parley_lab.answers import asking
from parley_lab.contracts.transfers import TransferReply
from parley_lab.drafts import drafts
from parley_lab.people import transferring
from parley_lab.store.session import Database, Session


async def decide(database: Database, lease: drafts.Lease, attempt: Attempt, now: datetime) -> None:
    """Record the call, and do as the model has decided, in one transaction; in a pause the draft is given back.

    Raises:
        Invalid: the reply is no decision; nothing is stored.
    """
    attempt, reply = read_reply(TransferReply, attempt, lease.stage)

    async def work(session: Session) -> None:
        await drafts.save_call(session, call_row(lease, attempt))
        if await _gave_back(session, lease, now, free_calls=1):
            return
        if await drafts.close(session, lease, "answered", None, now):
            await asking.close_ask(session, _ask_of(lease), "answered", None, now)
            await transferring.decide(session, lease.member_id, now, accepts=reply.accept, cause=CAUSE)

    await database.transact(work)


async def accept_undecided(
    database: Database, lease: drafts.Lease, last: Attempt | None, state: str, reason: str, now: datetime
) -> None:
    """A model that gives no usable reply accepts, as an agent does that is not asked."""

    async def work(session: Session) -> None:
        if last is not None:
            await drafts.save_call(session, call_row(lease, last))
        if await _gave_back(session, lease, now, free_calls=0 if last is None else 1):
            return
        if await drafts.close(session, lease, state, reason, now):
            await asking.close_ask(session, _ask_of(lease), "failed", reason, now)
            await transferring.decide(session, lease.member_id, now, accepts=True, cause=CAUSE)

    await database.transact(work)


async def _gave_back(session: Session, lease: drafts.Lease, now: datetime, *, free_calls: int) -> bool:
    """Put the draft back where the experiment is paused: the model is asked once more after the pause."""
    if not await transferring.must_wait(session, lease.member_id):
        return False
    await drafts.give_back(session, lease, now, "paused", counts=False, free_calls=free_calls)
    return True


def _ask_of(lease: drafts.Lease) -> UUID:
    assert lease.ask_id is not None  # a move is asked about by an ask
    return lease.ask_id
