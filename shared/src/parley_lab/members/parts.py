"""Reads all members' pages of a few stages, for stages that read them."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import PAGE, Json
from parley_lab.kinds.stages import read_of_everybody
from parley_lab.store.session import ReadSession
from parley_lab.views.builder import Answers, Facts

# Also of those who have left: pages that they completed stay. So do those of members who have moved to another cohort.
_PAGES = text(
    """
    SELECT a.stage_id, a.member_id, a.value FROM (
        SELECT o.member_id, o.stage_id, o.key, o.value, o.completed_at FROM answers o WHERE o.cohort_id = :cohort_id
        UNION ALL
        SELECT DISTINCT ON (o.member_id, o.stage_id, o.key) o.member_id, o.stage_id, o.key, o.value, o.completed_at
        FROM stays s JOIN answers o ON o.member_id = s.member_id AND o.stage_id = ANY(s.stage_ids[1:s.position])
        WHERE s.cohort_id = :cohort_id AND s.left_at IS NOT NULL AND o.cohort_id <> :cohort_id
    ) a JOIN members m ON m.id = a.member_id
    WHERE a.stage_id = ANY(:stage_ids) AND a.key = '' AND a.completed_at IS NOT NULL AND m.kind = 'participant'
    ORDER BY length(m.path), m.path COLLATE "C"
    """
)
_ANSWERS = text(
    """
    SELECT a.member_id, a.key, a.value FROM answers a
    WHERE a.cohort_id = :cohort_id AND a.stage_id = :stage_id AND a.completed_at IS NOT NULL
    """
)


async def with_parts(
    session: ReadSession, facts: Facts, cohort_id: UUID, stages: Iterable[StageConfig], *, but_own: UUID | None = None
) -> Facts:
    """The facts with all that these stages read of other members; reads nothing where they need none.

    but_own: the member whose own answers are among the facts already.
    """
    wanted = read_of_everybody(stages)
    if not wanted:
        return facts
    found = await _pages(session, cohort_id, wanted)
    for stage_id in wanted:
        own = {} if but_own is None else {but_own: facts.own(stage_id, but_own)}
        facts = facts.with_answers(stage_id, {**found.get(stage_id, {}), **own})
    return facts


async def _pages(
    session: ReadSession, cohort_id: UUID, stage_ids: Sequence[str]
) -> dict[str, dict[UUID, dict[str, Json]]]:
    found: dict[str, dict[UUID, dict[str, Json]]] = {}
    for row in await session.all(_PAGES, {"cohort_id": cohort_id, "stage_ids": stage_ids}):
        found.setdefault(row.stage_id, {})[row.member_id] = {PAGE: row.value}
    return found


async def answers_on(session: ReadSession, cohort_id: UUID, stage_id: str) -> Answers:
    """All answers on a stage, by member and key."""
    found: dict[UUID, dict[str, Json]] = {}
    for row in await session.all(_ANSWERS, {"cohort_id": cohort_id, "stage_id": stage_id}):
        found.setdefault(row.member_id, {})[row.key] = row.value
    return found


_DRAWN_BEFORE = text(
    """
    SELECT DISTINCT ON (s.member_id) s.member_id, x.draws
    FROM stays s JOIN cohort_stages x ON x.cohort_id = s.cohort_id AND x.stage_id = :stage_id
    WHERE s.member_id = ANY(:member_ids) AND s.left_at IS NOT NULL AND s.stage_ids[s.position + 1] = :stage_id
    ORDER BY s.member_id, s.number DESC
    """
)


async def drawn_before(
    session: ReadSession, stage_id: str, member_ids: Sequence[UUID]
) -> Mapping[UUID, Mapping[str, Json]]:
    """What the cohort that each of these members came from had drawn on the stage, if they were on it there."""
    rows = await session.all(_DRAWN_BEFORE, {"stage_id": stage_id, "member_ids": member_ids})
    return {row.member_id: row.draws for row in rows}
