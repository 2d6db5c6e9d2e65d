"""Finding people who are gone, and doing what their stage says of that."""

from datetime import datetime
from functools import partial

from shared.acts import presence
from shared.db.session import Database


async def look_for_gone(database: Database, now: datetime) -> int:
    """Note who is gone, and apply the rules of those whose time is over, each in a transaction of its own.

    Returns for how many something was done about their place.
    """
    async with database.read() as session:
        missing = await presence.missing(session, now)
    for member_id in missing:
        await database.transact(partial(presence.mark_gone, member_id=member_id, now=now))
    async with database.read() as session:
        gone = await presence.gone(session)
    done = 0
    for member_id in gone:
        done += await database.transact(partial(presence.apply_rule, member_id=member_id, now=now))
    return done
