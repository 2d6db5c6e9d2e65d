"""The SQL by which a message is read together with the one that it answers."""

from typing import Final

from shared.quotes import LONGEST_QUOTE

QUOTED: Final = """
    CASE WHEN q.id IS NOT NULL THEN jsonb_build_object('id', q.id, 'author_id', q.member_id, 'profile', w.profile,
        'text', q.text, 'audience', q.audience) END AS quoted
"""
"""The column for `shared.quotes.quote_of`; null where nothing is answered."""

EXCERPT: Final = (
    f"CASE WHEN length(q.text) > {LONGEST_QUOTE} THEN rtrim(left(q.text, {LONGEST_QUOTE})) || '…' ELSE q.text END"
)
"""`shared.quotes.excerpt` of the message that is answered, `q`."""


def joined(reply_to: str, thread_id: str) -> str:
    """The joins that `QUOTED` is read from; both arguments are columns or parameters of the statement."""
    return f"""
        LEFT JOIN messages q ON q.id = {reply_to} AND q.thread_id = {thread_id}
        LEFT JOIN members w ON w.id = q.member_id
    """
