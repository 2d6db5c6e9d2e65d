"""The door of the rules: what is due in a thread, and what people and timers do to it."""

from dataclasses import replace
from uuid import UUID

from shared.conversation.asking import with_checks, with_next_wave, with_wake_up_round
from shared.conversation.changes import (
    after_speaking,
    close_leftovers,
    ending,
    has_more_topics,
    new_message,
    with_closed,
    with_goodbye,
    with_line,
)
from shared.conversation.publishing import greet, publish_next
from shared.conversation.publishing import time_is_up as time_is_up
from shared.conversation.publishing import why_not as why_not
from shared.conversation.quiet import without_quiet_time
from shared.conversation.scene import Change, Draft, Scene
from shared.stage import Member


def next_change(scene: Scene) -> Change | None:
    """The change that is due now; None when the thread waits for somebody, or is over and tidied up."""
    if scene.ended:
        leftovers = close_leftovers(scene)
        return leftovers if leftovers.closed else None
    if scene.held:
        return None
    return _say_due_goodbye(scene) or greet(scene) or publish_next(scene) or _ask_next(scene)


def _say_due_goodbye(scene: Scene) -> Change | None:
    """The goodbye of somebody who left while the conversation was held."""
    if not scene.turn.leaving:
        return None
    member = min((scene.member(member_id) for member_id in scene.turn.leaving), key=lambda one: one.path)
    left = replace(scene, turn=replace(scene.turn, leaving=scene.turn.leaving - {member.id}))
    return say_goodbye(left, member) or Change(left)


def _ask_next(scene: Scene) -> Change | None:
    change = with_next_wave(Change(scene))
    return None if change.after is scene else change


def say(
    scene: Scene, author: Member, text: str, *, client_key: str | None = None, reply_to: UUID | None = None
) -> Change:
    """A person's message, and whom it makes think. The thread must be open, and the kind let the person speak."""
    message = new_message(scene, author, text, scene.elapsed_ms(), client_key=client_key, reply_to=reply_to)
    return with_next_wave(Change(after_speaking(scene, message), messages=(message,)))


def say_goodbye(scene: Scene, member: Member) -> Change | None:
    """The lab's line that `member` has left; None when it was said already or the thread is over.

    While the thread is held, it is only kept in mind that the line is due.
    """
    if scene.ended or member.id in scene.turn.ready:
        return None
    if scene.held:
        return Change(replace(scene, turn=replace(scene.turn, leaving=scene.turn.leaving | {member.id})))
    return with_goodbye(Change(scene), member)


def go_on(scene: Scene, member: Member) -> Change | None:
    """`member` is done with the current topic; None when they were already, or no further topic follows.

    The agents who are not done are asked whether they are, too: nobody would ask those who have fallen silent.
    """
    if scene.ended or member.id in scene.turn.done or not has_more_topics(scene):
        return None
    done = replace(scene, turn=replace(scene.turn, done=scene.turn.done | {member.id}))
    return with_next_wave(with_checks(Change(done)))


def call_off(scene: Scene) -> Change:
    """Nobody is asked about what was said last any more: what is being thought about it is dropped when it comes."""
    everybody = frozenset(member.id for member in scene.members)
    turn = replace(scene.turn, trigger=f"off:{scene.last_seq}", asked=everybody, late={})
    return with_line(Change(replace(scene, turn=turn)), "The request was called off.")


def wake_up(scene: Scene, number: int) -> Change | None:
    """Everybody is asked again after a silence; None when somebody has spoken, or is about to."""
    turn = scene.turn
    if scene.ended or not turn.is_waking or turn.wake_ups != number:
        return None
    if any(draft.trigger_key == scene.trigger_key for draft in scene.drafts):
        return Change(replace(scene, turn=replace(turn, is_waking=False)))
    return with_wake_up_round(Change(scene))


def end_quiet_time(scene: Scene, number: int) -> Change | None:
    """What came in the quiet time is asked about; None when that was done already, or an agent has spoken since."""
    over = without_quiet_time(scene, number)
    if over is None or scene.held:
        return None if over is None else Change(over)
    return with_next_wave(Change(over))


def end(scene: Scene, reason: str) -> Change:
    """The thread is over: nothing more is said in it. A reply that is being thought about is dropped when it comes."""
    return ending(Change(scene), reason)


def lose(scene: Scene, draft: Draft) -> Change:
    """The scene after `draft` lost its claim: its author leaves all the same when it was ready to end."""
    return with_closed(Change(scene), draft, "lost_claim")
