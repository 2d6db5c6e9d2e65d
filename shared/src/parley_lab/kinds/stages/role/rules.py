"""The rules of a stage that gives roles: nothing is asked, and the page says what was drawn."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import (
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Draws,
    Json,
    Label,
    Member,
    OwnView,
    PageContent,
    Parts,
    Reason,
    StageKind,
    heading,
)
from parley_lab.kinds.stages.role import config
from parley_lab.kinds.stages.role.config import Role, RoleStage


class ShownRole(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    name: str
    lines: list[str]
    """The text that members with this role read."""


class RolePage(PageContent):
    kind: Literal["role"] = "role"
    role: ShownRole | None
    """The reader's role; null before it is drawn, and where every role has as many as it may have."""
    is_drawn: bool


class RoleKind(StageKind[RoleStage]):
    config_model = RoleStage

    def page(self, stage: RoleStage, view: OwnView) -> RolePage:
        role = _role(stage, view)
        shown = None if role is None else ShownRole(id=role.id, name=role.title, lines=list(role.lines))
        return RolePage(**heading(stage), role=shown, is_drawn=_is_drawn(view))

    def prompt(self, stage: RoleStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        role = _role(stage, view)
        if view.me.kind == "mediator":
            return [Block("Every participant was given a role here. You have none.")]
        if role is None:
            return [Block("Roles were given here. You have none." if _is_drawn(view) else "Roles are given here.")]
        return [Block("\n\n".join([f"Your role: {role.title}.", *role.lines]))]

    def completion(self, stage: RoleStage, view: OwnView) -> Completion:
        if not _is_drawn(view):
            return Blocked((Reason("Your role is being drawn.", "being_drawn"),))
        role = _role(stage, view)
        return Done({"role": None, "name": None} if role is None else {"role": role.id, "name": role.title})

    def problems(self, stage: RoleStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return [*config.problems(stage)]

    def in_common(self, stage: RoleStage) -> RoleStage:
        """Without the words of the roles."""
        bare = tuple(role.model_copy(update={"name": "", "lines": ()}) for role in stage.roles)
        return stage.model_copy(update={"roles": bare})

    def parts(self, stage: RoleStage) -> Parts:
        return Parts(draws=RoleDraws(stage), data=RoleData(stage), players=config.players(stage))

    def example(self) -> RoleStage:
        return RoleStage(
            id="roles",
            name="Your role",
            roles=(
                Role(id="chair", name="Chair", lines=("You open the talk and close it.",), min_participants=1),
                Role(id="member", name="Member", lines=("You take part in the talk.",)),
            ),
        )


def _is_drawn(view: OwnView) -> bool:
    return str(view.me.id) in view.draws


def _role(stage: RoleStage, view: OwnView) -> Role | None:
    return stage.role(view.draws.get(str(view.me.id)))


class RoleData(Data):
    def __init__(self, stage: RoleStage) -> None:
        self._stage = stage

    def roles(self) -> list[str]:
        return [role.id for role in self._stage.roles]

    def columns(self) -> list[Column]:
        return [
            Column("role", Label("Role", "role"), "text"),
            Column("name", Label("Role (name)", "role"), "text", derived=True),
        ]


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


KIND = RoleKind()
