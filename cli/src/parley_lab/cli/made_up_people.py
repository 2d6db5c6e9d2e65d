"""The people of a rehearsal: how many come, and when, their fates and their names. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from parley_lab.base import seeds
from parley_lab.contracts.experiment import Profile

Fate = Literal["stays", "comes back", "leaves", "goes silent", "closes the page", "declines"]

_FATES: Final[Mapping[Fate, int]] = {"stays": 7, "comes back": 2, "leaves": 1}
_BETWEEN_BURSTS_SECONDS: Final = 5.0, 15.0
_CLOSED_SECONDS: Final = 25.0, 40.0
"""A page that is closed for so long makes its person gone (`people/presence.py`)."""
_NAMES: Final = (
    "Ada", "Adam", "Aiko", "Ali", "Amara", "Ana", "Anton", "Aysha", "Bela", "Ben", "Bruno", "Camila", "Carlos", "Chen",
    "Clara", "Daria", "David", "Diego", "Elena", "Emeka", "Emil", "Eva", "Farid", "Fatima", "Felix", "Finn", "Grace",
    "Hana", "Hugo", "Ida", "Ines", "Ivan", "Jack", "Jana", "Jonas", "Julia", "Kamal", "Kofi", "Lara", "Leila", "Leo",
    "Lina", "Luca", "Maja", "Malik", "Marta", "Mei", "Milan", "Mina", "Nadia", "Nils", "Noor", "Olga", "Omar", "Oscar",
    "Paula", "Pedro", "Priya", "Rafael", "Ravi", "Rosa", "Samir", "Sofia", "Tom", "Uma", "Vera", "Viktor", "Wei",
    "Yara", "Yusuf", "Zoe",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Turnout:
    """How many made-up people never come, come and go silent, close the page for a while, or decline; and in how many
    bursts they come."""

    no_shows: int = 0
    silent: int = 0
    closing: int = 0
    declining: int = 0
    bursts: int = 1

    @property
    def is_short(self) -> bool:
        """Whether some are missing: then others do not come in the place of those who are out early."""
        return self.no_shows + self.silent > 0

    @property
    def others(self) -> int:
        """How many of the people do something else than to take part."""
        return self.no_shows + self.silent + self.closing + self.declining

    def __str__(self) -> str:
        """`2 never come and 1 goes silent`."""
        said = [
            (self.no_shows, "never comes", "never come"),
            (self.silent, "goes silent", "go silent"),
            (self.closing, "closes the page and comes back", "close the page and come back"),
            (self.declining, "declines", "decline"),
        ]
        parts = [f"{count} {one if count == 1 else more}" for count, one, more in said if count]
        return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)

    def fate_of(self, number: int, seats: int, seed: int) -> Fate:
        """The fate of the person with this number, from 1; the first stays, unless all are needed for the rest.

        Those who never come are the last; before them are the silent ones, those who close the page, and those who
        decline. A number beyond the seats is that of a person who comes later in the place of another one.
        """
        left = seats - self.no_shows - number
        if number > seats:
            return _draw_fate(number, seed)
        fates: tuple[tuple[int, Fate], ...] = (
            (self.silent, "goes silent"),
            (self.closing, "closes the page"),
            (self.declining, "declines"),
        )
        for count, fate in fates:
            if left < count:
                return fate
            left -= count
        return "stays" if number == 1 else _draw_fate(number, seed)

    def comes_after_seconds(self, number: int, seats: int, seed: int) -> float:
        """How long after the beginning the person comes: those of one burst come at once."""
        size = -(-seats // self.bursts)
        return sum(
            _rng(seed, f"burst/{burst}").uniform(*_BETWEEN_BURSTS_SECONDS)
            for burst in range(1, (number - 1) // size + 1)
            if number <= seats
        )


ALL_COME: Final = Turnout()


def closed_seconds(rng: Random) -> float:
    """How long a page stays closed whose person comes back."""
    return rng.uniform(*_CLOSED_SECONDS)


def name_of(number: int, seed: int) -> str:
    """The name of the person with this number; no two of a rehearsal have the same one."""
    names = list(_NAMES)
    _rng(seed, "names").shuffle(names)
    again, place = divmod(number - 1, len(names))
    return f"{names[place]} {again + 1}" if again else names[place]


def profile_of(number: int, seed: int, persona: Profile | None) -> Profile:
    """How the others know the person: as their persona, if they have one with a name."""
    return persona if persona is not None and persona.name else Profile(name=name_of(number, seed))


def _draw_fate(number: int, seed: int) -> Fate:
    return _rng(seed, f"{number}/fate").choices(list(_FATES), list(_FATES.values()))[0]


def _rng(seed: int, what: str) -> Random:
    return seeds.rng(seed, f"rehearsal/{what}")
