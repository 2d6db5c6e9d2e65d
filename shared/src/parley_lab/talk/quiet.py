"""Quiet time: agents are asked once about messages that people write in quick succession, and who has just spoken lets
the others go first."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.talk.scene import Change, NewTimer, Scene


def is_quiet(scene: Scene) -> bool:
    """Whether a person's message waits for the end of a quiet time that an earlier message has started."""
    is_new = scene.turn.wave == 0 and scene.is_of_person
    return is_new and _goes_on(scene)


def with_window(change: Change) -> Change:
    """Start a quiet time when agents are asked about a person's message; agents' messages neither start nor obey
    one."""
    scene = change.after
    lateness = scene.lateness
    is_first_wave = scene.turn.wave == 1 and scene.is_of_person
    if lateness is None or scene.pace != "live" or not is_first_wave:
        return change
    turn = replace(scene.turn, quiet_until=scene.real_ms() + int(lateness.quiet_seconds * 1000), quiet_timer=None)
    return replace(change, after=replace(scene, turn=turn))


def with_others_first(change: Change) -> Change:
    """Start a quiet time for an agent that has spoken without having read all, while others think about the same
    message.

    Otherwise it would be asked again before the others, whose replies have lost; with models that are equally fast it
    would be the first each time, and the others would never get to speak.
    """
    scene = change.after
    if scene.lateness is None or scene.pace != "live" or not scene.turn.has_overlooked or not _has_rivals(scene):
        return change
    turn = replace(scene.turn, quiet_until=scene.real_ms() + int(scene.lateness.quiet_seconds * 1000))
    return replace(change, after=replace(scene, turn=turn))


def lets_others_go_first(scene: Scene) -> UUID | None:
    """The last speaker, while its quiet time goes on and others still think about the message that it has answered."""
    return scene.last_author_id if _goes_on(scene) and scene.is_of_agent and _has_rivals(scene) else None


def _goes_on(scene: Scene) -> bool:
    """Whether it is a quiet time; never while the clock of the thread has stopped, since it would not end."""
    until = scene.turn.quiet_until
    return until is not None and not scene.is_clock_stopped and scene.real_ms() < until


def _has_rivals(scene: Scene) -> bool:
    return any(draft.trigger_key == scene.last_spoken_trigger for draft in scene.moving_drafts)


def with_quiet_time(change: Change) -> Change:
    """Ask nobody for whom it is before the quiet time is over: one timer ends it, however many messages come
    meanwhile."""
    scene, turn = change.after, change.after.turn
    if turn.quiet_timer is not None or turn.quiet_until is None:
        return change
    path = f"{scene.path}/quiet:{turn.said}"
    timer = NewTimer(
        id=seeds.row_id(scene.experiment_id, path),
        path=path,
        purpose="quiet",
        generation=turn.said,
        due_at=scene.opened_at + timedelta(milliseconds=turn.quiet_until),
    )
    after = replace(scene, turn=replace(turn, quiet_timer=turn.said))
    return replace(change, after=after, timers=(*change.timers, timer))


def without_quiet_time(scene: Scene, number: int) -> Scene | None:
    """The scene after its timer has fired; None when that timer is out of date."""
    if scene.ended or scene.turn.quiet_timer != number:
        return None
    return replace(scene, turn=replace(scene.turn, quiet_until=None, quiet_timer=None))
