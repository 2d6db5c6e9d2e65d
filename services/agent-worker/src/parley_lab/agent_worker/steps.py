"""The next step of an agent or a script: answer what the stage asks, take part, or move on.

`take_step` is level-triggered. Every update of an agent's profile, creation included, every opened ask and every unlock
lead to it; it reads the present state and does what is due. Usually that is nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from parley_lab.answers.advancing import end_member, mark_stepped, wake_agents
from parley_lab.answers.answering import write_page
from parley_lab.answers.asking import open_asks
from parley_lab.answers.going_on import go_on
from parley_lab.answers.page_times import READING, still_reads
from parley_lab.base import seeds
from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import PAGE, Blocked, Done, End, OwnView
from parley_lab.kinds.kind import to_read
from parley_lab.kinds.parts import lets_scripts_pass
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.members.alerts import raise_alert_about
from parley_lab.members.guarding import WORK_FAILED
from parley_lab.members.moved import after_step
from parley_lab.members.standing import Standing
from parley_lab.members.standings import Ahead, lock_standing, lock_standings, standing_of
from parley_lab.people.attention import pass_check
from parley_lab.store.session import Session
from parley_lab.talk import page_seconds, view_of
from parley_lab.talk.conversation import advance_thread
from parley_lab.views.builder import own_view, scripted_page

CAUSE = "agent-worker"


async def take_step(session: Session, member_id: UUID, now: datetime) -> bool:
    """Do what is due for this member, through as many stages as need no model.

    True when a move to another cohort is offered to an agent: that is to be answered next.

    Does nothing for people and for members who have left. Idempotent, and safe in parallel and in any order: it holds
    the member's lock.
    """
    standing = await lock_standing(session, member_id, drawn_on=())
    await walk_on(session, standing, now)
    return standing.status == "transfer_pending" and standing.member.player != "person"


async def take_steps(session: Session, member_ids: Collection[UUID], now: datetime) -> Collection[UUID]:
    """`take_step` for several members in one transaction; returns those who must take theirs each in its own.

    They are in a conversation, whose lock is held as short as possible, an offer or a check waits for them, or another
    transaction holds them.
    """
    others, found = Others(), await lock_standings(session, member_ids, drawn_on=())
    alone = [one for one in member_ids if one not in found]
    for member_id, standing in found.items():
        if (_may_act(standing) and _talks(standing)) or standing.status in ("transfer_pending", "attention_check"):
            alone.append(member_id)
        else:
            await walk_on(session, standing, now, others)
    return alone


@dataclass(frozen=True)
class Others:
    """That the transaction holds several members, and what was read for one of them and serves all."""

    ahead: Ahead = field(default_factory=dict)


async def walk_on(session: Session, standing: Standing, now: datetime, others: Others | None = None) -> None:
    """`take_step` for a caller that holds the member's lock and has just read the member's position.

    A paused member, or one in a paused experiment, takes no step; resuming wakes the member. Where the transaction
    holds `others`, too, it leaves a step into a conversation to another one, for which it wakes the
    member.
    """
    member_id = standing.member.id
    if standing.is_held or standing.status == "transfer_pending":
        # An offer is answered by itself, with locks of its own.
        return
    if standing.status == "attention_check" and standing.member.player != "person":
        # It needs no model.
        await pass_check(session, standing, now, cause=CAUSE)
        standing = await standing_of(session, member_id, drawn_on=())
    while _may_act(standing):
        if others is not None and _talks(standing):
            # Else a change of its profile since the move would count as a step that is still to come.
            mark_stepped(session, member_id)
            await wake_agents(session, [member_id])
            return
        if (moved := await _act(session, standing, now, {} if others is None else others.ahead)) is None:
            break
        standing = moved
    if standing.stepped_version < standing.version:
        mark_stepped(session, member_id)


def _may_act(standing: Standing) -> bool:
    member = standing.member
    return (
        member.player != "person"
        and member.kind == "participant"
        and standing.is_in_progress
        and standing.stage is not None
        and not standing.is_locked
    )


def _talks(standing: Standing) -> bool:
    """Whether the member is on a stage with conversations."""
    return standing.stage is not None and parts_of(standing.stage).has_thread


async def _act(session: Session, standing: Standing, now: datetime, ahead: Ahead) -> Standing | None:
    """Take one step; the standing after it when the member has moved and may have more to do, else None.

    Settle opens shared asks. A script passes through stages that have no scripts for what they ask.
    """
    stage = standing.stage
    assert stage is not None
    parts = parts_of(stage)
    view = standing.view(stage, now)
    is_asked_here = parts.state is None and standing.member.player != "script"
    wanted = parts.questions.due(view) if parts.questions is not None and is_asked_here else []
    if wanted:
        open_asks(session, standing, wanted, now)
        return None
    if await _still_reads(session, standing, stage, view, now):
        return None
    standing = await _with_scripted(session, standing, stage, now)
    try:
        standing = await _with_page(session, standing, stage, now)
    except InvalidInput as error:
        await _end_without_page(session, standing, stage, error, now)
        return None
    view = standing.view(stage, now)
    may_stay = standing.member.player == "agent" or not lets_scripts_pass(parts)
    if may_stay:
        view = await _take_part(session, standing, stage, view, now)
    completion = kind_of(stage).completion(stage, view)
    if isinstance(completion, Blocked) and may_stay:
        return None
    done = completion if isinstance(completion, Done) else Done()
    await go_on(session, standing, done, now, cause=CAUSE, is_step=True)
    if any(isinstance(effect, End) for effect in done.effects):
        return None
    return await after_step(session, standing, done, ahead)


async def _still_reads(session: Session, standing: Standing, stage: StageConfig, view: OwnView, now: datetime) -> bool:
    """Whether an agent is still reading a page that asks nothing of it."""
    parts = parts_of(stage)
    is_asked = parts.has_thread or parts.state is not None or bool(view.own)
    if standing.pace != "live" or standing.member.player != "agent" or is_asked:
        return False
    rng = seeds.rng(standing.seed, f"{standing.member.path}/{stage.id}/{READING}")
    seconds = page_seconds(to_read(kind_of(stage), stage, view), "", standing.pages, rng)
    return seconds > 0 and await still_reads(session, standing, stage.id, taken_seconds=seconds, now=now)


async def _with_scripted(session: Session, standing: Standing, stage: StageConfig, now: datetime) -> Standing:
    """Store the script's answer to the page."""
    said = scripted_page(stage, standing.view(stage, now), standing.seed)
    if said is None:
        return standing
    write_page(session, standing, said, now)
    return standing.with_answer(stage.id, PAGE, said)


