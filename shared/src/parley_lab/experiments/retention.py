"""Deleting what people said and did in an experiment that ended long ago; what came of it in numbers stays."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.members.forgetting import DELETED, forget
from parley_lab.store.session import ReadSession, Session

_DUE: Final = text(
    """
    SELECT id FROM experiments
    WHERE status = 'ended' AND forgotten_at IS NULL AND id <> ALL(CAST(:but AS uuid[]))
        AND ended_at < :now - make_interval(
        days => least(CAST(:days AS integer), CAST(document ->> 'keep_personal_days' AS integer)))
    ORDER BY ended_at LIMIT 20
    """
)
_CLAIM: Final = text(
    "UPDATE experiments SET forgotten_at = :now WHERE id = :experiment_id AND status = 'ended' AND forgotten_at IS NULL"
)
# Those in whose place an agent plays now were people, too.
_PEOPLE: Final = text(
    """
    SELECT id, path, profile FROM members m
    WHERE experiment_id = :experiment_id AND (player = 'person'
        OR EXISTS (SELECT FROM sittings s WHERE s.member_id = m.id AND s.player = 'person'))
    ORDER BY id FOR NO KEY UPDATE
    """
)
_GUESTS: Final = text("DELETE FROM guests WHERE experiment_id = :experiment_id")
_COHORTS: Final = "SELECT id FROM cohorts WHERE experiment_id = :experiment_id"
_STRINGS: Final = """jsonb_path_query({0}, 'strict $.** ? (@.type() == "string")')"""
# Others quote them: agents and mediators in conversations, answers, prompts, replies and the reasons why those were
# refused, and what a stage has come to so far.
_QUOTED: Final = (
    text(
        f"""
        UPDATE messages SET text = :deleted, line = NULL, explanation = NULL
        WHERE thread_id IN (SELECT id FROM threads WHERE cohort_id IN ({_COHORTS}))
        """  # noqa: S608 - put together from constants
    ),
    text(
        f"""
        UPDATE events SET payload = payload - 'text' - 'quote' - 'explanation' - 'value' - 'reason',
            public = public - 'text' - 'line' - 'quote'
        WHERE cohort_id IN ({_COHORTS})
        """  # noqa: S608 - put together from constants
    ),
    text(
        f"""
        UPDATE model_calls SET prompt = '[]', prompt_pieces = NULL, raw = NULL, parsed = NULL, error = NULL,
            details = NULL, read_as = NULL
        WHERE draft_id IN (SELECT id FROM drafts WHERE cohort_id IN ({_COHORTS}))
        """  # noqa: S608 - put together from constants
    ),
    text("DELETE FROM prompt_pieces WHERE experiment_id = :experiment_id"),
    text(f"UPDATE drafts SET reply = NULL, reason = NULL WHERE cohort_id IN ({_COHORTS})"),  # noqa: S608 - the same
    text(f"UPDATE asks SET reason = NULL WHERE cohort_id IN ({_COHORTS})"),  # noqa: S608 - the same
    # What agents chose stays; a string that is not in the file was written by a model.
    text(
        f"""
        WITH known AS MATERIALIZED (
            SELECT {_STRINGS.format("document")} AS word FROM experiments WHERE id = :experiment_id
            UNION SELECT {_STRINGS.format("resolved")} FROM treatments WHERE experiment_id = :experiment_id
            UNION SELECT to_jsonb(id) FROM members WHERE experiment_id = :experiment_id
        )
        DELETE FROM answers a USING members m
        WHERE m.id = a.member_id AND m.experiment_id = :experiment_id AND EXISTS (
            SELECT FROM {_STRINGS.format("a.value")} AS s(word) WHERE s.word NOT IN (SELECT word FROM known))
        """  # noqa: S608 - put together from constants
    ),
    text(
        f"""
        UPDATE answers SET invalid = (SELECT jsonb_object_agg(i.key, CAST(:deleted AS text)) FROM jsonb_each(invalid) i)
        WHERE cohort_id IN ({_COHORTS}) AND invalid IS NOT NULL
        """  # noqa: S608 - put together from constants
    ),
    text(f"UPDATE cohort_stages SET state = NULL WHERE cohort_id IN ({_COHORTS})"),  # noqa: S608 - the same
    text("UPDATE alerts SET text = :deleted WHERE experiment_id = :experiment_id"),
    text(
        """
        UPDATE members SET token_hash = NULL, declined_id_hash = NULL, join_key_hash = NULL,
            status_reason = CASE WHEN status = 'failed' THEN CAST(:deleted AS text) ELSE status_reason END
        WHERE experiment_id = :experiment_id
        """
    ),
    text("UPDATE experiments SET secret = NULL WHERE id = :experiment_id"),
    text(
        """
        UPDATE sittings SET token_hash = NULL
        WHERE member_id IN (SELECT id FROM members WHERE experiment_id = :experiment_id)
        """
    ),
)


async def due(session: ReadSession, now: datetime, days: int | None, *, but: Collection[UUID] = ()) -> Sequence[UUID]:
    """Experiments whose time is over and of which everything is stored still, without those `but`; a few at a time.

    `days`: how long this lab keeps data; None: as long as the file says. The shorter of both holds.
    """
    return [row.id for row in await session.all(_DUE, {"now": now, "days": days, "but": list(but)})]


async def forget_people(session: Session, experiment_id: UUID, now: datetime) -> bool:
    """Delete the answers, words, profiles and tokens of everybody who took part as a person, and what quotes them.

    Arms and ends of members, times, payments, calls with tokens and costs, results of groups, numbers and choices of
    agents stay. An experiment of agents alone keeps everything. False when it was done before, or the experiment goes
    on.
    """
    whose = {"experiment_id": experiment_id}
    if not await session.run(_CLAIM, {**whose, "now": now}):
        return False
    await session.run(_GUESTS, whose)
    people = await session.all(_PEOPLE, whose)
    for row in people:
        await forget(session, row.id, row.path, row.profile.get("name") or "")
    if people:
        for statement in _QUOTED:
            await session.run(statement, {**whose, "deleted": DELETED})
    return True
