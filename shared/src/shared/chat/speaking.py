"""Who is here and may speak: the rules of an agent's chat settings, whatever the order of speakers."""

import math
from collections.abc import Iterable

from shared.stage import Speaker, Thread

EMPTY_ROOM = "start"
EVERYONE_LEFT = "everyone left"
SILENT = "silent"
AGENTS_REACHED_THEIR_LIMIT = "agents reached their limit"
TIME_IS_UP = "time limit"
NOBODY_ANSWERED = "no agent answered"

LONGEST_OPENING_PAUSE_SECONDS = 300.0
FIRST_OPENING_PAUSE_SECONDS = 5.0
MOST_OPENING_RETRIES = 5
"""How often an empty room whose opening failed for want of a model is opened again, ever later."""


def of_kind(kind: str, speakers: Iterable[Speaker]) -> list[Speaker]:
    return [speaker for speaker in speakers if speaker.member.kind == kind]


def is_here(speaker: Speaker) -> bool:
    return speaker.member.present and not speaker.ready


def takes_part(speaker: Speaker) -> bool:
    return is_here(speaker) and speaker.member.kind == "participant"


def has_person(thread: Thread) -> bool:
    return any(speaker.member.player == "person" and is_here(speaker) for speaker in thread.speakers)


def may_send(speaker: Speaker, thread: Thread) -> bool:
    """Whether this agent may say something now, by its chat settings; of people only whether they are here."""
    member = speaker.member
    if member.player != "agent":
        return is_here(speaker) and member.player == "person" and not speaker.done
    return (
        is_here(speaker)
        and not speaker.done
        and has_words_left(speaker)
        and may_be_called(speaker, thread)
        and (thread.last_author_id != member.id or may_follow_itself(speaker, thread))
    )


def may_follow_itself(speaker: Speaker, thread: Thread) -> bool:
    """Whether this agent may speak although the last message is its own: there may be something it has not read."""
    is_new_topic = thread.trigger_key.startswith("topic:")
    return speaker.member.chat.can_self_trigger or is_new_topic or thread.has_overlooked


def may_be_called(speaker: Speaker, thread: Thread) -> bool:
    """Whether the thread is long enough for this agent to be asked anything, its readiness included."""
    return thread.message_count >= speaker.member.chat.min_messages_before_responding


def has_words_left(speaker: Speaker) -> bool:
    most = speaker.member.chat.max_responses
    return most is None or speaker.spoken < most


def can_be_asked(speaker: Speaker, thread: Thread) -> bool:
    """Whether this agent is asked about the current trigger now."""
    return (
        speaker.member.player == "agent"
        and speaker.member.id not in thread.asked | thread.busy
        and may_send(speaker, thread)
        # Who has an opening line says that into the empty room, and nothing else.
        and not (thread.trigger_key == EMPTY_ROOM and speaker.member.chat.initial_message)
    )


def in_order(thread: Thread) -> tuple[str, str]:
    """Who is asked first about the current trigger, and who when all of those stay silent.

    Mediators come first, but what a mediator has said goes to the participants first.
    """
    author = thread.speaker(thread.last_author_id)
    is_mediators = thread.trigger_key.startswith("message:") and author is not None and author.member.kind == "mediator"
    return ("participant", "mediator") if is_mediators else ("mediator", "participant")


def opening_pause(thread: Thread) -> float | None:
    """How long to wait before an empty room is opened again whose opening reached no model; None: it is not to be."""
    is_empty = not any(speaker.spoken for speaker in thread.speakers)
    if not is_empty or not thread.unreachable or thread.wake_ups >= MOST_OPENING_RETRIES:
        return None
    return min(FIRST_OPENING_PAUSE_SECONDS * 2.0**thread.wake_ups, LONGEST_OPENING_PAUSE_SECONDS)


def why_silent(thread: Thread) -> str:
    """Why nobody says anything any more: by choice, or because no usable reply came from anybody who was asked."""
    return NOBODY_ANSWERED if thread.asked and thread.asked <= thread.failed else SILENT


def too_early(minimum_seconds: float | None, thread: Thread) -> str | None:
    """Why nobody may leave yet: the minimum time counts from the first message of a member."""
    if minimum_seconds is None or thread.ended:
        return None
    if thread.started_ms is None:
        return "The conversation has not begun yet: nobody has said anything."
    left = minimum_seconds - (thread.elapsed_ms - thread.started_ms) / 1000
    return None if left <= 0 else f"The conversation goes on for at least {math.ceil(left)} more seconds."
