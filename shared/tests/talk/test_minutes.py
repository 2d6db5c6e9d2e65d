"""Minutes of an interview: append-only, each line once, nothing that only some have heard."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.experiment import ChatSettings
from parley_lab.kinds import Ask
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.stages.group_interview import transcript
from parley_lab.kinds.talk import Minutes
from parley_lab.talk import NewMessage, write_down
from parley_lab.testing.interviews import MEMBERS, TASKS, Course, stage, task
from parley_lab.testing.thread_world import World, a_scene

PRIVATE = {one.id for one in TASKS if one.type == "private_question"}


class Room:
    """An interview with its thread; `settle` is what settling the cohort does with it."""

    def __init__(self, course: Course, pace: str = "live") -> None:
        self.course = course
        self.world = World(a_scene(*MEMBERS, pace=pace, of=course.stage))
        self.snapshots: list[list[str]] = []

    def settle(self, *, more_are_to_come: bool = False) -> None:
        of = parts_of(self.course.stage).minutes
        assert of is not None
        minutes = of(self.course.view)
        known = frozenset(str(message.client_key) for message in self.world.messages)
        open_now = Minutes(minutes.lines, minutes.are_closed and not more_are_to_come)
        self.world.write_if(write_down(self.world.scene, open_now, known))
        self.snapshots.append(self.lines)

    def answer(self, ask: Ask) -> None:
        """With a text that no other answer has."""
        self.course.answer(ask, f"{self.course.role(ask.member_id)} on {ask.key}")

    @property
    def messages(self) -> list[NewMessage]:
        return self.world.messages

    @property
    def lines(self) -> list[str]:
        """In the words of a transcript."""
        return [f"{said.author_name}: {said.text}" if said.author else said.text for said in self.messages]

    @property
    def everything(self) -> list[str]:
        """All that the lab knows to have been said."""
        course = self.course
        return [*map(transcript.in_words, transcript.lines(course.stage, course.view.draws, course.view.state, None))]

    @property
    def secrets(self) -> set[str]:
        """What was answered in the private round that is on."""
        on = {task_id for _, task_id in self.course.open} & PRIVATE
        return {line.text for line in self._replies() if line.task_id in on}

    def _replies(self) -> list[transcript.Line]:
        course = self.course
        lines = transcript.lines(course.stage, course.view.draws, course.view.state, None)
        return [line for line in lines if not line.is_read_out]


@given(seed=st.integers(), most=st.one_of(st.none(), st.integers(min_value=1, max_value=12)))
def test_however_an_interview_goes_its_minutes_grow_into_its_transcript(seed: int, most: int | None) -> None:
    room, rng = Room(Course(stage(max_replies=most))), Random(seed)
    while room.course.asks:
        ask = rng.choice(room.course.asks)
        if rng.random() < 0.1:
            room.course.set_present(ask.member_id, False)
        else:
            room.answer(ask)
        for _ in range(rng.choice((0, 1, 1, 2))):
            room.settle()
            assert not room.secrets & {message.text for message in room.messages}
    room.settle()
    room.settle()

    assert room.lines == room.everything
    assert all(shot == room.everything[: len(shot)] for shot in room.snapshots)
    assert room.world.scene.ended
    assert [message.seq for message in room.messages] == [*range(1, len(room.messages) + 1)]
    assert len({message.id for message in room.messages}) == len(room.messages)


@given(seed=st.integers())
def test_what_comes_late_because_someone_was_away_is_written_at_the_end(seed: int) -> None:
    room, rng = Room(Course(stage())), Random(seed)
    away: list[Any] = []
    while room.course.asks or away:
        if away and (not room.course.asks or rng.random() < 0.2):
            room.course.set_present(away.pop(), True)
        elif rng.random() < 0.2:
            away.append(rng.choice(room.course.asks).member_id)
            room.course.set_present(away[-1], False)
        else:
            room.answer(rng.choice(room.course.asks))
        room.settle(more_are_to_come=bool(away))

    assert room.world.scene.ended
    assert all(shot == room.lines[: len(shot)] for shot in room.snapshots)
    keys = [message.client_key for message in room.messages]
    assert len(keys) == len(set(keys))
    assert not Counter(room.everything) - Counter(room.lines)


def test_lines_tell_who_is_asked_what_it_is_about_and_who_says_it() -> None:
    room = Room(Course(stage(task("open", "public_question", "B", "A"), task("news", "context"))))
    room.settle()
    while room.course.asks:
        room.answer(room.course.asks[0])
        room.settle()

    said = [(one.author and one.author.path, one.author_name, one.topic, one.text) for one in room.messages]
    assert said == [
        (None, None, "open", "Facilitator (to B): B?"),
        ("c1/m2", "B", "open", "B on task:open"),
        (None, None, "open", "Facilitator (to A): A?"),
        ("c1/m1", "A", "open", "A on task:open"),
        (None, None, "news", "Facilitator: news!"),
    ]


def times(pace: str, seconds: float = 0.0, **chat: Any) -> list[int]:
    """When the lines of a discussion and of a private round were heard."""
    room = Room(Course(stage(task("talk", "discussion"), task("closed", "private_question", "A", "B", "C"))), pace)
    members = tuple(replace(one, chat=ChatSettings(**chat)) for one in MEMBERS)
    room.world.scene = replace(room.world.scene, members=members)
    room.settle()
    while room.course.asks:
        for ask in room.course.asks:
            room.answer(ask)
        room.world.scene = room.world.scene_at(seconds)
        room.settle()
    return [message.elapsed_ms for message in room.messages]


def test_in_pace_live_lines_are_heard_when_they_are_written() -> None:
    assert times("live", 2.5) == [0, 2500, 5000, 7500, 10_000, *[12_500] * 6]


def test_simulated_time_is_that_of_thinking_and_typing_and_a_round_is_as_long_as_its_slowest() -> None:
    slow, fast = times("fast", words_per_minute=30), times("fast")

    assert fast == times("fast", 2.5)
    assert fast == sorted(fast)
    assert fast[0] == 0
    assert all(1000 <= later - before <= 4000 for before, later in pairwise(fast[:6]))
    assert len(set(fast[5:])) == 1
    assert slow[-1] > fast[-1]


def test_no_one_posts_in_minutes() -> None:
    assert parts_of(stage()).talk is None
