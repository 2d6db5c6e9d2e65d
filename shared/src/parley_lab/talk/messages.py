"""The SQL that reads a message with its reactions and with the message that it answers."""

from typing import Final

from parley_lab.contracts.audience import LONGEST_QUOTE

QUOTED: Final = """
    CASE WHEN q.id IS NOT NULL THEN jsonb_build_object('id', q.id, 'author_id', q.member_id, 'profile', w.profile,
        'text', q.text, 'audience', q.audience) END AS quoted
"""
"""The column for `parley_lab.contracts.audience.quote_of`; null where the message answers none."""
EXCERPT: Final = (
    f"CASE WHEN length(q.text) > {LONGEST_QUOTE} THEN rtrim(left(q.text, {LONGEST_QUOTE})) || '…' ELSE q.text END"
)
"""`parley_lab.contracts.audience.excerpt` of the message that is answered, `q`."""


def joined(reply_to: str, thread_id: str) -> str:
    """The joins for `QUOTED`; both arguments are columns or parameters of the statement."""
    return f"""
        LEFT JOIN messages q ON q.id = {reply_to} AND q.thread_id = {thread_id}
        LEFT JOIN members w ON w.id = q.member_id
    """


_REACTIONS: Final = """
    coalesce((
        SELECT jsonb_agg(jsonb_build_object('reaction', o.reaction, 'count', o.count, 'member_ids', o.member_ids)
            ORDER BY o.reaction)
        FROM (
            SELECT reaction, count(*) AS count, jsonb_agg(member_id ORDER BY reacted_at, member_id) AS member_ids
            FROM reactions WHERE message_id = {message_id} GROUP BY reaction
        ) AS o
    ), '[]') AS reactions
"""


def reactions(message_id: str) -> str:
    """The column with the reactions to a message in the form of the API; the argument is a column or parameter."""
    return _REACTIONS.format(message_id=message_id)
