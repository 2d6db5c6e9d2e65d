"""Prompts in pieces: what several calls of an experiment show is stored once, however often it is shown.

The prompts of a conversation repeat each other, but for a few lines at the end. A long prompt is cut into pieces of
some lines each, at places that the text itself decides, so that equal stretches of two prompts become equal pieces. A
call keeps the digests of its pieces in their order; where these are many, they are cut in the same way, and so on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final
from uuid import UUID
from zlib import crc32

LONGEST_WHOLE: Final = 4_000
"""A prompt of up to so many characters is stored with its call: cutting it would cost more than it saves."""
MOST_AT_THE_TOP: Final = 16
"""The most digests that a call keeps itself, but for texts in which the same few pieces repeat."""
_LINES: Final = 6
_DIGESTS: Final = 8
"""How many lines, or digests, a piece has on average."""
_END: Final = r"\n"
"""The end of a line, as JSON writes it."""


@dataclass(slots=True)
class Pieces:
    """A prompt as its call keeps it: the digests at the top, and each piece by its digest, a text or more digests."""

    top: list[UUID]
    texts: dict[UUID, str] = field(default_factory=dict)
    parts: dict[UUID, list[UUID]] = field(default_factory=dict)


def in_pieces(prompt: str) -> Pieces:
    """Cut the JSON text of a prompt; its pieces, one after another, are the same text again."""
    pieces = Pieces([])
    for piece in _cut(prompt):
        digest = _digest(piece.encode(), b"text")
        pieces.texts[digest] = piece
        pieces.top.append(digest)
    while len(pieces.top) > MOST_AT_THE_TOP:
        groups = list(_group(pieces.top))
        if len(groups) == len(pieces.top):
            break
        digests = [_digest(b"".join(one.bytes for one in group), b"parts") for group in groups]
        pieces.parts |= dict(zip(digests, groups, strict=True))
        pieces.top = digests
    return pieces


def _cut(prompt: str) -> Iterator[str]:
    """Pieces of whole lines. The last line alone decides where a piece ends; an empty line always ends one."""
    piece: list[str] = []
    *lines, last = prompt.split(_END)
    for line in lines:
        piece += line, _END
        if not line or crc32(line.encode()) % _LINES == 0:
            yield "".join(piece)
            piece = []
    yield "".join([*piece, last])


def _group(digests: Iterable[UUID]) -> Iterator[list[UUID]]:
    group: list[UUID] = []
    for digest in digests:
        group.append(digest)
        if digest.bytes[0] % _DIGESTS == 0:
            yield group
            group = []
    if group:
        yield group


def _digest(content: bytes, what: bytes) -> UUID:
    return UUID(bytes=blake2b(content, digest_size=16, person=what).digest())


# Pieces that were deleted meanwhile leave a text with another hash, which is shown as a deleted prompt.
PROMPT: Final = """coalesce(k.prompt, (
    WITH RECURSIVE whose AS (
        SELECT c.experiment_id FROM drafts d JOIN cohorts c ON c.id = d.cohort_id WHERE d.id = k.draft_id
    ), walk AS (
        SELECT ARRAY[o.place] AS place, p.text, p.parts
        FROM whose CROSS JOIN unnest(k.prompt_pieces) WITH ORDINALITY AS o(digest, place)
            JOIN prompt_pieces p ON p.experiment_id = whose.experiment_id AND p.digest = o.digest
        UNION ALL
        SELECT w.place || o.place, p.text, p.parts
        FROM walk w CROSS JOIN whose CROSS JOIN unnest(w.parts) WITH ORDINALITY AS o(digest, place)
            JOIN prompt_pieces p ON p.experiment_id = whose.experiment_id AND p.digest = o.digest
    ), whole AS (SELECT string_agg(w.text, '' ORDER BY w.place) AS prompt FROM walk w)
    SELECT CASE WHEN encode(sha256(convert_to(whole.prompt, 'UTF8')), 'hex') = k.prompt_hash
        THEN CAST(whole.prompt AS jsonb) ELSE '[]' END
    FROM whole
))"""
"""The prompt of a call, as a term of a statement in which `k` is the row of `model_calls`."""