async def _with_page(session: Session, standing: Standing, stage: StageConfig, now: datetime) -> Standing:
    """Store the page made of the member's entries, when it is complete and not stored yet.

    Raises:
        InvalidInput: each entry was taken, and together they are no page that the stage takes.
    """
    if PAGE in standing.facts.own(stage.id, standing.member.id):
        return standing
    completion = kind_of(stage).completion(stage, standing.view(stage, now))
    if isinstance(completion, Blocked) or completion.page is None:
        return standing
    write_page(session, standing, completion.page, now)
    return standing.with_answer(stage.id, PAGE, completion.page)


async def _end_without_page(
    session: Session, standing: Standing, stage: StageConfig, error: InvalidInput, now: datetime
) -> None:
    """End the part of an agent whose entries make no page: it would stay there for good, and others with it."""
    names = ", ".join(one.where for one in error.problems)
    reason = f"its answers make no page of the stage {stage.id}: {names or error.message}"
    await end_member(session, standing, "failed", reason, now, cause=CAUSE)
    words = f"The agent {standing.member.path} is out: {reason}."
    await raise_alert_about(session, standing, f"{stage.id}/page", WORK_FAILED, words, now)


async def _take_part(session: Session, standing: Standing, stage: StageConfig, view: OwnView, now: datetime) -> OwnView:
    """Enter the stage's open conversation, if any, and return the view with it."""
    conversation_id = standing.conversation_id(stage)
    if conversation_id is None:
        return view
    scene = await advance_thread(session, conversation_id, now, cause=CAUSE)
    return own_view(standing.facts, stage, standing.member.id, thread=view_of(scene))
