"""The draws of a workbook, in two ways: exactly as the reference draws, or with a seed for every draw.

The reference seeds its only generator with the same number before each draw, so its draws are correlated, and tied
tasks have the same order in all sessions. `parley` gives each draw of each session a seed of its own. See decision
0015.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, Literal, TypeVar

from parley_lab.base import seeds

T = TypeVar("T")
Draws = Literal["reference", "parley"]


class Drawing(ABC):
    """All chance in a workbook; sessions are named by their ids, in order."""

    @abstractmethod
    def shuffled_agents(self, agents: Sequence[T]) -> list[T]:
        """The agents in the order in which they fill sessions."""

    @abstractmethod
    def simple_treatments(self, sessions: Sequence[str], labels: Sequence[str]) -> Mapping[str, str]:
        """A treatment for each session, drawn independently."""

    @abstractmethod
    def complete_treatments(self, sessions: Sequence[str], labels: Sequence[str]) -> Mapping[str, str]:
        """A treatment for each session, in numbers that differ by one at most."""

    @abstractmethod
    def roles(self, sessions: Sequence[str], labels: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """The roles of each session, in the order of its agents."""

    @abstractmethod
    def task_orders(self, sessions: Sequence[str], groups: Sequence[Sequence[T]]) -> Mapping[str, Sequence[T]]:
        """The tasks of each session; `groups` hold the tasks of equal order, in ascending order."""

    @abstractmethod
    def seed_of(self, draw: str, session: str | None = None) -> str:
        """The seed of the draw with this name, for the record."""


class ReferenceDrawing(Drawing):
    """Draws exactly as the reference does; tests compare with its numbers."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def shuffled_agents(self, agents: Sequence[T]) -> list[T]:
        return [agents[index] for index in numpy_permutation(self._seed, len(agents))]

    def simple_treatments(self, sessions: Sequence[str], labels: Sequence[str]) -> Mapping[str, str]:
        rng = Random(self._seed)
        return {session: rng.choice(labels) for session in sessions}

    def complete_treatments(self, sessions: Sequence[str], labels: Sequence[str]) -> Mapping[str, str]:
        return _dealt(Random(self._seed), sessions, labels)

    def roles(self, sessions: Sequence[str], labels: Sequence[str]) -> Mapping[str, Sequence[str]]:
        rng = Random(self._seed)
        return {session: rng.sample(labels, len(labels)) for session in sessions}

    def task_orders(self, sessions: Sequence[str], groups: Sequence[Sequence[T]]) -> Mapping[str, Sequence[T]]:
        order = _shuffled_groups(Random(self._seed), groups)
        return dict.fromkeys(sessions, order)

    def seed_of(self, draw: str, session: str | None = None) -> str:
        return str(self._seed)


class ParleyDrawing(Drawing):
    """Draws from (seed, name of the draw, session): draws are independent of each other."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def shuffled_agents(self, agents: Sequence[T]) -> list[T]:
        return self._rng("sessions").sample(agents, len(agents))

    def simple_treatments(self, sessions: Sequence[str], labels: Sequence[str]) -> Mapping[str, str]:
        return {session: self._rng("treatment", session).choice(labels) for session in sessions}

    def complete_treatments(self, sessions: Sequence[str], labels: Sequence[str]) -> Mapping[str, str]:
        return _dealt(self._rng("treatments"), sessions, labels)

    def roles(self, sessions: Sequence[str], labels: Sequence[str]) -> Mapping[str, Sequence[str]]:
        return {session: self._rng("roles", session).sample(labels, len(labels)) for session in sessions}

    def task_orders(self, sessions: Sequence[str], groups: Sequence[Sequence[T]]) -> Mapping[str, Sequence[T]]:
        return {session: _shuffled_groups(self._rng("tasks", session), groups) for session in sessions}

    def seed_of(self, draw: str, session: str | None = None) -> str:
        return f"{self._seed}/{_path(draw, session)}"

    def _rng(self, draw: str, session: str | None = None) -> Random:
        return seeds.rng(self._seed, _path(draw, session))


def drawing(draws: Draws, seed: int) -> Drawing:
    """The way of drawing with this name."""
    return ReferenceDrawing(seed) if draws == "reference" else ParleyDrawing(seed)


def _path(draw: str, session: str | None) -> str:
    return f"workbook/{draw}" if session is None else f"workbook/{draw}/{session}"


def _dealt(rng: Random, sessions: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    shuffled = list(sessions)
    rng.shuffle(shuffled)
    return {session: labels[number % len(labels)] for number, session in enumerate(shuffled)}


def _shuffled_groups(rng: Random, groups: Sequence[Sequence[T]]) -> list[T]:
    order: list[T] = []
    for group in groups:
        shuffled = list(group)
        rng.shuffle(shuffled)
        order += shuffled
    return order


_WORDS: Final = 624
_KNUTH: Final = 1_812_433_253


def numpy_permutation(seed: int, length: int) -> list[int]:
    """The result of numpy's `RandomState(seed).permutation(length)`, with which the reference shuffles tables.

    It is Python's Mersenne Twister with an older seeding (Matsumoto and Nishimura's init_genrand), and the shuffle of
    Fisher and Yates from the end, with rejection of numbers that are too large.
    """
    state = [seed]
    for number in range(1, _WORDS):
        state.append((_KNUTH * (state[-1] ^ (state[-1] >> 30)) + number) & 0xFFFFFFFF)
    twister = Random()
    twister.setstate((3, (*state, _WORDS), None))
    order = list(range(length))
    for last in range(length - 1, 0, -1):
        mask = (1 << last.bit_length()) - 1
        while (other := twister.getrandbits(32) & mask) > last:
            pass
        order[last], order[other] = order[other], order[last]
    return order
