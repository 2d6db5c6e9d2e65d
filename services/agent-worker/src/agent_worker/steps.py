"""The next step of a participant who is no person: answer what the stage asks, take part, or move on.

`take_step` is level-triggered: every update of an agent's profile, creation included, every opened ask and every unlock
lead to it; it reads the present state and does what is due. Doing nothing is normal.
"""

from datetime import datetime
from uuid import UUID

from shared import seeds
from shared.acts.advancing import mark_stepped, move_on, write_page
from shared.acts.asking import open_asks
from shared.acts.conversation import advance_thread
from shared.acts.page_times import READING, still_reads
from shared.contracts.experiment import StageConfig
from shared.conversation import page_seconds, view_of
from shared.db.session import Session
from shared.db.standings import Standing, lock_standing, standing_of
from shared.stage import PAGE, OwnView
from shared.stages import kind_of
from shared.views import own_view

CAUSE = "agent-worker"


async def take_step(session: Session, member_id: UUID, now: datetime) -> None:
    """Do what is due for this member, through as many stages as need nothing from a model.

    Harmless for people, for members who have left, twice, at once and in any order: it holds the member's lock.
    """
    await walk_on(session, await lock_standing(session, member_id), now)


async def walk_on(session: Session, standing: Standing, now: datetime) -> None:
    """`take_step` for a caller that holds the member's lock and has just read where the member stands.

    While the experiment is paused nobody takes a step; it is due as long as it was not taken, and resuming wakes all.
    """
    member_id = standing.member.id
    if standing.is_paused:
        return
    has_moved = False
    while _may_act(standing) and await _act(session, standing, now):
        standing, has_moved = await standing_of(session, member_id), True
    if has_moved or standing.stepped_version < standing.version:
        await mark_stepped(session, member_id)


def _may_act(standing: Standing) -> bool:
    member = standing.member
    return (
        member.player != "person"
        and member.kind == "participant"
        and standing.is_in_progress
        and standing.stage is not None
        and not standing.is_locked
    )


async def _act(session: Session, standing: Standing, now: datetime) -> bool:
    """One step; True when the member has moved and may have more to do.

    Asks that are the cohort's business are opened by whoever settles it. A script passes through stages that play no
    scripts.
    """
    stage = standing.stage
    assert stage is not None
    kind = kind_of(stage)
    view = standing.view(stage, now)
    wanted = [] if kind.has_shared_asks or standing.member.player == "script" else kind.next_asks(stage, view)
    if wanted:
        await open_asks(session, standing, wanted, now)
        return False
    if await _still_reads(session, standing, stage, view, now):
        return False
    standing = await _with_page(session, standing, stage, now)
    if standing.member.player == "agent" or kind.has_shared_asks:
        view = await _take_part(session, standing, stage, standing.view(stage, now), now)
        if kind.blocked_by(stage, view):
            return False
    return await move_on(session, standing, now, cause=CAUSE)


async def _still_reads(session: Session, standing: Standing, stage: StageConfig, view: OwnView, now: datetime) -> bool:
    """Whether an agent takes its time to read a page on which nothing is asked of it."""
    kind = kind_of(stage)
    is_asked = kind.thread is not None or kind.has_shared_asks or bool(view.own)
    if standing.pace != "live" or standing.member.player != "agent" or is_asked:
        return False
    rng = seeds.rng(standing.seed, f"{standing.member.path}/{stage.id}/{READING}")
    seconds = page_seconds(kind.to_read(stage, view), "", standing.pages, rng)
    return seconds > 0 and await still_reads(session, standing, stage.id, taken_seconds=seconds, now=now)


async def _with_page(session: Session, standing: Standing, stage: StageConfig, now: datetime) -> Standing:
    """Write the page that the member's entries come to, when there is one and it is not written yet."""
    if PAGE in standing.facts.own(stage.id, standing.member.id):
        return standing
    page = kind_of(stage).page_answer(stage, standing.view(stage, now))
    if page is None:
        return standing
    await write_page(session, standing, page, now)
    return standing.with_answer(stage.id, PAGE, page)


async def _take_part(session: Session, standing: Standing, stage: StageConfig, view: OwnView, now: datetime) -> OwnView:
    """Enter the stage's conversation, when it has one that is open, and return the view with it."""
    conversation_id = standing.conversation_id(stage)
    if conversation_id is None:
        return view
    scene = await advance_thread(session, conversation_id, now, cause=CAUSE)
    return own_view(standing.facts, stage, standing.member.id, thread=view_of(scene))
