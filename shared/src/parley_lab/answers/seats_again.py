"""Seats of people who are out before they have met others: another person gets the seat, with its arm."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base import seeds
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.lives import STILL_IN, Outcome, in_sql
from parley_lab.contracts.seats import SeatAgain, read_seats_again
from parley_lab.design.assigning import of_participant, read
from parley_lab.design.seat_names import seat_name
from parley_lab.kinds.parts import plays_together, shows_members
from parley_lab.kinds.stages import parts_of
from parley_lab.members.designs import design
from parley_lab.members.standing import Standing
from parley_lab.store import tables
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row, as_json

_WENT: Final = ("left", "dropped_out")

_SEAT: Final = text(
    """
    SELECT m.path, m.player, m.kind, m.seat, m.stay, m.is_test, m.treatment_id, m.allocated, m.added_by,
        c.status, e.status AS experiment_status, e.language, j.rule,
        e.document -> 'seat_again' AS seat_again, e.document -> 'assigned' AS assigned
    FROM members m JOIN cohorts c ON c.id = m.cohort_id JOIN experiments e ON e.id = m.experiment_id
        LEFT JOIN joining j ON j.experiment_id = e.id
    WHERE m.id = :member_id
    """
)


async def give_seat_again(session: Session, standing: Standing, outcome: Outcome, now: datetime) -> bool:
    """Open the seat of a person who is out for another one, if the file says so; False when it stays empty.

    `standing` is from before the end; the caller holds the member's lock. The new seat has a path of its own
    (`c1/m2.2`), with it draws of its own, and the number and the arm of the old one. Others do not wait for it, unless
    the group was released (`c1/m2-2`): then it waits anew. Once the others have met, no person comes to their talk.
    """
    row = await _seat_to_give(session, standing, outcome)
    if row is not None:
        mark = "-" if outcome == "released" else "."
        await session.insert(tables.members, [_new_seat(standing, row, now, mark=mark)])
    return row is not None


_COHORT: Final = text(
    """
    SELECT c.status = 'running' AND NOT c.alone AND e.status = 'running'
        AND EXISTS (SELECT FROM joining j WHERE j.experiment_id = e.id) AS is_open,
        e.document -> 'seat_again' AS seat_again
    FROM cohorts c JOIN experiments e ON e.id = c.experiment_id WHERE c.id = :cohort_id
    """
)


async def are_released_seats_given(session: ReadSession, cohort_id: UUID, opened: Iterable[StageConfig]) -> bool:
    """Whether others get the seats of people who are released from this cohort now; `opened`: its open stages."""
    row = await session.one(_COHORT, {"cohort_id": cohort_id})
    return row.is_open and "released" in read_seats_again(row.seat_again) and not any(map(_lets_meet, opened))


async def may_be_given(session: ReadSession, standing: Standing) -> bool:
    """Whether the seat of this person would be given to another one if they dropped out now."""
    return await _seat_to_give(session, standing, "dropped_out") is not None


_ARMS: Final = text(
    """
    SELECT e.version, e.document -> 'seat_again' AS seat_again, e.status = 'running' AND EXISTS (
        SELECT FROM joining j WHERE j.experiment_id = e.id) AS is_open,
        ARRAY(SELECT t.id FROM treatments t WHERE t.experiment_id = e.id ORDER BY t.id) AS arms
    FROM experiments e WHERE e.id = :experiment_id
    """
)
# As `is_given_again` decides about each person who would drop out now.
_ANY: Final = text(
    f"""
    SELECT EXISTS (
        SELECT FROM members m JOIN cohorts c ON c.id = m.cohort_id
            JOIN jsonb_to_recordset(CAST(:arms AS jsonb)) AS a(id text, meeting jsonb, asking jsonb, releasing jsonb)
                ON a.id = coalesce(m.treatment_id, c.treatment_id)
        WHERE m.experiment_id = :experiment_id AND (CAST(:cohort_id AS uuid) IS NULL OR c.id = :cohort_id)
            AND m.player = 'person' AND m.kind = 'participant' AND m.status IN {in_sql(STILL_IN)} AND m.stay = 0
            AND NOT c.alone AND c.status = 'running' AND NOT c.locked
            AND NOT EXISTS (SELECT FROM cohort_stages s WHERE s.cohort_id = c.id AND a.meeting ? s.stage_id)
            AND (EXISTS (SELECT FROM unnest(CAST(:left_before AS text[])) AS l(stage_id)
                    WHERE m.position + 1 < array_position(m.stage_ids, l.stage_id))
                OR :released AND EXISTS (SELECT FROM jsonb_array_elements_text(a.releasing) AS w(stage_id)
                    WHERE m.position < array_position(m.stage_ids, w.stage_id))
                OR :before_first_answer AND NOT EXISTS (SELECT FROM answers g
                    WHERE g.member_id = m.id AND a.asking ? g.stage_id))
    ) AS it
    """  # noqa: S608 - put together from constants
)


async def any_may_be_given(session: ReadSession, experiment_id: UUID, cohort_id: UUID | None) -> bool:
    """Whether a person has a seat of the experiment, or of this cohort, that would be given to another one if they
    dropped out now, or were released where they wait."""
    row = await session.one(_ARMS, {"experiment_id": experiment_id})
    rules = read_seats_again(row.seat_again)
    stages = [one.left_before for one in rules if not isinstance(one, str)]
    if not row.is_open or not (
        stages or {"before_first_answer", "released"} & {one for one in rules if isinstance(one, str)}
    ):
        return False
    designs = {arm: await design(session, experiment_id, row.version, arm) for arm in row.arms}
    arms = [
        {
            "id": arm,
            "meeting": [stage.id for stage in one.stages if _lets_meet(stage)],
            "asking": [stage.id for stage in one.stages if _asks(stage)],
            "releasing": [stage.id for stage in one.stages if stage.progress.at_most_seconds is not None],
        }
        for arm, one in designs.items()
    ]
    where = {"experiment_id": experiment_id, "cohort_id": cohort_id, "arms": as_json(arms)}
    found = {name: name in rules for name in ("before_first_answer", "released")}
    return bool((await session.one(_ANY, {**where, **found, "left_before": stages})).it)


async def _seat_to_give(session: ReadSession, standing: Standing, outcome: Outcome) -> Row | None:
    if standing.member.player != "person" or standing.member.kind != "participant" or outcome == "completed":
        return None
    if standing.status == "expected" or standing.is_alone or _have_met(standing):
        return None
    row = await session.one(_SEAT, {"member_id": standing.member.id})
    is_there = row.status == "running" and row.experiment_status == "running" and row.rule is not None
    if not is_there or row.stay:
        return None
    return row if is_given_again(read_seats_again(row.seat_again), standing, outcome) else None


def is_given_again(rules: Sequence[SeatAgain], standing: Standing, outcome: Outcome) -> bool:
    """Whether the file gives the seat of this person to another one."""
    if outcome in rules:
        return True
    if outcome not in _WENT:
        return False
    if "before_first_answer" in rules and not _has_answered(standing):
        return True
    stages = [one.left_before for one in rules if not isinstance(one, str)]
    places = [standing.stage_ids.index(one) for one in stages if one in standing.stage_ids]
    return any(standing.position < place for place in places)


def _has_answered(standing: Standing) -> bool:
    """Whether the person has answered anything but whether they take part."""
    return any(standing.facts.own(one.id, standing.member.id) for one in standing.design.stages if _asks(one))


def _asks(stage: StageConfig) -> bool:
    """Whether the stage asks for anything but whether they take part."""
    questions = parts_of(stage).questions
    return questions is not None and not questions.is_consent


def _lets_meet(stage: StageConfig) -> bool:
    """Whether members meet on the stage."""
    return shows_members(parts_of(stage)) or plays_together(parts_of(stage))


def _have_met(standing: Standing) -> bool:
    """Whether a stage has opened in the cohort on which its members meet."""
    return any(_lets_meet(one) for one in standing.design.stages if one.id in standing.unlocked)


def _new_seat(standing: Standing, row: Row, now: datetime, *, mark: str) -> dict[str, Any]:
    cohort, _, name = row.path.rpartition("/")
    first, *taken = re.split("[.-]", name)
    path = f"{cohort}/{first}{mark}{int(taken[-1] if taken else 1) + 1}"
    number = row.seat or int(first.removeprefix("m"))
    return {
        "id": seeds.row_id(standing.experiment_id, path),
        "experiment_id": standing.experiment_id,
        "cohort_id": standing.cohort_id,
        "path": path,
        "kind": "participant",
        "player": "person",
        "profile": {"name": seat_name("participant", number, row.language), "avatar": "", "pronouns": ""},
        "status": "expected",
        # Not those of the person who is out: rules and orders may be others for the next one.
        "stage_ids": list(standing.design.stage_ids),
        "version": 1,
        "seat": number,
        "is_test": row.is_test,
        # As on a seat of the file; those that follow the order of arrival are given when a person joins.
        "assigned": of_participant(read(row.assigned), standing.seed, path),
        "treatment_id": row.treatment_id,
        "allocated": row.allocated,
        "added_by": row.added_by,
        "created_at": now,
    }
