"""Which name of a set a member gets: an order of the set is drawn, and each seat has its place in it.

Members of one cohort may have different sets, by their treatments. What is drawn keeps the language of the names, so
that those of a run stay when the lab learns a language.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.languages import ENGLISH, NameLanguage
from parley_lab.kinds import Draws, Json, Member
from parley_lab.kinds.stages.profile.sets import SETS, anonymous

_ORDER: Final = "order"
_PLACES: Final = "places"
"""Where the draws of one set were kept, before members of a cohort could have different ones."""
_LANGUAGE: Final = "language"
"""Of all sets; not there: English."""


class NameDraws(Draws):
    """The order of the set, and the place of each member in it: the place of the seat, in any order of arrival."""

    def __init__(self, set_name: str) -> None:
        self._set = set_name

    def beginning(self, rng: Random, language: NameLanguage) -> dict[str, Json]:
        return {} if language == ENGLISH else {_LANGUAGE: language}

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        """A member from another cohort whose place is taken here gets the next free one."""
        known = drawn.get(self._set, drawn)
        numbers = range(len(SETS[ENGLISH][self._set]))
        order = known.get(_ORDER) or rng.sample(numbers, len(numbers))
        places: dict[str, int] = dict(known.get(_PLACES, {}))
        taken = set(places.values())
        for one in members:
            if one.path not in places:
                of_seat = int(one.path.rpartition("/m")[2].partition(".")[0]) - 1
                places[one.path] = of_seat if of_seat not in taken else max(taken) + 1
                taken.add(places[one.path])
        return {**drawn, self._set: {_ORDER: order, _PLACES: places}}


def profile_of(set_name: str, draws: Mapping[str, Any], path: str) -> Profile | None:
    """What was drawn for this member; None before it was."""
    of_set = draws.get(set_name, draws)
    place = of_set.get(_PLACES, {}).get(path)
    if place is None:
        return None
    entries = SETS[draws.get(_LANGUAGE, ENGLISH)][set_name]
    return anonymous(entries[of_set[_ORDER][place % len(entries)]], place // len(entries))
