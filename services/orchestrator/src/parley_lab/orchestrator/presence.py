"""Finding people who are gone, and doing what their stage says of that."""

from datetime import datetime
from functools import partial

from parley_lab.members.guarding import Guard
from parley_lab.people import presence
from parley_lab.store.session import Database


async def look_for_gone(database: Database, now: datetime, guard: Guard | None = None) -> int:
    """Note who is gone, and apply the rules of those whose time is over, each in a transaction of its own.

    Returns for how many something was done about their place.
    """
    guard = guard or Guard(database)
    async with database.read() as session:
        missing = await presence.missing(session, now)
    await guard.each(
        "member", missing, lambda one: database.transact(partial(presence.mark_gone, member_id=one, now=now)), now
    )
    async with database.read() as session:
        due = await presence.due(session, now)
    return sum(
        await guard.each(
            "member", due, lambda one: database.transact(partial(presence.apply_rule, member_id=one, now=now)), now
        )
    )
