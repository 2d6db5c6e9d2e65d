"""Views for tests of the rules of stages, made without rows."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import PAGE, LabView, Member, OwnView
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.view import Message
from parley_lab.views.builder import Facts, People

Given = Mapping[tuple[UUID, str], Any]
"""Answers by member and key."""


def own(me: Member, *others: Member, **fields: Any) -> OwnView:
    """The view of the first of these members."""
    return OwnView(me=me, members=(me, *others), **fields)


def lab(*members: Member, given: Given | None = None, **fields: Any) -> LabView:
    """The lab's view, with the answers in `given`."""
    return LabView(members=members, answers=by_member(given or {}), **fields)


def as_seen_by(member_id: UUID, view: LabView, **fields: Any) -> OwnView:
    """One member's part of the lab's view."""
    shared = {"members": view.members, "draws": view.draws, "state": view.state, "variables": view.variables}
    me = next(one for one in view.members if one.id == member_id)
    return OwnView(**{"me": me, "own": view.answers.get(member_id, {}), **shared, **fields})


def by_member(given: Given) -> dict[UUID, dict[str, Any]]:
    found: dict[UUID, dict[str, Any]] = {}
    for (owner, key), value in given.items():
        found.setdefault(owner, {})[key] = value
    return found


def row_of(member: Member, stage_ids: Sequence[str], at: str) -> Attendee:
    """The row of a member who is on the stage `at`."""
    return Attendee(
        id=member.id,
        path=member.path,
        kind=member.kind,
        player=member.player,
        status="in_progress",
        stage_ids=tuple(stage_ids),
        position=stage_ids.index(at),
        profile=member.profile.model_dump(),
        chat=member.chat.model_dump(),
        script=member.script,
    )


def facts_of_a_prompt(
    members: Sequence[Member],
    stages: Sequence[StageConfig],
    reader: Member,
    *,
    pages: Mapping[tuple[UUID, str], Any],
    messages: Mapping[str, tuple[Message, ...]],
) -> Facts:
    """The facts of a reader on the last stage, with all stages before it over."""
    ids = [stage.id for stage in stages]
    answers: dict[str, dict[UUID, dict[str, Any]]] = {}
    for (owner, stage_id), page in pages.items():
        answers.setdefault(stage_id, {})[owner] = {PAGE: page}
    return Facts(
        people=People(tuple(row_of(one, ids, ids[-1]) for one in members)),
        answers=answers,
        messages=messages,
        over=ids[:-1],
        at=ids[-1],
    )
