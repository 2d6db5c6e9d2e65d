"""External ids of people: one id is one person, whatever surrounds it.

Services, tables and mails put spaces and characters that no one sees around ids, and within them.
"""

import unicodedata
from typing import Final

from sqlalchemy import text

from parley_lab.store.session import Session

_UNSEEN: Final = ("Cc", "Cf", "Zs", "Zl", "Zp")
"""The categories of Unicode of controls, invisible characters and spaces."""

_AT_ONCE: Final = 1_000
# A member whom another transaction holds is mended the next time.
_AMISS: Final = text(
    """
    SELECT id, external_id FROM members WHERE (external_id IS NULL) <> (compared_id IS NULL)
    ORDER BY id LIMIT :at_once FOR NO KEY UPDATE SKIP LOCKED
    """
)
_MEND: Final = text(
    """
    UPDATE members m SET compared_id = g.compared
    FROM unnest(CAST(:ids AS uuid[]), CAST(:compared AS text[])) AS g(id, compared) WHERE m.id = g.id
    """
)


def is_person(member: str) -> str:
    """Whether the `member` of a statement, by its alias, came with this id, as part of the statement.

    Services of an earlier version, which run while a lab is upgraded, know no `compared_id`: they store members without
    it, and leave it when they delete the `external_id`. `mend_compared` mends both.
    """
    return f"""({member}.external_id IS NOT NULL AND ({member}.compared_id = :compared
        OR {member}.compared_id IS NULL AND {member}.external_id = :external_id))"""


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN


def comparable(external_id: str) -> str:
    """The id without spaces and characters that no one sees; empty when it has no others."""
    return "".join(one for one in external_id if not _is_unseen(one))


def without_margins(external_id: str) -> str:
    """The id without what surrounds it; empty when it has no character that is seen."""
    seen = [place for place, one in enumerate(external_id) if not _is_unseen(one)]
    return external_id[seen[0] : seen[-1] + 1] if seen else ""


async def mend_compared(session: Session) -> bool:
    """Store how ids compare that services of an earlier version stored, and delete it of ids that they deleted.

    Locks a thousand members at most. True when there may be more of them.
    """
    rows = await session.all(_AMISS, {"at_once": _AT_ONCE})
    if rows:
        compared = [None if row.external_id is None else comparable(row.external_id) for row in rows]
        await session.run(_MEND, {"ids": [row.id for row in rows], "compared": compared})
    return len(rows) == _AT_ONCE
