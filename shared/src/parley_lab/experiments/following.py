"""What followers of a run read: events, the state of stages, failed members, open seats."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds.attendees import attendee
from parley_lab.kinds.view import View
from parley_lab.members.designs import stage_of
from parley_lab.people.rooms import PLACES
from parley_lab.store.session import ReadSession
from parley_lab.store.statements import Row
from parley_lab.views.builder import Facts, People, public_view


@dataclass(frozen=True, slots=True)
class Failed:
    """A member who has failed, and why; `cohort` is its path and name."""

    member_path: str
    stage_id: str | None
    reason: str
    cohort: str


_FAILED = text(
    """
    SELECT m.path, m.stage_ids[m.position + 1] AS stage_id, m.status_reason,
        CASE c.name WHEN c.path THEN c.path ELSE c.path || ' (' || c.name || ')' END AS cohort
    FROM members m JOIN cohorts c ON c.id = m.cohort_id
    WHERE m.experiment_id = :id AND m.status = 'failed' ORDER BY length(m.path), m.path COLLATE "C"
    """
)
_ON_ARRIVAL: Final = f"""(SELECT coalesce(sum(people), 0) FROM planned_cohorts WHERE experiment_id = :id)
    + {PLACES.format(experiment=":id")}"""  # noqa: S608 - put together from constants
_OPEN_SEATS = text(
    f"SELECT count(*) + {_ON_ARRIVAL} AS n FROM members WHERE experiment_id = :id AND status = 'expected'"  # noqa: S608
)
_SEATS_OF_PEOPLE = text(
    f"SELECT count(*) + {_ON_ARRIVAL} AS n FROM members WHERE experiment_id = :id AND player = 'person'"  # noqa: S608
)


async def failed_members(session: ReadSession, experiment_id: UUID) -> Sequence[Failed]:
    """The members who failed, mediators included, in the order of their paths."""
    rows = await session.all(_FAILED, {"id": experiment_id})
    return [Failed(row.path, row.stage_id, row.status_reason or "no reason was given", row.cohort) for row in rows]


_MISSING = text(
    """
    SELECT a.stage_id || '.' || part.question AS question, count(DISTINCT a.member_id) AS members
    FROM answers a JOIN cohorts c ON c.id = a.cohort_id CROSS JOIN jsonb_object_keys(a.invalid) part(question)
    WHERE c.experiment_id = :id GROUP BY 1 ORDER BY 1
    """
)


async def missing_answers(session: ReadSession, experiment_id: UUID) -> Mapping[str, int]:
    """How many members gave no usable answer, by `<stage>.<question>`."""
    return {row.question: row.members for row in await session.all(_MISSING, {"id": experiment_id})}


_GIVEN_UP = text(
    """
    SELECT d.stage_id, count(*) AS replies
    FROM drafts d JOIN members m ON m.id = d.member_id LEFT JOIN asks k ON k.id = d.ask_id
    WHERE m.experiment_id = :id AND m.status <> 'failed' AND d.state IN ('failed', 'invalid')
        AND NOT EXISTS (SELECT FROM answers a
            WHERE (a.member_id, a.stage_id, a.key) = (d.member_id, d.stage_id, k.key) AND a.invalid IS NOT NULL)
    GROUP BY 1 ORDER BY 1
    """
)


async def given_up(session: ReadSession, experiment_id: UUID) -> Mapping[str, int]:
    """How many replies the model did not give in all its attempts, by stage: moves, messages, last words of interviews.

    Replies of failed members, and those reported as missing answers, are not counted.
    """
    return {row.stage_id: row.replies for row in await session.all(_GIVEN_UP, {"id": experiment_id})}


_RELEASED = text(
    """
    SELECT m.stage_ids[m.position + 1] AS stage_id, count(*) AS agents FROM members m
    WHERE m.experiment_id = :id AND m.status = 'released' AND m.player <> 'person' GROUP BY 1 ORDER BY 1
    """
)


async def released_agents(session: ReadSession, experiment_id: UUID) -> Mapping[str, int]:
    """How many agents were released because those for whom they waited did not come, by the stage where they were."""
    return {row.stage_id: row.agents for row in await session.all(_RELEASED, {"id": experiment_id})}


@dataclass(frozen=True, slots=True)
class CohortProgress:
    """The progress of one cohort: how many asks of its members are closed."""

    path: str
    status: str
    replies: int


_COHORTS = text(
    """
    SELECT c.path, c.status,
        (SELECT count(*) FROM asks k WHERE k.cohort_id = c.id AND k.state IN ('answered', 'failed')) AS replies
    FROM cohorts c WHERE c.experiment_id = :id ORDER BY length(c.path), c.path COLLATE "C"
    """
)


async def cohort_progress(session: ReadSession, experiment_id: UUID) -> Sequence[CohortProgress]:
    """The progress of each cohort of this experiment, in order."""
    return [
        CohortProgress(row.path, row.status, row.replies) for row in await session.all(_COHORTS, {"id": experiment_id})
    ]


_ENDED = text("SELECT status <> 'running' AS is_over FROM experiments WHERE id = :id")


async def has_ended(session: ReadSession, experiment_id: UUID) -> bool:
    """Whether the experiment is over or deleted, without counting its progress."""
    row = await session.first(_ENDED, {"id": experiment_id})
    return row is None or bool(row.is_over)


_NEWS = text(
    """
    SELECT e.cohort_id, e.stream_seq, e.type, e.subject, CAST(e.payload AS text) AS payload
    FROM unnest(CAST(:cohort_ids AS uuid[]), CAST(:after AS bigint[]), CAST(:until AS bigint[])) WITH ORDINALITY
        AS g (cohort_id, after, until, place)
        JOIN events e ON e.cohort_id = g.cohort_id AND e.stream_seq > g.after AND e.stream_seq <= g.until
    ORDER BY g.place, e.stream_seq LIMIT :most
    """
)


async def news(session: ReadSession, spans: Mapping[UUID, tuple[int, int]], *, most: int = 1_000) -> Sequence[Row]:
    """The events of these cohorts in these ranges of numbers, one cohort after another; at most `most`."""
    after, until = zip(*spans.values(), strict=True)
    given = {"cohort_ids": [*spans], "after": [*after], "until": [*until], "most": most}
    return await session.all(_NEWS, given)


@dataclass(frozen=True, slots=True)
class OpenedStage:
    """A stage that a cohort has opened, with its state after the last settle."""

    cohort_id: UUID
    cohort_path: str
    stage: StageConfig
    view: View


_OPENED = text(
    """
    SELECT c.id, c.path, c.experiment_id, e.version, c.treatment_id, s.stage_id, s.draws, s.state,
        (SELECT jsonb_agg(jsonb_build_object('id', m.id, 'path', m.path, 'kind', m.kind, 'player', m.player,
            'status', m.status, 'stage_ids', m.stage_ids, 'position', m.position, 'profile', m.profile)
            ORDER BY m.path)
        FROM members m WHERE m.cohort_id = c.id) AS members
    FROM cohort_stages s JOIN cohorts c ON c.id = s.cohort_id JOIN experiments e ON e.id = c.experiment_id
    WHERE c.id = ANY(:cohort_ids) ORDER BY length(c.path), c.path COLLATE "C", s.unlocked_at, s.stage_id
    """
)


async def opened_stages(session: ReadSession, cohort_ids: Iterable[UUID]) -> Sequence[OpenedStage]:
    """The stages that these cohorts have opened, in order; the views hold no answers."""
    found = []
    for row in await session.all(_OPENED, {"cohort_ids": list(cohort_ids)}):
        stage = await stage_of(session, row.experiment_id, row.version, row.treatment_id, row.stage_id)
        facts = Facts(
            people=People(tuple(map(attendee, row.members or ()))),
            draws={stage.id: row.draws},
            states={stage.id: row.state or {}},
        )
        found.append(OpenedStage(row.id, row.path, stage, public_view(facts, stage)))
    return found


async def open_seats(session: ReadSession, experiment_id: UUID) -> int:
    """How many people are still expected to join."""
    count: int = (await session.one(_OPEN_SEATS, {"id": experiment_id})).n
    return count


async def seats_of_people(session: ReadSession, experiment_id: UUID) -> int:
    """How many seats people have taken or may take, those of people who are out included."""
    count: int = (await session.one(_SEATS_OF_PEOPLE, {"id": experiment_id})).n
    return count
