"""Decides about the next ready draft: publishes it, or closes it with the reason."""

from collections.abc import Iterator
from dataclasses import replace

from parley_lab.base import seeds
from parley_lab.kinds import Member
from parley_lab.kinds.chat.speaking import TIME_IS_UP
from parley_lab.talk.asking import opening_lines, with_next_wave
from parley_lab.talk.changes import after_speaking, as_drafts, ending, heard_as_ready, new_message, with_closed, without
from parley_lab.talk.pace import typing_seconds
from parley_lab.talk.quiet import with_others_first
from parley_lab.talk.scene import TURN, Change, Closing, Draft, Scene
from parley_lab.talk.view import view_of


def greet(scene: Scene) -> Change | None:
    """Fixed opening lines of agents that are present and have not had theirs."""
    newcomers = [
        member
        for member in scene.members
        if member.present
        and member.player == "agent"
        and member.chat.initial_message
        and member.id not in scene.turn.opened | scene.turn.ready
    ]
    if not newcomers:
        return None
    wanted = opening_lines(scene, newcomers, [_opening_delay(scene, member) for member in newcomers])
    turn = replace(scene.turn, opened=scene.turn.opened | {member.id for member in newcomers})
    return Change(replace(scene, turn=turn, drafts=scene.drafts + as_drafts(wanted)), wanted=wanted)


def _opening_delay(scene: Scene, member: Member) -> float:
    rng = seeds.rng(scene.seed, f"{member.path}/{scene.stage.id}/opening")
    return typing_seconds(member.chat.initial_message, member.chat.words_per_minute, rng)


def publish_next(scene: Scene) -> Change | None:
    """Publish the next ready draft that is due, or close it with the reason."""
    draft = next(_due(scene), None)
    if draft is None:
        return None
    if _is_past_its_limit(scene, draft):
        return time_is_up(scene)
    closing = why_not(scene, draft)
    return with_closed(Change(scene), draft, closing) if closing else _publish(scene, draft)


def _is_past_its_limit(scene: Scene, draft: Draft) -> bool:
    """Whether a simulated conversation was over before this reply was ready."""
    limit = scene.talk.rules.time_limit_seconds
    is_simulated = scene.pace == "fast" and not scene.has_people and not scene.turn.is_overtime
    return is_simulated and limit is not None and (draft.finish_ms or 0) > limit * 1000


def time_is_up(scene: Scene) -> Change:
    """Apply the time limit: the end or, where the kind says so, overtime."""
    if scene.talk.outlasts_its_limit(view_of(scene)):
        overtime = replace(scene, turn=replace(scene.turn, is_overtime=True))
        return with_next_wave(Change(overtime))
    return ending(Change(scene), TIME_IS_UP)


def _due(scene: Scene) -> Iterator[Draft]:
    """Ready drafts in the order in which they are decided.

    In pace `fast` nothing is due before the whole wave is ready, so that the order depends on the drawn finish times
    alone, and not on the order in which calls return.
    """
    ready = [draft for draft in scene.moving_drafts if draft.state == "ready"]
    if scene.pace == "live":
        due = (draft for draft in ready if draft.due_at is not None and draft.due_at <= scene.now)
        yield from sorted(due, key=lambda draft: (_spoken_before(scene, draft), draft.due_at, draft.path))
    elif not any(draft.state != "ready" and _is_current(scene, draft) for draft in scene.moving_drafts):
        # Openings come before replies: otherwise the arrival of opening lines would decide which of them gets a reply.
        yield from sorted(ready, key=lambda draft: (not draft.is_opening, draft.finish_ms or 0, draft.path))


def _spoken_before(scene: Scene, draft: Draft) -> int:
    """The author's number of messages: of replies ready together, that of the author with the fewest goes first."""
    return 0 if scene.lateness is None else scene.turn.spoken.get(draft.member_id, 0)


def _is_current(scene: Scene, draft: Draft) -> bool:
    return draft.is_check or draft.trigger_key == scene.trigger_key


def why_not(scene: Scene, draft: Draft) -> Closing | None:
    """Why this ready draft must not be published; None when it may try to claim its trigger.

    A message that answers the same trigger does not mean that the conversation has moved on: the claim decides between
    them. Nor do messages said since then, where late replies are published. A reply in a turn that was passed is
    dropped.
    """
    author = scene.member(draft.member_id)
    if scene.ended:
        return "ended"
    if not author.present or author.id in scene.turn.ready:
        return "cancelled"
    if draft.text is None:
        return "declined"
    if not draft.is_opening and not scene.may_still_be_said(draft):
        return "cancelled" if draft.trigger_key.startswith(f"{TURN}:") else "moved_on"
    spoken = scene.turn.spoken.get(author.id, 0)
    if author.chat.max_responses is not None and spoken >= author.chat.max_responses:
        return "cancelled"
    return None


def _publish(scene: Scene, draft: Draft) -> Change:
    author = scene.member(draft.member_id)
    elapsed = scene.elapsed_ms() if scene.pace == "live" else max(scene.elapsed_ms(), draft.finish_ms or 0)
    message = new_message(
        scene, author, draft.text or "", elapsed, trigger_key=draft.trigger_key, explanation=draft.explanation
    )
    after = after_speaking(without(scene, draft), message, overlooked=scene.overlooked_by(draft))
    if draft.is_opening and scene.is_in_turn:
        after = _with_turn_kept(scene, after)
    change = with_others_first(heard_as_ready(Change(after, claims=draft, messages=(message,)), draft))
    if scene.pace == "fast":
        change = _close_losers(change, draft)
    return with_next_wave(change)


def _with_turn_kept(before: Scene, after: Scene) -> Scene:
    """An opening line uses no turn: the holder keeps it, and a reply in the making counts."""
    turn = replace(after.turn, trigger=before.turn.trigger, asked=before.turn.asked, wave=before.turn.wave)
    return replace(after, failed=before.failed, turn=turn)


def _close_losers(change: Change, winner: Draft) -> Change:
    """In pace `fast` close the rest of the wave at once: they lost the claim, and authors who are ready to end
    leave."""
    losers = [
        draft for draft in change.after.drafts if draft.state == "ready" and draft.trigger_key == winner.trigger_key
    ]
    for loser in losers:
        change = with_closed(change, loser, "declined" if loser.text is None else "lost_claim")
    return change
