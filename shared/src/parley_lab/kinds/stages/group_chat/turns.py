"""Who is asked to speak next in a group: all at once in a race, a drawn agent, or one after another."""

import re
from collections.abc import Sequence
from random import Random
from uuid import UUID

from parley_lab.kinds.chat.speaking import (
    AGENTS_REACHED_THEIR_LIMIT,
    EVERYONE_LEFT,
    can_be_asked,
    has_person,
    has_words_left,
    in_order,
    is_here,
    may_be_called,
    may_send,
    of_kind,
    opening_pause,
    takes_part,
    why_silent,
)
from parley_lab.kinds.stages.group_chat import rounds
from parley_lab.kinds.stages.group_chat.config import GroupChatStage
from parley_lab.kinds.talk import Wave
from parley_lab.kinds.view import SPEAK, Speaker, Thread

ADDRESSED_WEIGHT = 8.0
"""The factor on the probability of an agent that was addressed by name in the last message."""


def next_wave(stage: GroupChatStage, thread: Thread, rng: Random) -> Wave:
    """Who is asked now, among those not yet asked about this trigger.

    `race`: the mediators who may speak; without any, the participants; after a mediator's message the other way round.
    `select`: one of all who may speak. `round`: the holder of the turn.
    """
    if thread.ended:
        return Wave()
    if not any(takes_part(speaker) for speaker in thread.speakers):
        return Wave(over=EVERYONE_LEFT)
    if _is_too_long(stage, thread):
        return _at_rest(stage, thread, AGENTS_REACHED_THEIR_LIMIT)
    if stage.turn_taking == "round":
        return rounds.next_wave(stage.id, thread, lambda holder: _to_check(stage, thread, holder))
    eligible = [speaker for speaker in thread.speakers if can_be_asked(speaker, thread)]
    if not eligible:
        return _in_silence(stage, thread)
    if stage.turn_taking == "select":
        return _select(stage, thread, eligible, rng)
    return _race(stage, thread, eligible)


def _select(stage: GroupChatStage, thread: Thread, eligible: Sequence[Speaker], rng: Random) -> Wave:
    """Draw no other agent while the drawn agent's reply is in the making and may still be published."""
    if thread.is_thinking:
        return Wave()
    others = [speaker for speaker in eligible if speaker.member.id != thread.last.author_id]
    chosen = _drawn(others if thread.last.has_overlooked and others else eligible, thread, rng)
    return Wave((chosen.member.id,), SPEAK, others=_to_check(stage, thread, chosen))


def _race(stage: GroupChatStage, thread: Thread, eligible: Sequence[Speaker]) -> Wave:
    """Ask all of one group at once, in the order of fewest messages: with equally fast models the first call wins."""
    first, second = in_order(thread)
    asked = of_kind(first, eligible)
    if not asked and not any(speaker.is_at_work for speaker in of_kind(first, thread.speakers)):
        asked = of_kind(second, eligible)
    asked = sorted(asked, key=lambda speaker: speaker.spoken)
    return Wave(tuple(speaker.member.id for speaker in asked), others=_last_author_to_check(stage, thread, asked))


def _is_too_long(stage: GroupChatStage, thread: Thread) -> bool:
    """Whether agents have talked among themselves for too long; with turns, a person's turn comes by itself."""
    return thread.agent_run >= stage.max_agent_run and not (stage.turn_taking == "round" and has_person(thread))


def _in_silence(stage: GroupChatStage, thread: Thread) -> Wave:
    """All who were asked have declined or failed: the room gets a wake-up, stays silent, or is over."""
    if thread.wake_ups.is_waking or any(speaker.is_busy for speaker in thread.speakers):
        return Wave()
    pause = opening_pause(thread)
    if pause is not None:
        return Wave(retry_after_seconds=pause)
    if stage.wake_up_after_seconds is not None and thread.wake_ups.count < stage.max_wake_ups and _can_be_woken(thread):
        return Wave(wake_after_seconds=stage.wake_up_after_seconds)
    return _at_rest(stage, thread, why_silent(thread))


