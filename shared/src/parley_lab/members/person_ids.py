"""External ids of people: one id is one person, whatever surrounds it.

Services, tables and mails put spaces and characters that no one sees around ids, and within them.
"""

import unicodedata
from typing import Final

_UNSEEN: Final = ("Cc", "Cf", "Zs", "Zl", "Zp")
"""The categories of Unicode of controls, invisible characters and spaces."""

IS_PERSON: Final = "(m.compared_id = :compared OR m.compared_id IS NULL AND m.external_id = :external_id)"
"""Whether the member `m` came with this id, as part of a statement.

Services of an earlier version, which run while a lab is upgraded, store members without `compared_id`.
"""


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN


def comparable(external_id: str) -> str:
    """The id without spaces and characters that no one sees; empty when it has no others."""
    return "".join(one for one in external_id if not _is_unseen(one))


def without_margins(external_id: str) -> str:
    """The id without what surrounds it; empty when it has no character that is seen."""
    seen = [place for place, one in enumerate(external_id) if not _is_unseen(one)]
    return external_id[seen[0] : seen[-1] + 1] if seen else ""
