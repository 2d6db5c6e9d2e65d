"""A thread as the turn-taking of its kind sees it."""

from datetime import timedelta

from shared.conversation.scene import Draft, Scene
from shared.stage import Speaker, Thread


def view_of(scene: Scene) -> Thread:
    """The thread as the kind's turn-taking sees it."""
    turn = scene.turn
    speakers = (
        Speaker(member, turn.spoken.get(member.id, 0), member.id in turn.ready, member.id in turn.done)
        for member in scene.members
    )
    return Thread(
        path=scene.path,
        pace=scene.pace,
        trigger_key=scene.trigger_key,
        last_author_id=scene.last_author_id,
        message_count=scene.last_seq,
        agent_run=scene.agent_run,
        speakers=tuple(speakers),
        asked=turn.asked,
        ended=scene.ended,
        last_text=scene.last_text,
        seed_text=f"{scene.seed}/{scene.path.partition('/')[0]}",
        failed=frozenset(scene.failed),
        unreachable=frozenset(member_id for member_id, state in scene.failed.items() if state == "failed"),
        heard=turn.heard,
        checked=turn.checked,
        topic=turn.topic,
        order=turn.order,
        cycle=turn.cycle,
        holder=turn.holder,
        skips=turn.skips,
        wake_ups=turn.unanswered,
        is_waking=turn.is_waking,
        is_overtime=turn.is_overtime,
        is_thinking=any(_is_awaited(scene, draft) for draft in scene.drafts),
        elapsed_ms=scene.elapsed_ms(),
        started_ms=turn.started_ms,
        silent_ms=_silent_ms(scene),
        busy=frozenset(draft.member_id for draft in scene.drafts if _keeps_busy(scene, draft)),
        at_work=frozenset(
            draft.member_id
            for draft in scene.drafts
            if draft.trigger_key == scene.trigger_key and scene.member(draft.member_id).present
        ),
        has_overlooked=turn.has_overlooked,
    )


def _is_awaited(scene: Scene, draft: Draft) -> bool:
    """Whether this reply is on its way, or one to a trigger that nothing but messages has overtaken."""
    is_current = draft.trigger_key == scene.trigger_key or draft.trigger_key in scene.turn.late
    return is_current and scene.member(draft.member_id).present


def _keeps_busy(scene: Scene, draft: Draft) -> bool:
    """Whether its author is asked again only after this draft; one that nobody works on yet keeps nobody busy."""
    if scene.lateness is None or draft.state == "wanted" or not scene.member(draft.member_id).present:
        return False
    return draft.is_check or draft.trigger_key in scene.turn.late


def _silent_ms(scene: Scene) -> int:
    if scene.last_spoken_at is None:
        return 0
    return int((scene.now - scene.last_spoken_at) / timedelta(milliseconds=1))
