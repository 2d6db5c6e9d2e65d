"""Who is asked to speak next in a free conversation: a race, mediators first."""

from collections.abc import Iterable

from shared.stage import Speaker, Thread, Wave
from shared.stages.group_chat.config import GroupChatStage

EMPTY_ROOM = "start"
EVERYONE_LEFT = "everyone left"
SILENT = "silent"
AGENTS_REACHED_THEIR_LIMIT = "agents reached their limit"


def next_wave(stage: GroupChatStage, thread: Thread) -> Wave:
    """The eligible mediators who were not asked about this trigger yet; without any, the participants who were not."""
    if thread.ended:
        return Wave()
    if not any(_takes_part(speaker) for speaker in thread.speakers):
        return Wave(over=EVERYONE_LEFT)
    speakers = [] if _has_run_too_long(stage, thread) else _first_wave(thread)
    if speakers:
        return Wave(tuple(speaker.member.id for speaker in speakers))
    if _may_be_broken_later(stage, thread):
        return Wave()
    return Wave(over=AGENTS_REACHED_THEIR_LIMIT if _has_run_too_long(stage, thread) else SILENT)


def _first_wave(thread: Thread) -> list[Speaker]:
    eligible = [speaker for speaker in thread.speakers if _can_be_asked(speaker, thread)]
    return _of_kind("mediator", eligible) or _of_kind("participant", eligible)


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
    """Whether somebody or something can still end the silence: a person, or the time limit."""
    has_person = any(_is_here(speaker) and speaker.member.player == "person" for speaker in thread.speakers)
    return has_person or (thread.pace == "live" and stage.time_limit_seconds is not None)
