"""Quiet time: what people say in quick succession is asked about together."""

from dataclasses import replace
from datetime import timedelta

from shared import seeds
from shared.conversation.scene import Change, NewTimer, Scene


def is_quiet(scene: Scene) -> bool:
    """Whether what a person said waits for the end of a quiet time that an earlier message began."""
    until = scene.turn.quiet_until
    is_new = scene.turn.wave == 0 and scene.is_of_person
    return is_new and until is not None and scene.real_ms() < until


def with_window(change: Change) -> Change:
    """A quiet time begins when a person's message is asked about; an agent's message neither begins nor obeys one."""
    scene = change.after
    lateness = scene.lateness
    is_first_wave = scene.turn.wave == 1 and scene.is_of_person
    if lateness is None or scene.pace != "live" or not is_first_wave:
        return change
    turn = replace(scene.turn, quiet_until=scene.real_ms() + int(lateness.quiet_seconds * 1000), quiet_timer=None)
    return replace(change, after=replace(scene, turn=turn))


def with_quiet_time(change: Change) -> Change:
    """Nobody is asked before the quiet time is over: one timer sees to it, however many messages come meanwhile."""
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
    """The scene once its timer has fired; None when that timer is out of date."""
    if scene.ended or scene.turn.quiet_timer != number:
        return None
    return replace(scene, turn=replace(scene.turn, quiet_until=None, quiet_timer=None))
