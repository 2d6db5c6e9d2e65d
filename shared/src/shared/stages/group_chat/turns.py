"""Who is asked to speak next in a free conversation: all at once in a race, or one who is drawn."""

import re
from collections.abc import Iterable
from random import Random

from shared.stage import SPEAK, Speaker, Thread, Wave
from shared.stages.group_chat.config import GroupChatStage

EMPTY_ROOM = "start"
EVERYONE_LEFT = "everyone left"
SILENT = "silent"
AGENTS_REACHED_THEIR_LIMIT = "agents reached their limit"

ADDRESSED_WEIGHT = 8.0
"""How much likelier somebody is drawn who was addressed by name in the last message."""


def next_wave(stage: GroupChatStage, thread: Thread, rng: Random) -> Wave:
    """Who is asked now, of those who were not asked about this trigger yet.

    `race`: the mediators who may speak; without any, the participants. `select`: one of all who may speak.
    """
    if thread.ended:
        return Wave()
    if not any(_takes_part(speaker) for speaker in thread.speakers):
        return Wave(over=EVERYONE_LEFT)
    eligible = [] if _has_run_too_long(stage, thread) else _eligible(thread)
    if eligible and stage.turn_taking == "select":
        return Wave((_drawn(eligible, thread, rng).member.id,), SPEAK)
    if eligible:
        first = _of_kind("mediator", eligible) or _of_kind("participant", eligible)
        return Wave(tuple(speaker.member.id for speaker in first))
    if _may_be_broken_later(stage, thread):
        return Wave()
    return Wave(over=AGENTS_REACHED_THEIR_LIMIT if _has_run_too_long(stage, thread) else SILENT)


def _eligible(thread: Thread) -> list[Speaker]:
    return [speaker for speaker in thread.speakers if _can_be_asked(speaker, thread)]


def _drawn(eligible: list[Speaker], thread: Thread, rng: Random) -> Speaker:
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


def _of_kind(kind: str, speakers: Iterable[Speaker]) -> list[Speaker]:
    return [speaker for speaker in speakers if speaker.member.kind == kind]


def _is_here(speaker: Speaker) -> bool:
    return speaker.member.present and not speaker.ready


def _takes_part(speaker: Speaker) -> bool:
    return _is_here(speaker) and speaker.member.kind == "participant"


def _can_be_asked(speaker: Speaker, thread: Thread) -> bool:
    member, chat = speaker.member, speaker.member.chat
    return (
        member.player == "agent"
        and _is_here(speaker)
        and member.id not in thread.asked
        and (chat.max_responses is None or speaker.spoken < chat.max_responses)
        and thread.message_count >= chat.min_messages_before_responding
        and (thread.last_author_id != member.id or chat.can_self_trigger)
        # Who has an opening line says that into the empty room, and nothing else.
        and not (thread.trigger_key == EMPTY_ROOM and chat.initial_message)
    )


def _has_run_too_long(stage: GroupChatStage, thread: Thread) -> bool:
    return thread.agent_run >= stage.max_agent_run


def _may_be_broken_later(stage: GroupChatStage, thread: Thread) -> bool:
    """Whether somebody can still end the silence, or the time limit is to: not for an agent who is alone."""
    here = [speaker for speaker in thread.speakers if _is_here(speaker)]
    has_person = any(speaker.member.player == "person" for speaker in here)
    return has_person or (len(here) > 1 and thread.pace == "live" and stage.time_limit_seconds is not None)
