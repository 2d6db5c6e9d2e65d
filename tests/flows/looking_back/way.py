"""The way of each cast through all kinds of stages and back."""

from dataclasses import dataclass
from typing import Any, Final

from parley_lab.kinds import StageKind
from parley_lab.kinds.stages import kinds
from tests.flows.looking_back.cast import Cast
from tests.flows.looking_back.row import Row
from tests.flows.looking_back.table import ROWS


@dataclass(frozen=True)
class Stage:
    """A stage of the story; `first` and `second` are the two times that the story comes to its kind."""

    id: str
    kind: str

    @property
    def row(self) -> Row:
        return ROWS[self.kind]


def has_room(kind: StageKind[Any], participants: int) -> bool:
    least, most = kind.parts(kind.example()).players
    return least <= participants and (most is None or participants <= most)


def way(cast: Cast) -> list[Stage]:
    """Through all kinds that so many can go through, and back, from a page on which those leave who take no part.

    The group chat comes first: people are removed there. A way that does not go back ends with it once more, so that
    something looks back at the last kind, too.
    """
    in_order = sorted(kinds().items(), key=lambda one: (one[0] != "group_chat", one[0]))
    wanted = cast.kinds or kinds()
    there = [name for name, kind in in_order if name in wanted and has_room(kind, len(cast.participants))]
    times = (("first", there), ("second", there[::-1] if cast.back else there[:1]))
    through = [Stage(f"{time}-{name.replace('_', '-')}", name) for time, names in times for name in names]
    return [Stage("arrival", "info"), *through]


CASTS: Final = {
    "two": Cast(("ana", "ben")),
    "pair": Cast(("ana", "ben"), kinds=("group_chat", "matrix_game", "survey")),
    "three": Cast(("ana", "ben", "dan"), absent=("eve",), removed=("fay",)),
    "there": Cast(("ana", "ben", "dan"), absent=("eve",), removed=("fay",), back=False),
}
"""The pair goes through what three cannot play; two go through everything. In every run three do not go back: each
kind is looked back at from those after it."""
LONG: Final = ("two", "three")
