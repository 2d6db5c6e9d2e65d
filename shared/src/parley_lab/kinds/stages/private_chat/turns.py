"""Who is asked to speak next in a private conversation: the mediators, then the participant when that is an agent."""

from parley_lab.kinds.chat.speaking import (
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
from parley_lab.kinds.sentences import LabLine
from parley_lab.kinds.stages.private_chat.config import PrivateChatStage
from parley_lab.kinds.talk import Wave
from parley_lab.kinds.view import Speaker, Thread

LONGEST_WAIT_MS = 120_000
"""After this time a participant may write again without a reply, as in Deliberate Lab."""

ALL_TURNS_USED = "all turns used"
NO_REPLY = LabLine("No reply could be fetched. You can write again.", "no_reply")
NO_ONE_IS_HERE = LabLine("Nobody is here to answer.", "nobody_is_here")


def next_wave(stage: PrivateChatStage, thread: Thread) -> Wave:
    """Who is asked now, among those not yet asked about this trigger."""
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
    if mediators and not (comes_first and own.is_at_work):
        return Wave(tuple(speaker.member.id for speaker in mediators))
    if any(speaker.is_at_work or speaker.is_busy for speaker in thread.speakers):
        return Wave()
    if reason is not None:
        return Wave(over=reason)
    if own in eligible:
        return Wave((own.member.id,))
    if thread.wake_ups.is_waking:
        return Wave()
    if (pause := opening_pause(thread)) is not None:
        return Wave(retry_after_seconds=pause)
    return _at_rest(stage, thread, own)


def _why_over(stage: PrivateChatStage, thread: Thread, own: Speaker) -> str | None:
    """Why the conversation is over, once all who were asked have answered or declined."""
    if stage.max_turns is not None and own.spoken >= stage.max_turns:
        return ALL_TURNS_USED
    return TIME_IS_UP if thread.clock.is_overtime and missing_turns(stage, own) == 0 else None


def missing_turns(stage: PrivateChatStage, own: Speaker | None) -> int:
    """How many messages the participant has yet to write, before which no time limit ends the conversation."""
    return max(stage.min_turns - (own.spoken if own else 0), 0)


def _at_rest(stage: PrivateChatStage, thread: Thread, own: Speaker) -> Wave:
    if own.member.player != "person":
        is_long = thread.agent_run >= stage.max_agent_run
        return Wave(over=AGENTS_REACHED_THEIR_LIMIT if is_long else why_silent(thread))
    if thread.last.author_id != own.member.id:
        return Wave(rests=AGENTS_REACHED_THEIR_LIMIT if thread.agent_run >= stage.max_agent_run else None)
    return Wave(notice=_notice(thread))


def _notice(thread: Thread) -> str | None:
    """The notice to a participant who gets no reply; silence by choice needs none."""
    if not any(is_here(speaker) for speaker in of_kind("mediator", thread.speakers)):
        return NO_ONE_IS_HERE
    return (
        NO_REPLY
        if any(speaker.has_failed for speaker in thread.speakers) and thread.trigger_key.startswith("message:")
        else None
    )


def waits_for_reply(thread: Thread, own: Speaker) -> bool:
    """Whether a reply to the participant's last message is in the making, and not for too long."""
    return thread.is_thinking and thread.last.author_id == own.member.id and thread.clock.silent_ms < LONGEST_WAIT_MS
