"""Who is asked next: the kind's turn-taking as new drafts, turns, topics and wake-ups."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.kinds import Member
from parley_lab.kinds.chat.speaking import EVERYONE_LEFT, TIME_IS_UP
from parley_lab.kinds.sentences import LabLine
from parley_lab.kinds.talk import NextTurn, Wave
from parley_lab.kinds.view import READY, TALK, WAKE
from parley_lab.talk.changes import as_drafts, ending, has_more_topics, topic_of, with_closed, with_line
from parley_lab.talk.quiet import is_quiet, lets_others_go_first, with_quiet_time, with_window
from parley_lab.talk.scene import CHECK, START, TURN, Change, NewDraft, NewTimer, Scene
from parley_lab.talk.view import view_of

WAKE_UP = "idle"
"""The prefix of trigger keys of wake-ups."""

_KEEPS_TOPICS = (EVERYONE_LEFT, TIME_IS_UP)
"""Ends of the conversation that a further topic does not prevent."""


def with_next_wave(change: Change) -> Change:
    """Add what the kind decides next: drafts, a turn, a topic, a wake-up, or the end of a thread that is over."""
    if _is_waiting_for_wave(change.after):
        return change
    if _is_done_with_topic(change.after):
        return with_next_wave(_with_next_topic(change))
    if _is_waiting(change.after):
        return change
    wave = _next_wave(change.after)
    waiting = lets_others_go_first(change.after)
    if waiting in wave.speakers:
        change = with_quiet_time(change)
        wave = replace(wave, speakers=tuple(member_id for member_id in wave.speakers if member_id != waiting))
        return _with_wave(change, wave) if wave.speakers else change
    if not wave.speakers:
        return change if _any_about(change.after) else _with_wave(change, wave)
    return with_quiet_time(change) if is_quiet(change.after) else with_window(_with_wave(change, wave))


def _next_wave(scene: Scene) -> Wave:
    rng = seeds.rng(scene.seed, f"{scene.path}/{scene.trigger_label}/wave:{scene.turn.wave + 1}")
    return scene.talk.next_wave(view_of(scene), rng)


def _with_wave(change: Change, wave: Wave) -> Change:
    if wave.notice is not None and not change.after.turn.has_noticed:
        change = _noticed(with_line(change, wave.notice))
    if wave.over is not None:
        return _with_end(change, wave.over)
    if wave.turn is not None:
        return _with_turn(change, wave.turn, wave)
    if wave.retry_after_seconds is not None:
        return _with_timer(change, wave.retry_after_seconds)
    if wave.wake_after_seconds is not None:
        return _with_wake_up(change, wave.wake_after_seconds)
    if wave.rests is not None and not change.after.turn.is_resting:
        turn = replace(change.after.turn, is_resting=True)
        return replace(change, after=replace(change.after, turn=turn))
    return _with_wanted(change, wave)


def _noticed(change: Change) -> Change:
    turn = replace(change.after.turn, has_noticed=True)
    return replace(change, after=replace(change.after, turn=turn))


def _with_end(change: Change, reason: str) -> Change:
    """End the thread, unless a member is still expected or another topic follows."""
    scene = change.after
    if any(member.awaited for member in scene.members):
        return change
    if has_more_topics(scene) and reason not in _KEEPS_TOPICS:
        return with_next_wave(_with_next_topic(change))
    return ending(change, reason)


def _is_done_with_topic(scene: Scene) -> bool:
    """Whether all active participants are done with a topic that another one follows.

    An agent that may not speak any more counts as done; one that may not be called yet counts once another member is
    done.
    """
    here = [
        member
        for member in scene.members
        if member.kind == "participant" and member.present and member.id not in scene.turn.ready
    ]
    if not here or not has_more_topics(scene):
        return False
    waiting = [member for member in here if member.id not in scene.turn.done and not _has_said_all(scene, member)]
    return all(_is_too_early_for(scene, member) for member in waiting) and bool(not waiting or scene.turn.done)


def _has_said_all(scene: Scene, member: Member) -> bool:
    most = member.chat.max_responses
    return member.player == "agent" and most is not None and scene.turn.spoken.get(member.id, 0) >= most


def _is_too_early_for(scene: Scene, member: Member) -> bool:
    """Whether this agent may not be called yet, not even about its readiness."""
    return member.player == "agent" and scene.last_seq < member.chat.min_messages_before_responding


def _with_next_topic(change: Change) -> Change:
    """Open the next topic. Replies in the making about the old one have another trigger, and are dropped."""
    scene = change.after
    number = scene.turn.topic + 1
    _, name = scene.talk.rules.topics[number]
    turn = replace(
        scene.turn,
        topic=number,
        topic_since_seq=scene.last_seq + 1,
        done=frozenset(),
        trigger=f"topic:{topic_of(scene.stage, number)}",
        asked=frozenset(),
        wave=0,
        skips=0,
        unanswered=0,
        is_waking=False,
        has_noticed=False,
        is_resting=False,
        late={},
    )
    opened = replace(change, after=replace(scene, turn=turn, agent_run=0, failed={}))
    return with_line(opened, LabLine(f"The conversation goes on to: {name}", "goes_on_to", name=name))


def _with_turn(change: Change, next_turn: NextTurn, wave: Wave) -> Change:
    scene = change.after
    number = scene.turn.number + 1
    turn = replace(
        scene.turn,
        order=next_turn.order,
        cycle=next_turn.cycle,
        holder=next_turn.holder,
        number=number,
        trigger=f"{TURN}:{number}",
        asked=frozenset(),
        wave=0,
        skips=scene.turn.skips + next_turn.is_skip,
        has_noticed=False,
        late={},
    )
    return _with_wanted(replace(change, after=replace(scene, turn=turn, failed={})), wave)


def _with_wake_up(change: Change, after_seconds: float) -> Change:
    """Add a timer, or the wake-up itself where time is simulated: silence takes no real time there."""
    scene = change.after
    if scene.pace == "live" or scene.has_people:
        return _with_timer(change, after_seconds)
    later = replace(scene, clock_ms=scene.clock_ms + int(after_seconds * 1000))
    return with_wake_up_round(_armed(replace(change, after=later)))


def _armed(change: Change) -> Change:
    turn = change.after.turn
    armed = replace(turn, wake_ups=turn.wake_ups + 1, unanswered=turn.unanswered + 1, is_waking=True)
    return replace(change, after=replace(change.after, turn=armed))


def _with_timer(change: Change, after_seconds: float) -> Change:
    if change.after.turn.is_waking:
        return change
    armed = _armed(change)
    scene, number = armed.after, armed.after.turn.wake_ups
    path = f"{scene.path}/{WAKE_UP}:{number}"
    timer = NewTimer(
        id=seeds.row_id(scene.experiment_id, path),
        path=path,
        purpose="wake_up",
        generation=number,
        due_at=scene.now + timedelta(seconds=after_seconds),
    )
    return replace(armed, timers=(*armed.timers, timer))


def with_wake_up_round(change: Change) -> Change:
    """Ask all agents again, about the silence."""
    scene = change.after
    turn = replace(
        scene.turn,
        trigger=f"{WAKE_UP}:{scene.turn.wake_ups}",
        asked=frozenset(),
        wave=0,
        is_waking=False,
        has_noticed=False,
        late={},
    )
    return with_next_wave(replace(change, after=replace(scene, turn=turn, failed={})))


def _with_wanted(change: Change, wave: Wave) -> Change:
    scene = change.after
    speaking = tuple(_wanted(scene, scene.member(member_id), wave.purpose) for member_id in wave.speakers)
    checks = tuple(_check(scene, scene.member(member_id)) for member_id in wave.others)
    wanted = speaking + checks
    if not wanted:
        return change
    turn = replace(
        scene.turn,
        asked=scene.turn.asked | set(wave.speakers),
        wave=scene.turn.wave + 1,
        has_overlooked=scene.turn.has_overlooked and scene.last_author_id not in wave.speakers,
    )
    if wave.purpose != TALK:
        turn = replace(turn, heard={**turn.heard, **{draft.member_id: turn.said for draft in wanted}})
    if checks:
        turn = replace(turn, checked=turn.said)
    after = replace(scene, turn=turn, drafts=scene.drafts + as_drafts(wanted))
    return _without_outdated(replace(change, after=after, wanted=change.wanted + wanted), wave.speakers)


def _without_outdated(change: Change, asked_anew: Iterable[UUID]) -> Change:
    """Close drafts that no worker has started, when their authors are asked about all later messages."""
    for draft in change.after.drafts:
        if draft.state == "wanted" and draft.member_id in asked_anew and draft.trigger_key in change.after.turn.late:
            change = with_closed(change, draft, "moved_on")
    return change


def with_checks(change: Change) -> Change:
    """Ask the agents who take part and are not done with the topic only for their readiness."""
    scene = change.after
    idle = [
        member
        for member in scene.members
        if member.kind == "participant"
        and member.player == "agent"
        and member.present
        and member.id not in scene.turn.done | scene.turn.ready
        and not _has_said_all(scene, member)
        and not _is_too_early_for(scene, member)
    ]
    wanted = tuple(_check(scene, member, len(scene.turn.done)) for member in idle)
    drafts = scene.drafts + as_drafts(wanted)
    return replace(change, after=replace(scene, drafts=drafts), wanted=change.wanted + wanted)


def _is_waiting_for_wave(scene: Scene) -> bool:
    """Whether a wave is incomplete in pace `fast`, where all its replies are awaited."""
    return scene.pace == "fast" and (_any_about(scene) or any(draft.is_check for draft in scene.moving_drafts))


def _is_waiting(scene: Scene) -> bool:
    """Whether replies to the current trigger are in the making, or an opening line comes first.

    Where late replies are published, agents that were busy when others were asked join them as soon as they are free.
    """
    openings_first = scene.pace == "fast" or scene.trigger_key == START
    if openings_first and any(draft.is_opening for draft in scene.moving_drafts):
        return True
    return scene.lateness is None and _any_about(scene)


def _any_about(scene: Scene) -> bool:
    """Whether an open draft is about the current trigger; members who have left count in pace `fast` only, for the
    order."""
    return any(
        draft.trigger_key == scene.trigger_key and (scene.pace == "fast" or scene.member(draft.member_id).present)
        for draft in scene.moving_drafts
    )


def _wanted(scene: Scene, member: Member, purpose: str) -> NewDraft:
    is_silence = purpose == TALK and scene.trigger_key.startswith(f"{WAKE_UP}:")
    return _draft(scene, member, scene.trigger_key, scene.trigger_label, WAKE if is_silence else purpose)


def _check(scene: Scene, member: Member, done: int = 0) -> NewDraft:
    """`done` distinguishes the checks after another member was done from those of turn-taking."""
    key = f"{CHECK}:{scene.turn.said}:{scene.turn.topic}{f':{done}' if done else ''}"
    return _draft(scene, member, key, key, READY)


def _draft(scene: Scene, member: Member, trigger_key: str, label: str, purpose: str) -> NewDraft:
    path = f"{member.path}/{scene.stage.id}/{label}"
    if member.kind == "participant" and not member.path.startswith(f"{scene.path.partition('/')[0]}/"):
        # A member from another cohort may have an ask with the same label there.
        path = f"{scene.path}/{member.path.replace('/', '-')}/{label}"
    if scene.is_private and member.kind == "mediator":
        path = f"{scene.path}/{member.path.rpartition('/')[2]}/{label}"
    return NewDraft(
        id=seeds.row_id(scene.experiment_id, path),
        path=path,
        member_id=member.id,
        trigger_key=trigger_key,
        wave=scene.turn.wave + 1,
        as_of_seq=scene.last_seq,
        provider=scene.providers[member.id],
        purpose=purpose,
    )


def opening_lines(scene: Scene, newcomers: Iterable[Member], delays: Iterable[float]) -> tuple[NewDraft, ...]:
    """Fixed opening lines as drafts without a model call."""
    return tuple(_opening_line(scene, member, delay) for member, delay in zip(newcomers, delays, strict=True))


def _opening_line(scene: Scene, member: Member, delay_seconds: float) -> NewDraft:
    draft = _draft(scene, member, f"{START}:{member.id}", "opening", TALK)
    due_at = scene.now + timedelta(seconds=delay_seconds) if scene.pace == "live" else scene.now
    return replace(
        draft,
        wave=0,
        provider="line",
        state="ready",
        text=member.chat.initial_message,
        due_at=due_at,
        finish_ms=scene.clock_ms + int(delay_seconds * 1000),
    )
