"""A thread as the turn-taking of its kind sees it, and a message as its members see it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import Member
from parley_lab.kinds.view import LastWords, Speaker, Thread, ThreadClock, Turns, WakeUps
from parley_lab.talk.scene import Draft, NewMessage, Scene


def view_of(scene: Scene) -> Thread:
    """The thread for the kind's turn-taking."""
    turn = scene.turn
    return Thread(
        pace=scene.pace,
        trigger_key=scene.trigger_key,
        message_count=scene.last_seq,
        agent_run=scene.agent_run,
        speakers=tuple(_speakers(scene)),
        ended=scene.ended,
        topic=turn.topic,
        checked=turn.checked,
        is_thinking=any(_is_awaited(scene, draft) for draft in scene.drafts),
        seed_text=f"{scene.seed}/{scene.path.partition('/')[0]}",
        last=LastWords(scene.last_author_id, scene.last_text, turn.has_overlooked),
        turns=Turns(turn.order, turn.cycle, turn.holder, turn.skips),
        clock=ThreadClock(scene.elapsed_ms(), turn.started_ms, _silent_ms(scene), turn.is_overtime),
        wake_ups=WakeUps(turn.unanswered, turn.is_waking),
    )


def _speakers(scene: Scene) -> Iterator[Speaker]:
    turn = scene.turn
    at_work = {draft.member_id for draft in scene.drafts if draft.trigger_key == scene.trigger_key}
    busy = {draft.member_id for draft in scene.drafts if _keeps_busy(scene, draft)}
    for member in scene.members:
        failed = scene.failed.get(member.id)
        yield Speaker(
            member,
            spoken=turn.spoken.get(member.id, 0),
            ready=member.id in turn.ready,
            done=member.id in turn.done,
            was_asked=member.id in turn.asked,
            has_failed=failed is not None,
            is_unreachable=failed == "failed",
            heard=turn.heard.get(member.id, 0),
            is_at_work=member.present and member.id in at_work,
            is_busy=member.id in busy,
        )


def _is_awaited(scene: Scene, draft: Draft) -> bool:
    """Whether this reply is in the making, for the current trigger or one that only messages have overtaken."""
    is_current = draft.trigger_key == scene.trigger_key or draft.trigger_key in scene.turn.late
    return is_current and scene.member(draft.member_id).present


def _keeps_busy(scene: Scene, draft: Draft) -> bool:
    """Whether its author is asked again only after this draft; a draft that no worker has started does not count."""
    if scene.lateness is None or draft.state == "wanted" or not scene.member(draft.member_id).present:
        return False
    return draft.is_check or draft.trigger_key in scene.turn.late


def _silent_ms(scene: Scene) -> int:
    if scene.last_spoken_at is None:
        return 0
    return int((scene.now - scene.last_spoken_at) / timedelta(milliseconds=1))


def public_message(scene: Scene, message: NewMessage) -> dict[str, Any]:
    """A message as everybody in the thread sees it; who is an agent, and why it spoke, is not in it."""
    return {
        "id": str(message.id),
        "thread_id": str(scene.thread_id),
        "stage_id": scene.stage.id,
        "seq": message.seq,
        "author": message.author and {"id": str(message.author.id), "profile": _profile_in(message, message.author)},
        "text": message.text,
        "line": message.line,
        "reply_to": message.quote and message.quote["id"],
        "quote": message.quote,
        "reactions": [],
        "elapsed_ms": message.elapsed_ms,
        "topic": message.topic,
        "created_at": scene.now.isoformat().replace("+00:00", "Z"),
    }


def _profile_in(message: NewMessage, author: Member) -> dict[str, str]:
    """How the others know the author here."""
    known = author.profile if message.author_name is None else Profile(name=message.author_name)
    return known.model_dump()
