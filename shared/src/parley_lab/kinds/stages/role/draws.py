"""Draws roles: minimums first, then by chance among the roles with room. Pure.

A drawn role stays with its member, also in another cohort. Members who have left do not count: a later member may get
the role that is missing now.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from uuid import UUID

from parley_lab.kinds import Draws, Json, Member
from parley_lab.kinds.stages.role.config import Role, RoleStage


class RoleDraws(Draws):
    def __init__(self, stage: RoleStage) -> None:
        self._stage = stage

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        base = rng.getrandbits(64)
        # Each member has a separate random stream; otherwise all who come one by one would draw the same.
        chances = {str(one.id): Random(f"{base}/{one.place}") for one in members}
        new = [one for one in chances if one not in drawn]
        new.sort(key=lambda one: chances[one].random())
        given = dict(drawn)
        for one in new:
            taken = Counter(given[other] for other in chances if other in given)
            open_roles = _missing(self._stage.roles, taken) or _with_room(self._stage.roles, taken)
            given[one] = chances[one].choice(open_roles) if open_roles else None
        return given

    def brought(
        self, member_id: UUID, page: Json | None, elsewhere: Mapping[str, Json] | None = None
    ) -> dict[str, Json]:
        """The role that the member has; one who has none, because the stage was never theirs, gets none later."""
        me = str(member_id)
        if elsewhere is not None:
            return {me: elsewhere[me]} if me in elsewhere else {}
        return {me: page.get("role") if isinstance(page, Mapping) else None}

    def has_room(self, brought: Mapping[str, Json], held: Mapping[str, Json]) -> bool:
        with_room = _with_room(self._stage.roles, Counter(held.values()))
        return all(role is None or role in with_room for role in brought.values())


def _missing(roles: Iterable[Role], taken: Mapping[str, int]) -> list[str]:
    """The roles below their minimum, each as often as it is missing."""
    return [role.id for role in roles for _ in range(role.min_participants - taken.get(role.id, 0))]


def _with_room(roles: Iterable[Role], taken: Mapping[str, int]) -> list[str]:
    return [role.id for role in roles if role.max_participants is None or taken.get(role.id, 0) < role.max_participants]
