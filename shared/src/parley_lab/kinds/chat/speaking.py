"""Who is present and may speak: the rules of an agent's chat settings, for any order of speakers."""

import math
from collections.abc import Iterable

from parley_lab.kinds import Reason
from parley_lab.kinds.view import Speaker, Thread

EMPTY_ROOM = "start"
EVERYONE_LEFT = "everyone left"
SILENT = "silent"
AGENTS_REACHED_THEIR_LIMIT = "agents reached their limit"
TIME_IS_UP = "time limit"
NO_AGENT_ANSWERED = "no agent answered"

LONGEST_OPENING_PAUSE_SECONDS = 300.0
FIRST_OPENING_PAUSE_SECONDS = 5.0
MOST_OPENING_RETRIES = 5
"""How often to retry an opening that failed for want of a model, with growing waits."""


def of_kind(kind: str, speakers: Iterable[Speaker]) -> list[Speaker]:
    return [speaker for speaker in speakers if speaker.member.kind == kind]


def is_here(speaker: Speaker) -> bool:
    return speaker.member.present and not speaker.ready


def takes_part(speaker: Speaker) -> bool:
    return is_here(speaker) and speaker.member.kind == "participant"


def has_person(thread: Thread) -> bool:
    return any(speaker.member.player == "person" and is_here(speaker) for speaker in thread.speakers)


def may_send(speaker: Speaker, thread: Thread) -> bool:
    """Whether this agent may say something now, by its chat settings; a person, whenever present."""
    member = speaker.member
    if member.player != "agent":
        return is_here(speaker) and member.player == "person" and not speaker.done
    return (
        is_here(speaker)
        and not speaker.done
        and has_words_left(speaker)
        and may_be_called(speaker, thread)
        and (thread.last.author_id != member.id or may_follow_itself(speaker, thread))
    )


def may_follow_itself(speaker: Speaker, thread: Thread) -> bool:
    """Whether this agent may speak after its own message: there may be messages that it has not read."""
    is_new_topic = thread.trigger_key.startswith("topic:")
    return speaker.member.chat.can_self_trigger or is_new_topic or thread.last.has_overlooked


def may_be_called(speaker: Speaker, thread: Thread) -> bool:
    """Whether the thread is long enough to ask this agent anything, its readiness included."""
    return thread.message_count >= speaker.member.chat.min_messages_before_responding


def has_words_left(speaker: Speaker) -> bool:
    most = speaker.member.chat.max_responses
    return most is None or speaker.spoken < most


def can_be_asked(speaker: Speaker, thread: Thread) -> bool:
    """Whether to ask this agent about the current trigger now."""
    return (
        speaker.member.player == "agent"
        and not (speaker.was_asked or speaker.is_busy)
        and may_send(speaker, thread)
        # In an empty room an agent with an opening line says only that line.
        and not (thread.trigger_key == EMPTY_ROOM and speaker.member.chat.initial_message)
    )


def in_order(thread: Thread) -> tuple[str, str]:
    """Who is asked first about the current trigger, and who when all of those stay silent.

    Mediators are asked first, but about a mediator's message participants are.
    """
    author = thread.speaker(thread.last.author_id)
    is_mediators = thread.trigger_key.startswith("message:") and author is not None and author.member.kind == "mediator"
    return ("participant", "mediator") if is_mediators else ("mediator", "participant")


def opening_pause(thread: Thread) -> float | None:
    """The wait before an empty room is opened again after a failed opening; None: it stays closed."""
    is_empty = not any(speaker.spoken for speaker in thread.speakers)
    is_unreachable = any(speaker.is_unreachable for speaker in thread.speakers)
    if not is_empty or not is_unreachable or thread.wake_ups.count >= MOST_OPENING_RETRIES:
        return None
    return min(FIRST_OPENING_PAUSE_SECONDS * 2.0**thread.wake_ups.count, LONGEST_OPENING_PAUSE_SECONDS)


def why_silent(thread: Thread) -> str:
    """Why the conversation has fallen silent: by choice, or because no agent that was asked gave a usable reply."""
    asked = [speaker for speaker in thread.speakers if speaker.was_asked]
    return NO_AGENT_ANSWERED if asked and all(speaker.has_failed for speaker in asked) else SILENT


def too_early(minimum_seconds: float | None, thread: Thread) -> Reason | None:
    """Why no member may leave yet: the minimum time counts from the first message of a member."""
    if minimum_seconds is None or thread.ended:
        return None
    if thread.clock.started_ms is None:
        return Reason("The conversation has not begun yet: nobody has said anything.", "goes_on")
    left = minimum_seconds - (thread.clock.elapsed_ms - thread.clock.started_ms) / 1000
    seconds = math.ceil(left)
    said = f"The conversation goes on for at least {seconds} more seconds."
    return None if left <= 0 else Reason(said, "talk_goes_on_for", count=seconds)
