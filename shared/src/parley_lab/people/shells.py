"""The part of a participant's page beside the stage: the checks, offers and notices of this participant alone."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.appearance import Appearance
from parley_lab.contracts.experiment import Completion
from parley_lab.contracts.lives import OUTCOMES, STILL_IN
from parley_lab.kinds.parts import shows_members
from parley_lab.kinds.stages import parts_of
from parley_lab.members.completions import completion_of
from parley_lab.members.standing import Standing
from parley_lab.people.waits import Wait, wait_of
from parley_lab.store.session import ReadSession


@dataclass(frozen=True, slots=True)
class OpenCheck:
    """An attention check to be answered until `due_at`; None: its time has not begun, or is held."""

    text: str
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Offer:
    """A move to another cohort, to be answered until `due_at`; None while all timers are held."""

    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the lab has said to the participant, who has not read it yet."""

    id: UUID
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Shell:
    """What is open for a participant."""

    notices: tuple[Notice, ...] = ()
    check: OpenCheck | None = None
    offer: Offer | None = None
    wait: Wait | None = None
    """Whom the participant waits for, on a stage that is not open."""
    completion: Completion | None = None
    """What the file says for this end, once the part is over."""
    gone: frozenset[UUID] = frozenset()
    """The people of the cohort who are gone, where the participant is shown who is there."""


_CHECK: Final = text(
    """
    SELECT k.text, t.due_at
    FROM attention_checks k LEFT JOIN timers t
        ON t.member_id = k.member_id AND t.purpose = 'check_deadline' AND t.generation = k.number
    WHERE k.member_id = :member_id AND k.closed_at IS NULL
    """
)


_OFFER: Final = text(
    """
    SELECT due_at FROM timers WHERE member_id = :member_id AND purpose = 'transfer_deadline'
    ORDER BY generation DESC LIMIT 1
    """
)
_NOTICES: Final = text(
    "SELECT id, text, created_at FROM notices WHERE member_id = :member_id AND read_at IS NULL ORDER BY created_at, id"
)


_GONE: Final = text(
    """
    SELECT p.member_id FROM presence p JOIN members m ON m.id = p.member_id
    WHERE m.cohort_id = :cohort_id AND m.player = 'person' AND p.gone_at IS NOT NULL
    """
)


async def shell_of(session: ReadSession, standing: Standing, now: datetime) -> Shell:
    """The open check, offer and notices of this member. Mostly there are none, which costs no statement."""
    shell = await _open_for(session, standing, now)
    if not (shows_others(standing) or (shell.wait is not None and shell.wait.met)):
        return shell
    rows = await session.all(_GONE, {"cohort_id": standing.cohort_id})
    return replace(shell, gone=frozenset(row.member_id for row in rows))


def shows_others(standing: Standing) -> bool:
    """Whether the participant meets others on the stage where they are, and it is open."""
    stage = standing.stage
    is_there = stage is not None and standing.status in STILL_IN and not standing.is_locked
    return is_there and stage is not None and shows_members(parts_of(stage))


async def _open_for(session: ReadSession, standing: Standing, now: datetime) -> Shell:
    me = {"member_id": standing.member.id}
    notices = tuple(Notice(*row) for row in await session.all(_NOTICES, me)) if standing.has_notices else ()
    if standing.status in OUTCOMES:
        return Shell(notices, completion=await completion_of(session, standing.experiment_id, standing.status))
    if standing.status == "attention_check":
        row = await session.first(_CHECK, me)
        return Shell(notices, check=None if row is None else OpenCheck(row.text, row.due_at))
    if standing.status == "transfer_pending":
        row = await session.first(_OFFER, me)
        return Shell(notices, offer=Offer(None if row is None else row.due_at))
    if standing.is_in_progress and standing.is_locked and standing.stage is not None:
        return Shell(notices, wait=await wait_of(session, standing, standing.stage, now))
    return Shell(notices)


_APPEARANCE: Final = text("SELECT document -> 'appearance' AS appearance FROM experiments WHERE id = :id")


async def appearance_of(session: ReadSession, experiment_id: UUID) -> Appearance:
    """The look of an experiment's pages, as its file says. Each page reads it once: a logo is larger than the rest."""
    row = await session.one(_APPEARANCE, {"id": experiment_id})
    return Appearance.model_validate(row.appearance or {})
