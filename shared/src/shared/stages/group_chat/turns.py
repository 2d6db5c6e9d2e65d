"""Who is asked to speak next in a group: all at once in a race, one who is drawn, or one after another."""

import re
from collections.abc import Sequence
from random import Random
from uuid import UUID

from shared.chat.speaking import (
    AGENTS_REACHED_THEIR_LIMIT,
    EVERYONE_LEFT,
    can_be_asked,
    has_person,
    has_words_left,
    is_here,
    may_send,
    of_kind,
    opening_pause,
    takes_part,
    why_silent,
)
from shared.stage import SPEAK, Speaker, Thread, Wave
from shared.stages.group_chat import rounds
from shared.stages.group_chat.config import GroupChatStage

ADDRESSED_WEIGHT = 8.0
"""How much likelier somebody is drawn who was addressed by name in the last message."""


def next_wave(stage: GroupChatStage, thread: Thread, rng: Random) -> Wave:
    """Who is asked now, of those who were not asked about this trigger yet.

    `race`: the mediators who may speak; without any, the participants. `select`: one of all who may speak. `round`:
    whose turn it is.
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
        chosen = _drawn(eligible, thread, rng)
        return Wave((chosen.member.id,), SPEAK, others=_to_check(stage, thread, chosen))
    first = of_kind("mediator", eligible) or of_kind("participant", eligible)
    return Wave(tuple(speaker.member.id for speaker in first))


def _is_too_long(stage: GroupChatStage, thread: Thread) -> bool:
    """Whether agents have talked among themselves for too long; in turns, a person's turn comes by itself."""
    return thread.agent_run >= stage.max_agent_run and not (stage.turn_taking == "round" and has_person(thread))


def _in_silence(stage: GroupChatStage, thread: Thread) -> Wave:
    """All who were asked have declined or failed: the room is woken up after a while, stays silent, or is over."""
    if thread.is_waking:
        return Wave()
    pause = opening_pause(thread)
    if pause is not None:
        return Wave(retry_after_seconds=pause)
    if stage.wake_up_after_seconds is not None and thread.wake_ups < stage.max_wake_ups and _can_be_woken(thread):
        return Wave(wake_after_seconds=stage.wake_up_after_seconds)
    return _at_rest(stage, thread, why_silent(thread))


def _can_be_woken(thread: Thread) -> bool:
    return any(speaker.member.player == "agent" and may_send(speaker, thread) for speaker in thread.speakers)


def _at_rest(stage: GroupChatStage, thread: Thread, reason: str) -> Wave:
    """Nobody is asked: for now when somebody can still end the silence, or the time limit is to; else for good."""
    here = [speaker for speaker in thread.speakers if is_here(speaker)]
    may_go_on = len(here) > 1 and any(has_words_left(speaker) for speaker in here)
    is_timed = may_go_on and thread.pace == "live" and stage.time_limit_seconds is not None
    if not has_person(thread) and not is_timed:
        return Wave(over=reason)
    return Wave(rests=reason if reason == AGENTS_REACHED_THEIR_LIMIT else None)


def _to_check(stage: GroupChatStage, thread: Thread, chosen: Speaker) -> tuple[UUID, ...]:
    """The agent who was asked nothing for the longest time, and so cannot say that it is ready.

    Who may not speak any more counts as ready, and is not asked. Nobody is asked before `ready_check_every` messages
    were said since they were asked anything, and since anybody was asked this.
    """
    agents = [speaker for speaker in thread.speakers if takes_part(speaker) and speaker.member.player == "agent"]
    every = stage.ready_check_every or len(agents)
    if thread.said - thread.checked < every:
        return ()
    waiting = [
        (thread.heard.get(speaker.member.id, 0), speaker.member.path, speaker.member.id)
        for speaker in agents
        if speaker is not chosen
        and not speaker.done
        and has_words_left(speaker)
        and thread.said - thread.heard.get(speaker.member.id, 0) >= every
    ]
    return (min(waiting)[2],) if waiting else ()


def _drawn(eligible: Sequence[Speaker], thread: Thread, rng: Random) -> Speaker:
    least = min(speaker.spoken for speaker in eligible)
    weights = [_weight(speaker, least, thread.last_text) for speaker in eligible]
    return rng.choices(eligible, weights)[0]


def _weight(speaker: Speaker, least_spoken: int, last_text: str) -> float:
    """One for who has spoken least, a half for one message more, and so on; more for who was addressed."""
    weight = 1 / (1 + speaker.spoken - least_spoken)
    return weight * ADDRESSED_WEIGHT if _is_addressed(speaker, last_text) else weight


def _is_addressed(speaker: Speaker, last_text: str) -> bool:
    name = speaker.member.profile.name
    return bool(name) and re.search(rf"\b{re.escape(name)}\b", last_text, re.IGNORECASE) is not None
