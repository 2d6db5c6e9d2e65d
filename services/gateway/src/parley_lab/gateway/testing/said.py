"""Reads stored messages and their events, and asserts that none is missing or doubled."""

from sqlalchemy import text

from parley_lab.store.session import Database


async def stored(database: Database) -> list[tuple[int, str]]:
    """The number and text of all messages. For a lab with one conversation."""
    async with database.read() as session:
        rows = await session.all(text("SELECT seq, text FROM messages ORDER BY seq"))
    return [(row.seq, row.text) for row in rows]


async def told(database: Database) -> list[tuple[int, str]]:
    """The number in the cohort and the text of each event of a message."""
    async with database.read() as session:
        rows = await session.all(
            text(
                "SELECT stream_seq, payload ->> 'text' AS text FROM events WHERE type = 'message.created'"
                " ORDER BY stream_seq"
            )
        )
    return [(row.stream_seq, row.text) for row in rows]


async def assert_whole(database: Database) -> None:
    """Assert that numbers have no gaps, each message has one event, in the same order, and members have as many moves
    and pages as their position says."""
    async with database.read() as session:
        gaps = await session.all(
            text(
                "SELECT s.cohort_id FROM streams s LEFT JOIN events e USING (cohort_id) GROUP BY s.cohort_id, s.last"
                " HAVING s.last <> count(e.stream_seq) OR max(e.stream_seq) <> s.last OR min(e.stream_seq) <> 1"
            )
        )
        threads = await session.all(
            text(
                "SELECT t.id FROM threads t LEFT JOIN messages m ON m.thread_id = t.id GROUP BY t.id"
                " HAVING t.last_seq <> count(m.seq) OR max(m.seq) <> t.last_seq OR min(m.seq) <> 1"
            )
        )
        said = await session.all(text("SELECT id, text FROM messages ORDER BY thread_id, seq"))
        told = await session.all(
            text(
                "SELECT subject_id AS id, payload ->> 'text' AS text FROM events WHERE type = 'message.created'"
                " ORDER BY payload ->> 'thread_id', stream_seq"
            )
        )
        moved = await session.all(
            text(
                "SELECT m.path, m.position FROM members m LEFT JOIN events e ON e.type = 'member.moved'"
                " AND e.subject_id = m.id GROUP BY m.id HAVING m.position <> count(e.seq)"
                " OR m.position <> (SELECT count(*) FROM answers a WHERE a.member_id = m.id)"
            )
        )
    assert (gaps, threads, moved) == ([], [], [])
    assert [(row.id, row.text) for row in said] == [(row.id, row.text) for row in told]
