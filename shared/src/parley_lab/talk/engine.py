"""The entry points of the rules: what is due in a thread, and the actions of people and timers."""

from dataclasses import replace
from uuid import UUID

from parley_lab.kinds import Member
from parley_lab.kinds.sentences import LabLine
from parley_lab.talk.asking import with_checks, with_next_wave, with_wake_up_round
from parley_lab.talk.changes import (
    after_speaking,
    close_leftovers,
    ending,
    has_more_topics,
    new_message,
    with_closed,
    with_goodbye,
    with_line,
)
from parley_lab.talk.publishing import greet, publish_next
from parley_lab.talk.publishing import time_is_up as time_is_up
from parley_lab.talk.publishing import why_not as why_not
from parley_lab.talk.quiet import without_quiet_time
from parley_lab.talk.scene import Change, Draft, Scene


def next_change(scene: Scene) -> Change | None:
    """The change that is due now; None when the thread waits, or is over without open drafts."""
    if scene.ended:
        leftovers = close_leftovers(scene)
        return leftovers if leftovers.closed else None
    if scene.held:
        return None
    return _say_due_goodbye(scene) or greet(scene) or publish_next(scene) or _ask_next(scene)


def _say_due_goodbye(scene: Scene) -> Change | None:
    """The system message about a member who left while the conversation was paused."""
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
    """A person's message, and the drafts that it triggers. The thread must be open, and the kind must allow it."""
    message = new_message(scene, author, text, scene.elapsed_ms(), client_key=client_key, reply_to=reply_to)
    return with_next_wave(Change(after_speaking(scene, message), messages=(message,)))


def say_for_staff(scene: Scene, text: str, *, client_key: str, said_by: str) -> Change:
    """What an experimenter says, as a line of the lab: it is no trigger, and no agent is asked about it."""
    change = with_line(Change(scene), text)
    (line,) = change.messages
    return replace(change, messages=(replace(line, client_key=client_key, said_by=said_by),))


def say_goodbye(scene: Scene, member: Member) -> Change | None:
    """The system message that `member` has left; None when it exists already or the thread is over.

    While the thread is paused, only a note is kept that the message is due.
    """
    if scene.ended or member.id in scene.turn.ready:
        return None
    if scene.held:
        return Change(replace(scene, turn=replace(scene.turn, leaving=scene.turn.leaving | {member.id})))
    return with_goodbye(Change(scene), member)


def go_on(scene: Scene, member: Member) -> Change | None:
    """Mark `member` as done with the current topic; None when they already were, or no topic follows.

    The agents who are not done are asked for their readiness: agents that have fallen silent would not be asked
    otherwise.
    """
    if scene.ended or member.id in scene.turn.done or not has_more_topics(scene):
        return None
    done = replace(scene, turn=replace(scene.turn, done=scene.turn.done | {member.id}))
    return with_next_wave(with_checks(Change(done)))


def call_off(scene: Scene) -> Change:
    """Cancel the current trigger: replies to it that are in the making are dropped when they come."""
    everybody = frozenset(member.id for member in scene.members)
    turn = replace(scene.turn, trigger=f"off:{scene.last_seq}", asked=everybody, late={})
    return with_line(Change(replace(scene, turn=turn)), LabLine("The request was called off.", "called_off"))


def wake_up(scene: Scene, number: int) -> Change | None:
    """Ask all again after a silence; None when a member has spoken since, or is about to."""
    turn = scene.turn
    if scene.ended or not turn.is_waking or turn.wake_ups != number:
        return None
    if any(draft.trigger_key == scene.trigger_key for draft in scene.moving_drafts):
        return Change(replace(scene, turn=replace(turn, is_waking=False)))
    return with_wake_up_round(Change(scene))


def end_quiet_time(scene: Scene, number: int) -> Change | None:
    """Ask about all messages of the quiet time; None when that was done already, or an agent has spoken since."""
    over = without_quiet_time(scene, number)
    if over is None or scene.held:
        return None if over is None else Change(over)
    return with_next_wave(Change(over))


def end(scene: Scene, reason: str) -> Change:
    """End the thread: nothing more is said in it. A reply in the making is dropped when it comes."""
    return ending(Change(scene), reason)


def lose(scene: Scene, draft: Draft) -> Change:
    """The scene after `draft` lost its claim: an author who was ready to end leaves nevertheless."""
    return with_closed(Change(scene), draft, "lost_claim")
