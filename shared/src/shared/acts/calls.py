"""Recording calls of models: their rows, and the pieces of their prompts."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import text

from shared.db.prompts import Pieces
from shared.db.session import Session, as_json

_REST: Final = """part, attempt, provider, model_asked, model_returned, endpoint, model_mode, prompt_hash, raw, status,
    error, tokens_in, tokens_out, cost, started_at, finished_at, prompt_pieces, settings, prompt, parsed"""
_INTO: Final = f"INSERT INTO model_calls (id, draft_id, path, {_REST})"

INSERT_CALL: Final = f"""
    {_INTO}
    VALUES (:call_id, :draft_id, :call_path, :part, :attempt, :provider, :model_asked, :model_returned, :endpoint,
        :model_mode, :prompt_hash, :raw, :status, :error, :tokens_in, :tokens_out, :cost, :started_at, :finished_at,
        CAST(:prompt_pieces AS uuid[]), CAST(:settings AS jsonb), CAST(:prompt AS jsonb), CAST(:parsed AS jsonb))
    ON CONFLICT DO NOTHING
"""
"""The row of one call, whose fields are the parameters."""

REPLIES_WITH_CALLS: Final = f"""reply AS (
    SELECT * FROM jsonb_to_recordset(CAST(:replies AS jsonb)) AS g(
        owner uuid, value jsonb, call_id uuid, draft_id uuid, part text, attempt int, call_path text, provider text,
        model_asked text, model_returned text, endpoint text, model_mode text, settings jsonb, prompt jsonb,
        prompt_pieces uuid[], prompt_hash text, raw text, parsed jsonb, status text, error text, tokens_in int,
        tokens_out int, cost numeric, started_at timestamptz, finished_at timestamptz)
), call AS (
    {_INTO}
    SELECT call_id, draft_id, call_path, {_REST} FROM reply
    ON CONFLICT DO NOTHING
)"""  # noqa: S608 - put together from constants
"""Common table expressions: `reply`, with what the model wrote for each draft, and the rows of their calls."""

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
