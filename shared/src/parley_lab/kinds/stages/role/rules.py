"""The rules of a stage that gives roles: nothing is asked, and the page says what was drawn."""

from collections.abc import Sequence
from typing import Literal

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
    Label,
    OwnView,
    PageContent,
    Parts,
    Reason,
    StageKind,
    heading,
)
from parley_lab.kinds.stages.role import config
from parley_lab.kinds.stages.role.config import Role, RoleStage
from parley_lab.kinds.stages.role.draws import RoleDraws


class ShownRole(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    name: str
    lines: list[str]
    """What those who have the role are told."""


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


KIND = RoleKind()
