"""A member as a row tells of them: what statements read and views are made of. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from parley_lab.contracts.lives import ON_THE_WAY, OUT
from parley_lab.kinds import Json


@lru_cache(maxsize=4096)
def as_uuid(text: str) -> UUID:
    """An id from JSON; cached, because the ids of members repeat with each of their answers."""
    return UUID(text)


@dataclass(frozen=True, slots=True)
class Attendee:
    """A participant or mediator as a row tells of them; `position` counts the stages that lie behind them."""

    id: UUID
    path: str
    kind: str
    player: str
    status: str
    stage_ids: tuple[str, ...]
    position: int
    profile: Mapping[str, Any]
    provider: str | None = None
    script: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """How it acts without a model, by stage or kind of stage."""
    chat: Mapping[str, Any] = field(default_factory=dict)
    """How an agent talks: its chat settings."""
    persona: str = ""
    stay: int = 0
    """How often it has moved to another cohort."""
    has_moved: bool = False
    """Whether it is in another cohort than this one by now."""
    treatment: str | None = None
    """Its own arm; None: that of the cohort."""
    entered: int = 0
    """How many stages lay behind it when it came to this cohort from another one; read for settling alone."""
    given_seat: int | None = None
    """The number of the seat that it got in a group of those who were there; None: its path says the seat."""

    @property
    def seat(self) -> int | None:
        """The number of a participant's seat, from 1, which paths are made of; None of a mediator."""
        if self.given_seat is not None:
            return self.given_seat
        number = self.path.rpartition("/m")[2]
        return int(number) if number.isdecimal() else None

    @property
    def is_free_again(self) -> bool:
        """Whether it is the seat of a person who went, which another one may take, and for whom no one waits."""
        return self.status == "expected" and "." in self.path

    def seat_in(self, cohort_path: str) -> int | None:
        """The number of its seat in this cohort; None of a member who has moved there and got none."""
        is_its_own = self.given_seat is not None or self.path.startswith(f"{cohort_path}/")
        return self.seat if is_its_own else None

    @property
    def stage_id(self) -> str | None:
        return self.stage_ids[self.position] if self.position < len(self.stage_ids) else None

    def has_come_to(self, stage_id: str) -> bool:
        """Whether the member is on this stage or beyond it, or was when it left."""
        return self.kind == "mediator" or stage_id in self.stage_ids[: self.position + 1]

    def has_gone_from(self, stage_id: str) -> bool:
        """Whether the member will answer nothing more on this stage: it is out, or a participant who is past it."""
        is_past = self.kind != "mediator" and stage_id in self.stage_ids[: self.position]
        return is_past or self.status in OUT

    def came_past(self, stage_id: str) -> bool:
        """Whether the stage lay behind the participant when it came from another cohort: it was on it elsewhere."""
        return stage_id in self.stage_ids[: self.entered]

    def is_beyond(self, stage_id: str) -> bool:
        """Whether the participant has gone on from this stage."""
        return stage_id in self.stage_ids[: self.position]

    def may_still_come_to(self, stage_id: str) -> bool:
        """Whether the stage lies before the participant, who is on the way to it."""
        is_on_the_way = self.kind != "mediator" and self.status in ON_THE_WAY and stage_id in self.stage_ids
        return is_on_the_way and self.position < self.stage_ids.index(stage_id)


def attendee(fields: Mapping[str, Any]) -> Attendee:
    """The member that a row tells of; a statement leaves out what its reader does not need."""
    found = fields["id"]
    return Attendee(
        id=found if isinstance(found, UUID) else UUID(str(found)),
        path=fields["path"],
        kind=fields["kind"],
        player=fields["player"],
        status=fields["status"],
        stage_ids=tuple(fields["stage_ids"]),
        position=fields["position"],
        profile=fields["profile"],
        provider=fields.get("provider"),
        script=fields.get("script") or {},
        chat=fields.get("chat") or {},
        persona=fields.get("persona") or "",
        stay=fields.get("stay") or 0,
        has_moved=fields.get("has_moved") or False,
        treatment=fields.get("treatment"),
        entered=fields.get("entered") or 0,
        given_seat=fields.get("seat"),
    )
