"""Making groups of people who wait in rooms, whatever has changed there: who has come, is back, or waits too long."""

from functools import partial
from uuid import UUID

from parley_lab.base.clock import Clock
from parley_lab.base.logs import new_correlation
from parley_lab.members.guarding import Guard
from parley_lab.people import meeting, rooms
from parley_lab.store.session import Database


async def make_groups(database: Database, clock: Clock, guard: Guard | None = None) -> int:
    """Make all groups that can be made now, each in a transaction of its own; how many groups and releases that were.

    Level-triggered: it reads who waits and who is there. A room in which another process is at work is left to it.
    """
    guard = guard or Guard(database)
    now = clock.now()
    async with database.read() as session:
        room_of = {one.member_id: one.room_id for one in await rooms.people_who_come_anew(session)}

    async def come_anew(member_id: UUID) -> None:
        come = partial(meeting.come_anew, room_id=room_of[member_id], member_id=member_id, now=clock.now())
        await database.transact(come)

    await guard.each("member", room_of, come_anew, now)
    async with database.read() as session:
        found = await rooms.with_people(session)

    async def look(room_id: UUID) -> int:
        new_correlation()
        done = 0
        while await database.transact(partial(meeting.meet, room_id=room_id, now=clock.now())):
            done += 1
        return done

    return sum(await guard.each("room", found, look, now))
