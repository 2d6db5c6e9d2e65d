"""How answers and messages of people came about, where the experiment records it (`record: process`): no text."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from sqlalchemy import text

from parley_lab.base.errors import Conflict
from parley_lab.contracts.lives import STILL_IN, in_sql
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import as_json
from parley_lab.talk.pages import bearer

Numbers = Mapping[str, float]
"""Of one question: `pasted_characters`, `keys`, `out_of_focus`, `seconds`."""

# What the page counts grows while the answer is given, and is said again when an attempt is refused. A member whom
# another transaction changes is waited for and looked at again: nothing comes after the answers of one are deleted.
_RECORD: Final = text(
    f"""
    WITH there AS (
        SELECT m.id FROM members m
        WHERE m.token_hash = :token_hash AND m.status IN {in_sql(STILL_IN)} AND m.stage_ids[m.position + 1] = :stage_id
        FOR SHARE
    )
    INSERT INTO answer_processes (member_id, stage_id, key, questions, recorded_at)
    SELECT id, :stage_id, :key, CAST(:questions AS jsonb), :now FROM there
    ON CONFLICT (member_id, stage_id, key) DO UPDATE
        SET questions = excluded.questions, recorded_at = excluded.recorded_at
    """  # noqa: S608 - put together from constants
)


async def record(
    session: Session, token_hash: str, stage_id: str, key: str, questions: Mapping[str, Numbers], now: datetime
) -> None:
    """Store how the answer with this key came about; a later word about the same answer replaces it.

    Raises:
        NotSignedIn: the token is unknown.
        Conflict: the participant is not on this stage.
    """
    item = {"token_hash": token_hash, "stage_id": stage_id, "key": key, "questions": as_json(questions), "now": now}
    if not await session.run(_RECORD, item):
        await _require_member(session, token_hash)
        raise Conflict("You are not on this stage.", reason="stage_not_reached")


async def _require_member(session: ReadSession, token_hash: str) -> None:
    await bearer(session, token_hash)
