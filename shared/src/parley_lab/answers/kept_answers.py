"""Answers to creating requests, kept for a day, so that a request whose answer was lost can be repeated.

The row is made by the transaction that does the work: a request is answered and kept, or neither. Of two at once under
one key the second waits for the first (unique on the name). An answer may hold a token, so it is stored in a form that
only the one who asked can read.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_bytes
from typing import Final

from sqlalchemy import text

from parley_lab.base.errors import Conflict
from parley_lab.store.session import Session

LASTS: Final = timedelta(days=1)
_NONCE_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A request under an Idempotency-Key. `secret`: what the one who asks knows, and the database does not."""

    secret: str
    where: str
    request: bytes

    @property
    def name(self) -> str:
        return _hashed(f"{self.secret}\n{self.where}".encode("utf-8", "surrogatepass"))

    @property
    def request_hash(self) -> str:
        return _hashed(self.request)


_CLAIM: Final = text(
    """
    WITH forgotten AS (
        DELETE FROM kept_answers WHERE expires_at <= :now AND name <> :name
    )
    INSERT INTO kept_answers (name, request_hash, expires_at) VALUES (:name, :request_hash, :expires_at)
    ON CONFLICT (name) DO UPDATE
        SET request_hash = excluded.request_hash, answer = NULL, expires_at = excluded.expires_at
        WHERE kept_answers.expires_at <= :now
    """
)
_FIND: Final = text("SELECT request_hash, answer FROM kept_answers WHERE name = :name")
_KEEP: Final = text("UPDATE kept_answers SET answer = :answer WHERE name = :name")


async def find_or_claim(session: Session, asked: Repeatable, now: datetime) -> bytes | None:
    """The answer that the same request got before; None: it is the first, and `keep` has to follow in this transaction.

    Raises:
        Conflict: another request was made under the same key.
    """
    claim = {"name": asked.name, "request_hash": asked.request_hash, "expires_at": now + LASTS, "now": now}
    if await session.run(_CLAIM, claim):
        return None
    row = await session.one(_FIND, {"name": asked.name})
    if row.request_hash != asked.request_hash:
        raise Conflict("Another request was made under this Idempotency-Key.", reason="id_used")
    kept: bytes = row.answer
    return _mixed(asked.secret, kept[:_NONCE_BYTES], kept[_NONCE_BYTES:])


async def keep(session: Session, asked: Repeatable, answer: bytes) -> None:
    """Keep the answer to a request that was claimed in this transaction."""
    nonce = token_bytes(_NONCE_BYTES)
    await session.run(_KEEP, {"name": asked.name, "answer": nonce + _mixed(asked.secret, nonce, answer)})


def _mixed(secret: str, nonce: bytes, content: bytes) -> bytes:
    """The content under a key stream of secret and nonce; the same again gives it back."""
    stream = hashlib.shake_256(nonce + secret.encode("utf-8", "surrogatepass")).digest(len(content))
    return bytes(one ^ other for one, other in zip(content, stream, strict=True))


def _hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
