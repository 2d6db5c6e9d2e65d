"""The members of the story, with the words by which each is known."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from parley_lab.base import seeds

Json = Any

PROFILES: Final[Mapping[str, dict[str, str]]] = {
    "ana": {"name": "Ana", "pronouns": "she/her"},
    "ben": {"name": "Ben", "pronouns": "he/him"},
    "dan": {"name": "Dan"},
    "eve": {"name": "Eve"},
    "fay": {"name": "Fay"},
    "mo": {"name": "Mo", "pronouns": "they/them"},
    "kim": {"name": "Kim"},
}
MEDIATORS: Final = ("mo", "kim")
ROLES: Final = {"ana": "First", "ben": "Second", "mo": "Mo"}
"""Of an interview; Dan and Kim have none."""
_WORD: Final = re.compile(r"<([a-z]+)(?:-to-([a-z]+))?@([a-z0-9-]+)>")
LATER: Final = "later"


def word(author: str, stage_id: str, to: str = "") -> str:
    """The word that this member says on this stage, and nowhere else.

    `to` is the only reader of a mediator's word, or LATER for what Ana says once the other participants have left the
    room.
    """
    return f"<{author}{f'-to-{to}' if to else ''}@{stage_id}>"


def secret(owner: str) -> str:
    return f"secret-of-{owner}"


def words_in(text: str, stage_id: str) -> set[str]:
    """The words of this stage in the text."""
    return {found.group() for found in _WORD.finditer(text) if found[3] == stage_id}


SEED = 1


@dataclass(frozen=True)
class Cast:
    """The members of the cohort. Ana is a person.

    `absent` are people who leave before the start, `removed` people who come to the first conversation and are removed
    there before they say a word. `kinds` are those that they go through; without any, all. They come `back` through
    them in reverse order.
    """

    participants: tuple[str, ...]
    mediators: tuple[str, ...] = MEDIATORS
    absent: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    back: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.participants, *self.mediators)

    def others(self, name: str) -> set[str]:
        return {*self.names, *self.absent, *self.removed} - {name}

    def came_to(self, stage_id: str) -> tuple[str, ...]:
        return (*self.participants, *(self.removed if stage_id == "first-group-chat" else ()))

    def as_shown(self, names: Iterable[str]) -> list[str]:
        """In the order in which pages and prompts list them."""
        seats = enumerate((*self.participants, *self.absent, *self.removed), 1)
        paths = {name: f"c1/m{number}" for number, name in seats}
        paths |= {name: f"c1/med{number}" for number, name in enumerate(self.mediators, 1)}
        return sorted(names, key=lambda name: seeds.tag(SEED, paths[name]))


@dataclass(frozen=True)
class Reader:
    """The reader. `partner` is the participant with whom a mediator is alone now."""

    name: str
    cast: Cast
    partner: str | None = None

    @property
    def is_mediator(self) -> bool:
        return self.name in self.cast.mediators

    @property
    def room(self) -> str | None:
        """Whose private conversation the reader looks at."""
        return self.partner if self.is_mediator else self.name


def in_words(name: str) -> str:
    pronouns = PROFILES[name].get("pronouns")
    return f"{PROFILES[name]['name']} ({pronouns})" if pronouns else PROFILES[name]["name"]


def with_pronouns(name: str) -> str:
    return ", ".join(PROFILES[name].values())


def in_a_sentence(name: str) -> str:
    profile = PROFILES[name]
    return f"{profile['name']} ({profile['pronouns']})" if "pronouns" in profile else profile["name"]


def shown_name(author: str, reader: Reader) -> str:
    return "you" if author == reader.name else PROFILES[author]["name"]
