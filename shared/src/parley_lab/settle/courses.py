"""Cohorts without models and people: many are read at a time, and their whole course is written at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import public_part
from parley_lab.contracts.hints import ORCHESTRATOR, Hint
from parley_lab.kinds import Json, Pay
from parley_lab.kinds.attendees import Attendee, attendee
from parley_lab.members.cohort_state import CohortState
from parley_lab.members.designs import design
from parley_lab.people.making import is_self_acting
from parley_lab.store.bulk import CopyLine
from parley_lab.store.facts import Event
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import as_json


@dataclass(frozen=True, slots=True)
class Happened:
    """What has happened to a member: it has gone on, is known by another profile, or is out; see `record_member`."""

    member: Attendee
    event_type: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Course:
    """What becomes of a cohort that acts by itself.

    `cohort` is the cohort as it is at the end, `entries` what was answered by stage, `passed` what counts there for
    those who have left, `pages` what that came to.
    """

    cohort: CohortState
    entries: Mapping[str, Mapping[tuple[UUID, str], Json]]
    passed: Mapping[str, Mapping[tuple[UUID, str], Json]]
    pages: Mapping[tuple[UUID, str], Json]
    """By member and stage."""
    paid: Mapping[tuple[UUID, str], Pay]
    """By member and stage."""
    happened: Sequence[Happened]
    """In its order; a member is as it is in the end in `cohort`."""
    own_names: Mapping[UUID, str]
    """Of members who are known by another one, since another member has theirs."""
    has_ended: bool


_ARMS = text("SELECT x.id, e.version FROM treatments x JOIN experiments e ON e.id = x.experiment_id WHERE e.id = :id")


async def self_acting_arms(session: ReadSession, experiment_id: UUID) -> list[str]:
    """The arms whose cohorts may be played out at once, if they consist of scripts."""
    rows = await session.all(_ARMS, {"id": experiment_id})
    return [row.id for row in rows if is_self_acting(await design(session, experiment_id, row.version, row.id))]


# Only cohorts in which nothing has happened yet: whatever has begun is settled one by one.
_UNTOUCHED: Final = """
    FROM cohorts c JOIN experiments e ON e.id = c.experiment_id JOIN streams s ON s.cohort_id = c.id
    WHERE {condition} AND e.status = 'running' AND c.status = 'running' AND s.settled < s.unsettled
        AND NOT EXISTS (SELECT FROM cohort_stages o WHERE o.cohort_id = c.id)
        AND NOT EXISTS (SELECT FROM members m WHERE m.cohort_id = c.id AND (m.player <> 'script'
            OR m.treatment_id IS NOT NULL OR m.kind <> 'participant' OR m.status <> 'in_progress' OR m.position > 0))
