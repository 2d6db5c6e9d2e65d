"""Minutes: what all have heard on a stage, written into its thread as system messages. Pure."""

from collections.abc import Container
from dataclasses import replace
from typing import Final

from parley_lab.base import seeds
from parley_lab.kinds.talk import Minutes, MinutesLine
from parley_lab.talk.changes import ending, new_message
from parley_lab.talk.pace import thinking_seconds, typing_seconds
from parley_lab.talk.scene import Change, Scene

FINISHED: Final = "finished"
"""The reason of the end of a thread whose minutes are complete."""


def write_down(scene: Scene, minutes: Minutes, known: Container[str]) -> Change | None:
    """Write the missing lines in order, and the end; None when there is nothing to write.

    `known`: the keys of stored lines. Lines that are written together were heard at the same moment.
    """
    new = [line for line in minutes.lines if line.key not in known]
    if scene.ended or not (new or minutes.are_closed):
        return None
    heard_at = _heard_at_ms(scene, new)
    change = Change(replace(scene, clock_ms=heard_at))
    for line in new:
        change = _with_line(change, line, heard_at)
    return ending(change, FINISHED) if minutes.are_closed else change


def _with_line(change: Change, line: MinutesLine, heard_at: int) -> Change:
    scene = change.after
    author = None if line.author_id is None else scene.member(line.author_id)
    message = replace(
        new_message(scene, author, line.text, heard_at, client_key=line.key),
        topic=line.topic,
        author_name=line.author_name or None,
    )
    return replace(change, after=replace(scene, last_seq=message.seq), messages=(*change.messages, message))


def _heard_at_ms(scene: Scene, new: list[MinutesLine]) -> int:
    """Now; in pace `fast` the time at which the slowest of those who answered together would have been ready."""
    if scene.pace == "live":
        return scene.elapsed_ms()
    slowest = max((_taken_ms(scene, line) for line in new), default=0)
    return max(scene.elapsed_ms(), scene.clock_ms + slowest)


def _taken_ms(scene: Scene, line: MinutesLine) -> int:
    """How long an agent takes to think and type its answer; people take real time."""
    author = None if line.author_id is None else scene.member(line.author_id)
    if author is None or author.player != "agent":
        return 0
    rng = seeds.rng(scene.seed, f"{author.path}/{scene.stage.id}/{line.key}/pace")
    thinking = thinking_seconds(rng)
    return int((thinking + typing_seconds(line.text, author.chat.words_per_minute, rng)) * 1000)
