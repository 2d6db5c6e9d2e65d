"""Recording calls of models: their rows, and the pieces of their prompts."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.drafts.prompts import Pieces
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json

# Statements that store a call together with what became of it have the same lines (a test compares).
CALL_COLUMNS: Final = """
    id, draft_id, path, part, attempt, provider, model_asked, model_returned, endpoint,
    model_mode, prompt_hash, raw, status, error, tokens_in, tokens_out, cost, started_at, finished_at,
    prompt_pieces, settings, prompt, parsed, details, read_as
"""
INSERT_CALL: Final = f"""
    INSERT INTO model_calls ({CALL_COLUMNS})
    VALUES (:call_id, :draft_id, :call_path, :part, :attempt, :provider, :model_asked, :model_returned, :endpoint,
        :model_mode, :prompt_hash, :raw, :status, :error, :tokens_in, :tokens_out, :cost, :started_at, :finished_at,
        CAST(:prompt_pieces AS uuid[]), CAST(:settings AS jsonb), CAST(:prompt AS jsonb), CAST(:parsed AS jsonb),
        CAST(:details AS jsonb), CAST(:read_as AS jsonb))
    ON CONFLICT DO NOTHING
"""  # noqa: S608 - put together from constants
"""The row of one call, whose fields are the parameters."""

_KEEP_PIECES: Final = text(
    """
    INSERT INTO prompt_pieces (experiment_id, digest, text, parts)
    SELECT :experiment_id, p.digest, p.text, p.parts
    FROM (SELECT set_config('synchronous_commit', 'off', true)) AS hurry,
        jsonb_to_recordset(CAST(:pieces AS jsonb)) AS p(digest uuid, text text, parts uuid[])
    ORDER BY p.digest
    ON CONFLICT DO NOTHING
    """
)


async def keep_pieces(session: Session, experiment_id: UUID, pieces: Pieces) -> None:
    """Store the pieces of a prompt that are not stored yet, by one statement of its own (`Database.autocommit`).

    It goes before the statement that records the call, and does not wait for the disk: the commit of that one does, for
    both. All take the pieces in the same order, and hold nothing else meanwhile.
    """
    rows: Sequence[dict[str, object]] = [
        *({"digest": digest, "text": piece} for digest, piece in pieces.texts.items()),
        *({"digest": digest, "parts": parts} for digest, parts in pieces.parts.items()),
    ]
    await session.run(_KEEP_PIECES, {"experiment_id": experiment_id, "pieces": as_json(rows)})
