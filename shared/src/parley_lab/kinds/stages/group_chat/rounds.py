"""Turns one after another: mediators first, then participants in an order that is drawn anew for every cycle.

The order, its seeds and the times of new draws are those of Deliberate Lab's turn-based chat, with its generator.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

from parley_lab.base.deliberate_lab_draws import shuffled
from parley_lab.kinds.chat.speaking import NO_AGENT_ANSWERED, SILENT, has_person, is_here, may_send, of_kind
from parley_lab.kinds.sentences import LabLine
from parley_lab.kinds.talk import NextTurn, Wave
from parley_lab.kinds.view import SPEAK, Speaker, Thread

Checks = Callable[[Speaker], tuple[UUID, ...]]


def next_wave(stage_id: str, thread: Thread, checks: Checks) -> Wave:
    """Whose turn it is; `checks` names those who are asked for their readiness meanwhile.

    A turn passes when its holder has spoken, has left or is done with the topic, or is an agent that gave no reply,
    which a system message reports.
    """
    holder = thread.speaker(thread.turns.holder) if thread.trigger_key.startswith("turn:") else None
    if holder is not None and _holds_on(holder, thread):
        # An agent that has taken the place of the person whose turn it is has not been asked yet.
        is_agent = holder.member.player == "agent"
        return Wave(speakers=(holder.member.id,), purpose=SPEAK) if is_agent else Wave()
    is_skip = holder is not None and is_here(holder) and not holder.done
    if is_skip and thread.turns.skips + 1 >= len(thread.turns.order) and not has_person(thread):
        return Wave(over=NO_AGENT_ANSWERED)
    following = _following(stage_id, thread)
    if following is None:
        return Wave(over=None if has_person(thread) else SILENT)
    order, cycle, chosen = following
    is_agent = chosen.member.player == "agent"
    return Wave(
        speakers=(chosen.member.id,) if is_agent else (),
        purpose=SPEAK,
        others=checks(chosen),
        turn=NextTurn(order, cycle, chosen.member.id, is_skip=is_skip),
        notice=_skipped(holder.member.name) if is_skip and holder else None,
    )


def _skipped(name: str) -> LabLine:
    return LabLine(f"{name} was skipped: no reply came.", "was_skipped", name=name)


def _holds_on(holder: Speaker, thread: Thread) -> bool:
    """Whether the holder keeps the turn; not called while a reply is in the making."""
    if holder.member.player == "person":
        return is_here(holder) and not holder.done
    return not holder.was_asked and may_send(holder, thread)


def _following(stage_id: str, thread: Thread) -> tuple[tuple[UUID, ...], int, Speaker] | None:
    """The next member after the last turn who may speak, in the rest of this cycle or in the next one."""
    here = [speaker for speaker in thread.speakers if is_here(speaker)]
    if not thread.turns.order:
        order = first_order(thread.seed_text, stage_id, here)
        return _first(order, order, 0, thread)
    known = [speaker.member.id for speaker in here]
    late = _late(stage_id, thread, [speaker for speaker in here if speaker.member.id not in thread.turns.order])
    place = thread.turns.order.index(thread.turns.holder) + 1 if thread.turns.holder in thread.turns.order else 0
    order = (*(member_id for member_id in thread.turns.order if member_id in known), *late)
    upcoming = (*(member_id for member_id in thread.turns.order[place:] if member_id in known), *late)
    if (found := _first(upcoming, order, thread.turns.cycle, thread)) is not None:
        return found
    order = next_order(thread.seed_text, stage_id, order, here, cycle=thread.turns.cycle + 1)
    return _first(order, order, thread.turns.cycle + 1, thread)


def _first(
    among: Sequence[UUID], order: tuple[UUID, ...], cycle: int, thread: Thread
) -> tuple[tuple[UUID, ...], int, Speaker] | None:
    for member_id in among:
        speaker = thread.speaker(member_id)
        if speaker is not None and may_send(speaker, thread):
            return order, cycle, speaker
    return None


def first_order(seed_text: str, stage_id: str, here: Sequence[Speaker]) -> tuple[UUID, ...]:
    """Mediators, shuffled once, then the participants of cycle 0."""
    mediators = shuffled(of_kind("mediator", here), f"{seed_text}-{stage_id}-mediators")
    participants = shuffled(of_kind("participant", here), f"{seed_text}-{stage_id}-0")
    return tuple(speaker.member.id for speaker in (*mediators, *participants))


def next_order(
    seed_text: str, stage_id: str, order: tuple[UUID, ...], here: Sequence[Speaker], *, cycle: int
) -> tuple[UUID, ...]:
    """The order of the next cycle: with a mediator in it, participants are shuffled anew; otherwise it stays."""
    mediators = {speaker.member.id for speaker in of_kind("mediator", here)}
    if not mediators:
        return order
    participants = shuffled(of_kind("participant", here), f"{seed_text}-{stage_id}-{cycle}")
    leading = (member_id for member_id in order if member_id in mediators)
    return (*leading, *(speaker.member.id for speaker in participants))


def _late(stage_id: str, thread: Thread, newcomers: Sequence[Speaker]) -> tuple[UUID, ...]:
    """A member who came after the draw speaks after those in the order."""
    seed_text = f"{thread.seed_text}-{stage_id}-new-mediators-{thread.turns.cycle}"
    mediators = shuffled(of_kind("mediator", newcomers), seed_text)
    return tuple(speaker.member.id for speaker in (*mediators, *of_kind("participant", newcomers)))