"""
_LOCK: Final = text(
    "SELECT c.id"
    + _UNTOUCHED.format(condition="c.experiment_id = :experiment_id AND c.treatment_id = ANY(:arms)")
    + "ORDER BY c.id LIMIT :most FOR NO KEY UPDATE OF c SKIP LOCKED"
)
_LOCK_MEMBERS: Final = text("SELECT FROM members WHERE cohort_id = ANY(:cohort_ids) ORDER BY id FOR NO KEY UPDATE")
# The locks are statements of their own: what is read after them has a snapshot in which no other transaction is at
# work.
_READ: Final = text(
    "SELECT c.id, c.path, c.name, c.status, c.treatment_id, c.draws, e.seed, e.pace, e.language, e.version, "
    "s.last AS as_of" + _UNTOUCHED.format(condition="c.id = ANY(:cohort_ids)") + "ORDER BY c.id"
)
_MEMBERS: Final = text(
    """
    SELECT m.cohort_id, m.id, m.path, m.kind, m.player, m.status, m.stage_ids, m.position, m.profile, m.provider,
        m.agent_config -> 'script' AS script, m.agent_config -> 'chat' AS chat
    FROM members m WHERE m.cohort_id = ANY(:cohort_ids) ORDER BY m.path
    """
)


async def take_untouched(
    session: Session, experiment_id: UUID, arms: Sequence[str], *, most: int
) -> list[CohortState] | None:
    """Some scripted cohorts of these arms in which nothing has happened, under their locks and their members'.

    None when other processes hold all of them; the list may be empty when all of them have just been begun.
    """
    locked = await session.all(_LOCK, {"experiment_id": experiment_id, "arms": list(arms), "most": most})
    if not locked:
        return None
    held = {"cohort_ids": [row.id for row in locked]}
    await session.run(_LOCK_MEMBERS, held)
    rows = await session.all(_READ, held)
    members: dict[UUID, list[Attendee]] = {row.id: [] for row in locked}
    for row in await session.all(_MEMBERS, held):
        members[row.cohort_id].append(attendee(row._asdict()))
    return [
        CohortState(
            id=row.id,
            path=row.path,
            name=row.name,
            experiment_id=experiment_id,
            seed=row.seed,
            pace=row.pace,
            language=row.language,
            status=row.status,
            design=await design(session, experiment_id, row.version, row.treatment_id),
            members=tuple(members[row.id]),
            given=row.draws,
            draws={},
            states={},
            threads=(),
            as_of=row.as_of,
        )
        for row in rows
    ]


_STAGES: Final = "COPY cohort_stages (cohort_id, stage_id, audience, unlocked_at, draws, state, result) FROM STDIN"
_ANSWERS: Final = (
    "COPY answers (member_id, stage_id, key, cohort_id, value, valid, passed, completed_at, written_at, counted_at) "
    "FROM STDIN"
)
_PAYMENTS: Final = "COPY payments (member_id, stage_id, currency, amount, parts, paid_at) FROM STDIN"
_MOVED: Final = text(
    """
    UPDATE members m SET position = g.position, status = g.status, status_reason = g.reason, profile = g.profile,
        own_name = g.own_name, arrived_at = :now, version = m.version + g.news, stepped_version = m.version + g.news,
        ended_at = CASE WHEN g.status <> 'in_progress' THEN :now END
    FROM jsonb_to_recordset(CAST(:members AS jsonb))
        AS g(id uuid, position int, status text, reason text, profile jsonb, own_name text, news int)
    WHERE m.id = g.id
    """
)
_ENDED: Final = text("UPDATE cohorts SET status = 'ended', ended_at = :now WHERE id = ANY(:cohort_ids)")
_SETTLED: Final = text(
    """
    UPDATE streams s SET settled = greatest(s.settled, g.as_of)
    FROM jsonb_to_recordset(CAST(:cohorts AS jsonb)) AS g(id uuid, as_of bigint) WHERE s.cohort_id = g.id
    """
)


async def write(session: Session, courses: Sequence[Course], now: datetime) -> None:
    """Store everything that has happened in these cohorts, for a caller that has taken them."""
    await session.copy(_STAGES, (line for course in courses for line in _stage_lines(course, now)))
    await session.copy(_ANSWERS, (line for course in courses for line in _answer_lines(course, now)))
    await session.copy(_PAYMENTS, (line for course in courses for line in _payment_lines(course, now)))
    if moved := [member for course in courses for member in _moved(course)]:
        await session.run(_MOVED, {"members": as_json(moved), "now": now})
    if ended := [course.cohort.id for course in courses if course.has_ended]:
        await session.run(_ENDED, {"cohort_ids": ended, "now": now})
    for course in courses:
        _record(session, course, now)
    # The counters are locked last, in the order in which the flush after this takes them as well.
    settled = [{"id": course.cohort.id, "as_of": course.cohort.as_of} for course in courses]
    await session.run(_SETTLED, {"cohorts": as_json(settled)})


def _stage_lines(course: Course, now: datetime) -> Iterator[CopyLine]:
    for stage_id, draws in course.cohort.draws.items():
        state = course.cohort.states.get(stage_id)
        result = course.cohort.results.get(stage_id)
        kept = [None if made is None else as_json(made) for made in (state, result)]
        audience = course.cohort.design.stage(stage_id).audience
        yield (str(course.cohort.id), stage_id, audience, now.isoformat(), as_json(draws), *kept)


def _answer_lines(course: Course, now: datetime) -> Iterator[CopyLine]:
    at, cohort_id, as_of = now.isoformat(), str(course.cohort.id), str(course.cohort.as_of)
    names = {member.id: str(member.id) for member in course.cohort.members}
    # Scripts say a few things again and again, in the very same object.
    written: dict[int, str] = {}
    for stage_id, entries in course.entries.items():
        for (member_id, key), value in entries.items():
            if (said := written.get(id(value))) is None:
                said = written[id(value)] = as_json(value)
            yield (names[member_id], stage_id, key, cohort_id, said, "true", "false", at, at, as_of)
    for stage_id, entries in course.passed.items():
        for (member_id, key), value in entries.items():
            yield (names[member_id], stage_id, key, cohort_id, as_json(value), "false", "true", at, at, as_of)
    for (member_id, stage_id), value in course.pages.items():
        yield (names[member_id], stage_id, "", cohort_id, as_json(value), "true", "false", at, at, None)


def _payment_lines(course: Course, now: datetime) -> Iterator[CopyLine]:
    for (member_id, stage_id), pay in course.paid.items():
        yield (str(member_id), stage_id, pay.currency, str(pay.amount), as_json(pay.parts), now.isoformat())


def _moved(course: Course) -> Iterator[dict[str, Any]]:
    news: dict[UUID, list[Happened]] = {}
    for one in course.happened:
        news.setdefault(one.member.id, []).append(one)
    for member in course.cohort.members:
        if member.id in news:
            yield {
                "id": member.id,
                "position": member.position,
                "status": member.status,
                "reason": news[member.id][-1].payload.get("reason"),
                "profile": member.profile,
                "own_name": course.own_names.get(member.id),
                "news": len(news[member.id]),
            }


def _record(session: Session, course: Course, now: datetime) -> None:
    cohort = course.cohort
    for stage_id in cohort.draws:
        payload = {"stage_id": stage_id}
        _record_one(session, course, "stage.unlocked", f"{cohort.path}/{stage_id}", payload, payload, now)
    for one in course.happened:
        public = public_part(one.event_type, one.member.id, one.payload)
        _record_one(session, course, one.event_type, one.member.path, one.payload, public, now, member=one.member)
    if course.has_ended:
        _record_one(session, course, "cohort.ended", cohort.path, {}, {}, now)
    else:
        session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort.id)))
    session.tell(cohort.id)


def _record_one(
    session: Session,
    course: Course,
    event_type: str,
    subject: str,
    payload: Mapping[str, Any],
    public: Mapping[str, Any] | None,
    now: datetime,
    *,
    member: Attendee | None = None,
) -> None:
    """What happens to a member is the member's own, all else the lab's. What has ended is not to be settled again."""
    session.record(
        Event(
            experiment_id=course.cohort.experiment_id,
            cohort_id=course.cohort.id,
            type=event_type,
            actor="lab" if member is None else member.path,
            cause="orchestrator" if member is None else "agent-worker",
            subject=subject,
            subject_id=None if member is None else member.id,
            payload=payload,
            public=public,
            at=now,
            unsettles=member is not None and not course.has_ended,
        )
    )
