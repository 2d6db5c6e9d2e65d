"""What a person has begun to answer, kept until the answer is given, so that no reload and no other device loses it.

Nothing of it is checked, and no other member ever sees it: it is in no view and no event. When the time of the page is
up, or the part of the person is over, what counts of it becomes their answer (`filling_in`), and the rest has an
outcome and is in the data.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers import asking
from parley_lab.base.errors import Conflict
from parley_lab.contracts.lives import STILL_IN, in_sql
from parley_lab.kinds import PAGE, Json
from parley_lab.store.batches import items_with, of_item
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import as_json
from parley_lab.talk.pages import bearer


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """What was saved last, and when; None: nothing was."""

    value: Json = None
    saved_at: datetime | None = None


# A row that another transaction changes is waited for and looked at again: after the answer is given, nothing is saved.
_OPEN_PAGE: Final = f"""
    SELECT m.id AS member_id, CAST(:stage_id AS text) AS stage_id, '{PAGE}' AS key, CAST(NULL AS uuid) AS ask_id
    FROM members m
    WHERE m.token_hash = :token_hash AND m.status IN {in_sql(STILL_IN)} AND m.stage_ids[m.position + 1] = :stage_id
        AND EXISTS (SELECT FROM cohort_stages s WHERE s.cohort_id = m.cohort_id AND s.stage_id = :stage_id)
"""  # noqa: S608 - put together from constants
_OPEN_ASK: Final = f"""
    SELECT k.member_id, k.stage_id, k.key, k.id AS ask_id FROM asks k JOIN members m ON m.id = k.member_id
    WHERE k.id = :ask_id AND k.state = 'open' AND m.token_hash = :token_hash AND m.status IN {in_sql(STILL_IN)}
"""  # noqa: S608 - put together from constants
_SAVE: Final = """
    WITH open AS ({open} FOR SHARE OF {held})
    INSERT INTO partial_answers (member_id, stage_id, key, ask_id, value, saved_at)
    SELECT member_id, stage_id, key, ask_id, CAST(:value AS jsonb), :now FROM open
    ON CONFLICT (member_id, stage_id, key) DO UPDATE
        SET ask_id = excluded.ask_id, value = excluded.value, saved_at = excluded.saved_at, outcome = NULL
"""
_FIND: Final = """
    WITH open AS ({open})
    SELECT p.value, p.saved_at
    FROM open o LEFT JOIN partial_answers p ON (p.member_id, p.stage_id, p.key) = (o.member_id, o.stage_id, o.key)
        AND p.ask_id IS NOT DISTINCT FROM o.ask_id AND p.outcome IS NULL
"""
_PAGES: Final = items_with(token_hash="text", stage_id="text", value="jsonb", now="timestamptz")
# A member whom another transaction holds is left out: who waits for them would have the others wait, too. So is one
# whose page another batch saves: two batches that wait for each other's pages would be a deadlock.
_SAVE_PAGES: Final = text(
    f"""
    WITH item AS (
        {_PAGES}
    ), open AS (
        SELECT item.*, m.member_id, m.key
        FROM item CROSS JOIN LATERAL ({of_item(_OPEN_PAGE)} FOR NO KEY UPDATE OF m SKIP LOCKED) m
    ), saved AS (
        INSERT INTO partial_answers (member_id, stage_id, key, value, saved_at)
        SELECT member_id, stage_id, key, coalesce(value, 'null'), now FROM open
        ON CONFLICT (member_id, stage_id, key) DO UPDATE
            SET ask_id = excluded.ask_id, value = excluded.value, saved_at = excluded.saved_at, outcome = NULL
    )
    SELECT place FROM open
    """  # noqa: S608 - put together from constants
)
_SAVE_PAGE: Final = text(_SAVE.format(open=_OPEN_PAGE, held="m"))
_SAVE_ASK: Final = text(_SAVE.format(open=_OPEN_ASK, held="k"))
_FIND_PAGE: Final = text(_FIND.format(open=_OPEN_PAGE))
_FIND_ASK: Final = text(_FIND.format(open=_OPEN_ASK))


async def save_page(session: Session, token_hash: str, stage_id: str, value: Json, now: datetime) -> None:
    """Keep what the person has begun to answer on the page of the stage where they are. Idempotent.

    One statement (`Database.autocommit`), which under load saves pages of several people.

    Raises:
        NotSignedIn: the token is unknown.
        Conflict: the person is not on this stage, or it is not open.
    """
    where = {"token_hash": token_hash, "stage_id": stage_id}
    page = {**where, "value": value, "now": now}
    if await session.write_for_many(_SAVE_PAGES, (token_hash, stage_id), page) is not None:
        return
    if not await session.run(_SAVE_PAGE, {**page, "value": as_json(value)}):
        await _refuse(session, token_hash)


async def save_ask(session: Session, token_hash: str, ask_id: UUID, value: Json, now: datetime) -> None:
    """The same for what the person is asked now.

    Raises:
        NotSignedIn: the token is unknown.
        NotFound: there is no such ask, or it is another's.
        Conflict: it is not open any more.
    """
    where = {"token_hash": token_hash, "ask_id": ask_id}
    if not await session.run(_SAVE_ASK, {**where, "value": as_json(value), "now": now}):
        await _refuse(session, token_hash, ask_id)


async def of_page(session: ReadSession, token_hash: str, stage_id: str) -> PartialAnswer:
    """What was saved of the page; raises as `save_page` does."""
    row = await session.first(_FIND_PAGE, {"token_hash": token_hash, "stage_id": stage_id})
    return PartialAnswer(*row) if row is not None else await _refuse(session, token_hash)


async def of_ask(session: ReadSession, token_hash: str, ask_id: UUID) -> PartialAnswer:
    """What was saved of the ask; raises as `save_ask` does."""
    row = await session.first(_FIND_ASK, {"token_hash": token_hash, "ask_id": ask_id})
    return PartialAnswer(*row) if row is not None else await _refuse(session, token_hash, ask_id)


async def _refuse(session: ReadSession, token_hash: str, ask_id: UUID | None = None) -> PartialAnswer:
    person = await bearer(session, token_hash)
    if ask_id is not None:
        await asking.find(session, ask_id, person.member_id)
    raise Conflict("Nothing is to be answered here now; the page shows what is.", reason="ask_closed")
