"""Who is asked to speak next in a private conversation: the mediators, then the participant when that is an agent."""

from shared.chat.speaking import (
    AGENTS_REACHED_THEIR_LIMIT,
    EVERYONE_LEFT,
    TIME_IS_UP,
    can_be_asked,
    in_order,
    is_here,
    of_kind,
    opening_pause,
    why_silent,
)
from shared.stage import Speaker, Thread, Wave
from shared.stages.private_chat.config import PrivateChatStage

LONGEST_WAIT_MS = 120_000
"""After this time a participant may write again although no reply has come: Deliberate Lab's two minutes."""

ALL_TURNS_USED = "all turns used"
NO_REPLY = "No reply could be fetched. You can write again."
NOBODY_IS_HERE = "Nobody is here to answer."


def next_wave(stage: PrivateChatStage, thread: Thread) -> Wave:
    """Who is asked now, of those who were not asked about this trigger yet."""
    own = next(iter(of_kind("participant", thread.speakers)), None)
    if thread.ended:
        return Wave()
    if own is None or not is_here(own):
        return Wave(over=EVERYONE_LEFT)
    eligible = (
        [] if thread.agent_run >= stage.max_agent_run else [s for s in thread.speakers if can_be_asked(s, thread)]
    )
    reason = _why_over(stage, thread, own)
    comes_first = reason is None and in_order(thread)[0] == "participant"
    if comes_first and own in eligible:
        return Wave((own.member.id,))
    mediators = of_kind("mediator", eligible)
    if mediators and not (comes_first and own.member.id in thread.at_work):
        return Wave(tuple(speaker.member.id for speaker in mediators))
    if thread.at_work or thread.busy:
        return Wave()
    if reason is not None:
        return Wave(over=reason)
    if own in eligible:
        return Wave((own.member.id,))
    if thread.is_waking:
        return Wave()
    if (pause := opening_pause(thread)) is not None:
        return Wave(retry_after_seconds=pause)
    return _at_rest(stage, thread, own)


def _why_over(stage: PrivateChatStage, thread: Thread, own: Speaker) -> str | None:
    """Why nothing more is said once everybody who was asked has answered or declined."""
    if stage.max_turns is not None and own.spoken >= stage.max_turns:
        return ALL_TURNS_USED
    return TIME_IS_UP if thread.is_overtime and own.spoken >= stage.min_turns else None


def _at_rest(stage: PrivateChatStage, thread: Thread, own: Speaker) -> Wave:
    if own.member.player != "person":
        is_long = thread.agent_run >= stage.max_agent_run
        return Wave(over=AGENTS_REACHED_THEIR_LIMIT if is_long else why_silent(thread))
    if thread.last_author_id != own.member.id:
        return Wave(rests=AGENTS_REACHED_THEIR_LIMIT if thread.agent_run >= stage.max_agent_run else None)
    return Wave(notice=_notice(thread))


def _notice(thread: Thread) -> str | None:
    """What the participant is told who has said something, and gets no reply; silence by choice needs no words."""
    if not any(is_here(speaker) for speaker in of_kind("mediator", thread.speakers)):
        return NOBODY_IS_HERE
    return NO_REPLY if thread.failed and thread.trigger_key.startswith("message:") else None


def waits_for_reply(thread: Thread, own: Speaker) -> bool:
    """Whether a reply to the participant's last message is on its way, and not for too long."""
    return thread.is_thinking and thread.last_author_id == own.member.id and thread.silent_ms < LONGEST_WAIT_MS
