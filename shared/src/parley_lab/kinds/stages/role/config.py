"""What an experiment file says about the drawing of roles."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import repeated_id
from parley_lab.contracts.experiment import Document, Slug, StageConfig, Together


class Role(Document):
    """A role, and how many participants of a cohort have it."""

    id: Slug
    """Names the role in the data, in rules and texts."""
    name: str = ""
    """What participants read; empty: the id."""
    lines: tuple[str, ...] = ()
    """What those who have the role are told, a paragraph each."""
    min_participants: int = Field(default=0, ge=0)
    """At least so many have the role, whenever enough participants are there."""
    max_participants: int | None = Field(default=None, ge=1)
    """At most so many have the role; left out: any number."""

    @property
    def title(self) -> str:
        return self.name or self.id


class RoleStage(StageConfig):
    """Every participant of a cohort is given a role by chance, and told what it is."""

    kind: Literal["role"] = "role"
    progress: Together = Together()
    roles: tuple[Role, ...] = Field(min_length=1)
    """The roles that are drawn."""

    def role(self, role_id: str | None) -> Role | None:
        return next((one for one in self.roles if one.id == role_id), None)


def problems(stage: RoleStage) -> Iterator[Problem]:
    ids = [role.id for role in stage.roles]
    for index, role in enumerate(stage.roles):
        if role.id in ids[:index]:
            yield repeated_id(f"roles[{index}].id", role.id, "role")
        if role.max_participants is not None and role.max_participants < role.min_participants:
            expected = f"at least min_participants, which is {role.min_participants}"
            yield Problem(f"roles[{index}].max_participants", str(role.max_participants), expected)


def players(stage: RoleStage) -> tuple[int, int | None]:
    """For how many participants there are roles."""
    most = [role.max_participants for role in stage.roles]
    limits = [one for one in most if one is not None]
    return sum(role.min_participants for role in stage.roles), sum(limits) if len(limits) == len(most) else None
