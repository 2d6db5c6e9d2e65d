"""Queries for what is half done: rows that are wrong at any moment of a lab."""

from typing import Final

from parley_lab.contracts import lives
from parley_lab.contracts.lives import OUTCOMES

WRONG: Final = {
    "a check is open for somebody who is in none": """
        SELECT 1 FROM attention_checks k JOIN members m ON m.id = k.member_id
        WHERE k.closed_at IS NULL AND m.status <> 'attention_check'""",
    "somebody is in a check that is not open": """
        SELECT 1 FROM members m WHERE m.status = 'attention_check' AND NOT EXISTS (
            SELECT FROM attention_checks k WHERE k.member_id = m.id AND k.closed_at IS NULL)""",
    "a timer runs for somebody who is out": """
        SELECT 1 FROM timers t JOIN members m ON m.id = t.member_id
        WHERE t.state IN ('armed', 'held') AND m.ended_at IS NOT NULL""",
    "an offer has no deadline": """
        SELECT 1 FROM members m WHERE m.status = 'transfer_pending' AND NOT EXISTS (
            SELECT FROM timers t WHERE t.member_id = m.id AND t.purpose = 'transfer_deadline'
                AND t.state IN ('armed', 'held'))""",
    "somebody is in another cohort than the rows say": """
        SELECT 1 FROM members m JOIN stays s ON s.member_id = m.id AND s.left_at IS NULL
        WHERE s.cohort_id <> m.cohort_id""",
    "somebody is in two cohorts": "SELECT 1 FROM stays WHERE left_at IS NULL GROUP BY member_id HAVING count(*) > 1",
    "an ask is open for somebody who is out": """
        SELECT 1 FROM asks k JOIN members m ON m.id = k.member_id WHERE k.state = 'open' AND m.ended_at IS NOT NULL""",
    "two have one token": "SELECT 1 FROM members WHERE token_hash IS NOT NULL GROUP BY token_hash HAVING count(*) > 1",
    "an ended cohort has somebody in it": f"""
        SELECT 1 FROM members m JOIN cohorts c ON c.id = m.cohort_id
        WHERE c.status = 'ended' AND m.kind = 'participant' AND m.status NOT IN {lives.in_sql(OUTCOMES)}
    """,  # noqa: S608 - put together from constants
    "messages have gaps": "SELECT 1 FROM messages GROUP BY thread_id HAVING count(*) <> max(seq)",
    "events have gaps": "SELECT 1 FROM events GROUP BY cohort_id HAVING count(*) <> max(stream_seq)",
}