def _can_be_woken(thread: Thread) -> bool:
    return any(speaker.member.player == "agent" and may_send(speaker, thread) for speaker in thread.speakers)


def _at_rest(stage: GroupChatStage, thread: Thread, reason: str) -> Wave:
    """Ask no member: for now, when a person or the time limit can still end the silence; otherwise for good."""
    here = [speaker for speaker in thread.speakers if is_here(speaker)]
    may_go_on = len(here) > 1 and any(has_words_left(speaker) for speaker in here)
    is_timed = may_go_on and thread.pace == "live" and stage.time_limit_seconds is not None
    if not has_person(thread):
        return Wave(others=_all_to_check(thread)) if is_timed else Wave(over=reason)
    return Wave(rests=reason if reason == AGENTS_REACHED_THEIR_LIMIT else None)


def _all_to_check(thread: Thread) -> tuple[UUID, ...]:
    """The agents that could not say that they are ready since the last message; none once they were asked.

    Otherwise an agent that may not answer itself would sit out the time limit among agents that have said all.
    """
    if thread.checked >= thread.said:
        return ()
    silent = (speaker for speaker in thread.speakers if not speaker.was_asked and _can_be_checked(speaker, thread))
    return tuple(speaker.member.id for speaker in silent)


def _to_check(stage: GroupChatStage, thread: Thread, chosen: Speaker) -> tuple[UUID, ...]:
    """The agent that was asked nothing for the longest time, and so could not say that it is ready.

    An agent that may not speak any more counts as ready, and is not asked. An agent is asked only after
    `ready_check_every` messages since it was last asked anything, and since the last readiness check.
    """
    if not _is_time_to_check(stage, thread):
        return ()
    every = _check_every(stage, thread)
    waiting = [
        (speaker.heard, speaker.member.path, speaker.member.id)
        for speaker in thread.speakers
        if speaker is not chosen and _can_be_checked(speaker, thread) and thread.said - speaker.heard >= every
    ]
    return (min(waiting)[2],) if waiting else ()


def _last_author_to_check(stage: GroupChatStage, thread: Thread, asked: Sequence[Speaker]) -> tuple[UUID, ...]:
    """In `race` the author of the last message is not asked to speak, and so could not say that it is ready."""
    author = thread.speaker(thread.last.author_id)
    if author is None or author in asked or not _can_be_checked(author, thread):
        return ()
    return (author.member.id,) if _is_time_to_check(stage, thread) else ()


def _can_be_checked(speaker: Speaker, thread: Thread) -> bool:
    return (
        _is_agent_of_talk(speaker) and not speaker.done and has_words_left(speaker) and may_be_called(speaker, thread)
    )


def _is_time_to_check(stage: GroupChatStage, thread: Thread) -> bool:
    return thread.said - thread.checked >= _check_every(stage, thread)


def _check_every(stage: GroupChatStage, thread: Thread) -> int:
    return stage.ready_check_every or sum(_is_agent_of_talk(speaker) for speaker in thread.speakers)


def _is_agent_of_talk(speaker: Speaker) -> bool:
    return takes_part(speaker) and speaker.member.player == "agent"


def _drawn(eligible: Sequence[Speaker], thread: Thread, rng: Random) -> Speaker:
    least = min(speaker.spoken for speaker in eligible)
    weights = [_weight(speaker, least, thread.last.text) for speaker in eligible]
    return rng.choices(eligible, weights)[0]


def _weight(speaker: Speaker, least_spoken: int, last_text: str) -> float:
    """One for the agent that has spoken least, a half for one message more, and so on; more for an addressed agent."""
    weight = 1 / (1 + speaker.spoken - least_spoken)
    return weight * ADDRESSED_WEIGHT if _is_addressed(speaker, last_text) else weight


def _is_addressed(speaker: Speaker, last_text: str) -> bool:
    name = speaker.member.profile.name
    return bool(name) and re.search(rf"\b{re.escape(name)}\b", last_text, re.IGNORECASE) is not None
