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
    in_order,
    is_here,
    may_be_called,
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

    `race`: the mediators who may speak; without any, the participants; after a mediator's message the other way round.
    `select`: one of all who may speak. `round`: whose turn it is.
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
    """Nobody else is drawn while the reply of who was drawn is on its way, and may still be said."""
    if thread.is_thinking:
        return Wave()
    others = [speaker for speaker in eligible if speaker.member.id != thread.last_author_id]
    chosen = _drawn(others if thread.has_overlooked and others else eligible, thread, rng)
    return Wave((chosen.member.id,), SPEAK, others=_to_check(stage, thread, chosen))


def _race(stage: GroupChatStage, thread: Thread, eligible: Sequence[Speaker]) -> Wave:
    """All of one kind at once, who has spoken least first: with models of one speed the call that is first wins."""
    first, second = in_order(thread)
    asked = of_kind(first, eligible)
    if not asked and not any(speaker.member.id in thread.at_work for speaker in of_kind(first, thread.speakers)):
        asked = of_kind(second, eligible)
    asked = sorted(asked, key=lambda speaker: speaker.spoken)
    return Wave(tuple(speaker.member.id for speaker in asked), others=_last_author_to_check(stage, thread, asked))


def _is_too_long(stage: GroupChatStage, thread: Thread) -> bool:
    """Whether agents have talked among themselves for too long; in turns, a person's turn comes by itself."""
    return thread.agent_run >= stage.max_agent_run and not (stage.turn_taking == "round" and has_person(thread))


def _in_silence(stage: GroupChatStage, thread: Thread) -> Wave:
    """All who were asked have declined or failed: the room is woken up after a while, stays silent, or is over."""
    if thread.is_waking or thread.busy:
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
    if not _is_time_to_check(stage, thread):
        return ()
    every = _check_every(stage, thread)
    waiting = [
        (thread.heard.get(speaker.member.id, 0), speaker.member.path, speaker.member.id)
        for speaker in thread.speakers
        if speaker is not chosen
        and _can_be_checked(speaker, thread)
        and thread.said - thread.heard.get(speaker.member.id, 0) >= every
    ]
    return (min(waiting)[2],) if waiting else ()


def _last_author_to_check(stage: GroupChatStage, thread: Thread, asked: Sequence[Speaker]) -> tuple[UUID, ...]:
    """In `race` whoever wrote the last message is the one who is not asked to speak, and so cannot say it is ready."""
    author = thread.speaker(thread.last_author_id)
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
    weights = [_weight(speaker, least, thread.last_text) for speaker in eligible]
    return rng.choices(eligible, weights)[0]


def _weight(speaker: Speaker, least_spoken: int, last_text: str) -> float:
    """One for who has spoken least, a half for one message more, and so on; more for who was addressed."""
    weight = 1 / (1 + speaker.spoken - least_spoken)
    return weight * ADDRESSED_WEIGHT if _is_addressed(speaker, last_text) else weight


def _is_addressed(speaker: Speaker, last_text: str) -> bool:
    name = speaker.member.profile.name
    return bool(name) and re.search(rf"\b{re.escape(name)}\b", last_text, re.IGNORECASE) is not None
