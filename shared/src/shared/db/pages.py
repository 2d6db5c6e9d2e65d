"""What the API shows besides where a member stands: who is here, what was said, how far the stream is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from shared.audience import OUT, may_read, may_read_thread, quote_of
from shared.contracts.experiment import Profile
from shared.db.messages import QUOTED, joined, reactions
from shared.db.session import Row, Session
from shared.errors import InvalidInput, NotFound, NotSignedIn, Problem
from shared.views import People, attendee


@dataclass(frozen=True, slots=True)
class Bearer:
    """The member who holds a token, and no more than reading and streaming need."""

    member_id: UUID
    experiment_id: UUID
    cohort_id: UUID
    path: str
    status: str
    stage_ids: tuple[str, ...]
    position: int

    @property
    def is_out(self) -> bool:
        return self.status in OUT

    def is_on(self, stage_id: str) -> bool:
        """Whether the member is in progress, and this is the stage where they are."""
        return self.status == "in_progress" and self.stage_ids[self.position : self.position + 1] == (stage_id,)

    def may_read_thread(self, stage_id: str, scope: str) -> bool:
        reached = self.stage_ids[: self.position + 1]
        return may_read_thread(path=self.path, status=self.status, reached=reached, stage_id=stage_id, scope=scope)


_BEARER = text(
    "SELECT id, experiment_id, cohort_id, path, status, stage_ids, position FROM members WHERE token_hash = :token_hash"
)


async def bearer(session: Session, token_hash: str) -> Bearer:
    """Whose token this is, without locking anything.

    Raises:
        NotSignedIn: nobody has it.
    """
    row = await session.first(_BEARER, {"token_hash": token_hash})
    if row is None:
        raise NotSignedIn("This participant token is not valid. Join the experiment to get one.")
    return Bearer(row.id, row.experiment_id, row.cohort_id, row.path, row.status, tuple(row.stage_ids), row.position)


_COMPANY = text(
    """
    SELECT m.id, m.path, m.kind, m.player, m.profile, m.status, m.stage_ids, m.position
    FROM members m WHERE m.cohort_id = :cohort_id AND (m.status <> 'expected' OR m.id = :member_id)
    ORDER BY length(m.path), m.path COLLATE "C"
    """
)


async def company(session: Session, cohort_id: UUID, member_id: UUID) -> People:
    """Everybody in the member's cohort but open seats; whom of them the member meets on a stage, its view says."""
    rows = await session.all(_COMPANY, {"cohort_id": cohort_id, "member_id": member_id})
    return People(tuple(attendee(row._asdict()) for row in rows))


_CURSOR = text("SELECT last FROM streams WHERE cohort_id = :cohort_id")
_CURSOR_OF_TOKEN = text(
    "SELECT s.last FROM streams s JOIN members m ON m.cohort_id = s.cohort_id WHERE m.token_hash = :token_hash"
)


async def cursor(session: Session, cohort_id: UUID) -> int:
    """Up to where the cohort's stream has come. Read it before what it stands beside, so that nothing falls between."""
    row = await session.one(_CURSOR, {"cohort_id": cohort_id})
    last: int = row.last
    return last


async def cursor_of_token(session: Session, token_hash: str) -> int:
    """`cursor` for the cohort of whoever holds the token; 0 when nobody does."""
    row = await session.first(_CURSOR_OF_TOKEN, {"token_hash": token_hash})
    return 0 if row is None else row.last


_THREAD = text("SELECT id, stage_id, scope, ended_at FROM threads WHERE id = :thread_id AND cohort_id = :cohort_id")
_MESSAGE = f"""
    SELECT g.id, g.thread_id, g.seq, g.member_id, a.profile, g.author_name, g.text, g.topic, g.audience, g.elapsed_ms,
        g.created_at,
        {QUOTED},
        {reactions("g.id")}
    FROM messages g LEFT JOIN members a ON a.id = g.member_id {joined("g.reply_to", "g.thread_id")}
"""  # noqa: S608 - put together from constants
_MESSAGES = text(f"{_MESSAGE} WHERE g.thread_id = :thread_id AND g.seq > :after_seq ORDER BY g.seq LIMIT :most")
_ONE_MESSAGE = text(f"{_MESSAGE} WHERE g.id = :message_id")


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """Some messages of a thread, oldest first, as their reader may see them."""

    stage_id: str
    has_ended: bool
    messages: Sequence[Mapping[str, Any]]
    read_to: int
    """The number of the last message that was looked at, whether the reader may see it or not."""


async def messages(session: Session, thread_id: UUID, reader: Bearer, *, after_seq: int, most: int) -> ThreadPage:
    """The next messages of a thread for one reader.

    Raises:
        NotFound: there is no such thread, or the reader has no part in it.
    """
    thread = await _thread(session, thread_id, reader)
    rows = await session.all(_MESSAGES, {"thread_id": thread_id, "after_seq": after_seq, "most": most})
    seen = [row for row in rows if may_read(reader.member_id, author=row.member_id, audience=row.audience)]
    return ThreadPage(
        stage_id=thread.stage_id,
        has_ended=thread.ended_at is not None,
        messages=[_message(row, thread) for row in seen],
        read_to=rows[-1].seq if rows else after_seq,
    )


async def message(session: Session, message_id: UUID, reader: Bearer) -> Mapping[str, Any]:
    """One message for one reader.

    Raises:
        NotFound: there is no such message, or the reader may not read it.
    """
    row = await session.first(_ONE_MESSAGE, {"message_id": message_id})
    if row is None or not may_read(reader.member_id, author=row.member_id, audience=row.audience):
        raise NotFound("There is no such message.")
    return _message(row, await _thread(session, row.thread_id, reader))


async def _thread(session: Session, thread_id: UUID, reader: Bearer) -> Row:
    thread = await session.first(_THREAD, {"thread_id": thread_id, "cohort_id": reader.cohort_id})
    if thread is None or not reader.may_read_thread(thread.stage_id, thread.scope):
        raise NotFound("There is no such conversation.")
    return thread


def _message(row: Row, thread: Row) -> dict[str, Any]:
    quote = quote_of(row.quoted, None if row.audience is None else [str(reader) for reader in row.audience])
    return {
        "id": row.id,
        "thread_id": thread.id,
        "stage_id": thread.stage_id,
        "seq": row.seq,
        "author": None if row.member_id is None else {"id": row.member_id, "profile": _known_profile(row)},
        "text": row.text,
        "topic": row.topic,
        "reply_to": quote and quote["id"],
        "quote": quote,
        "reactions": row.reactions,
        "elapsed_ms": row.elapsed_ms,
        "created_at": row.created_at,
    }


def _known_profile(row: Row) -> Mapping[str, Any]:
    """How the others know the author there."""
    return row.profile if row.author_name is None else Profile(name=row.author_name).model_dump()


_HAS_MESSAGE = text("SELECT member_id, audience FROM messages WHERE id = :message_id AND thread_id = :thread_id")


async def has_message(session: Session, thread_id: UUID, reader: Bearer, message_id: UUID) -> bool:
    """Whether this message stands in this thread, and the reader may read it.

    Raises:
        NotFound: there is no such thread, or the reader has no part in it.
    """
    await _thread(session, thread_id, reader)
    row = await session.first(_HAS_MESSAGE, {"message_id": message_id, "thread_id": thread_id})
    return row is not None and may_read(reader.member_id, author=row.member_id, audience=row.audience)


_ENTRY = """
    SELECT m.id, m.path, m.kind, m.player, m.profile, m.agent_config, m.status, m.status_reason, m.stage_ids,
        m.position, m.is_test, m.joining, m.created_at, m.joined_at, m.arrived_at, m.ended_at,
        c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort_name, c.treatment_id
    FROM members m JOIN cohorts c ON c.id = m.cohort_id
"""
_ROSTER = text(
    f"""
    {_ENTRY}
    WHERE m.experiment_id = :experiment_id AND (CAST(:cohort_id AS uuid) IS NULL OR m.cohort_id = :cohort_id)
        AND m.id > CAST(:after AS uuid)
    ORDER BY m.id LIMIT :most
    """
)


async def roster(
    session: Session, experiment_id: UUID, *, cohort_id: UUID | None, after: UUID, most: int
) -> Sequence[Row]:
    """Members with everything that an experimenter may know of them, ordered by id; never tokens."""
    return await session.all(
        _ROSTER, {"experiment_id": experiment_id, "cohort_id": cohort_id, "after": after, "most": most}
    )


_ROSTER_ENTRY = text(f"{_ENTRY} WHERE m.id = :member_id")


async def roster_entry(session: Session, member_id: UUID) -> Row:
    """One member as in `roster`; the member must be there."""
    return await session.one(_ROSTER_ENTRY, {"member_id": member_id})


_COHORTS = text(
    """
    SELECT id, path, name, treatment_id, status, locked, created_at, ended_at,
        (SELECT count(*) FROM members m WHERE m.cohort_id = cohorts.id AND m.status = 'expected') AS open_seats
    FROM cohorts WHERE experiment_id = :experiment_id
        AND (CAST(:after AS uuid) IS NULL OR (created_at, length(path), path COLLATE "C") > (
            SELECT a.created_at, length(a.path), a.path COLLATE "C" FROM cohorts a
            WHERE a.id = CAST(:after AS uuid) AND a.experiment_id = :experiment_id))
    ORDER BY created_at, length(path), path COLLATE "C" LIMIT :most
    """
)
MOST_COHORTS: Final = 10_000
_HAS_COHORT = text("SELECT 1 FROM cohorts WHERE id = :cohort_id AND experiment_id = :experiment_id")


async def cohorts(
    session: Session, experiment_id: UUID, *, after: UUID | None = None, most: int = MOST_COHORTS
) -> Sequence[Row]:
    """The cohorts of an experiment in their order, those after one of them if one is named.

    Raises:
        InvalidInput: `after` is no cohort of this experiment.
    """
    place = {"cohort_id": after, "experiment_id": experiment_id}
    if after is not None and await session.first(_HAS_COHORT, place) is None:
        problem = Problem("after", str(after), "the id of a cohort of this experiment, as `next_after` gives it")
        raise InvalidInput("The list cannot be read on from there.", [problem])
    return await session.all(_COHORTS, {"experiment_id": experiment_id, "after": after, "most": most})


_OWNED_MEMBER = text(
    """
    SELECT 1 FROM members m JOIN experiments e ON e.id = m.experiment_id
    WHERE m.id = :member_id AND e.owner_id = :owner_id
    """
)


async def check_owned(session: Session, member_id: UUID, owner_id: UUID) -> None:
    """Refuse a member of somebody else's experiment as one that there is not.

    Raises:
        NotFound: there is no such member, or not for this owner.
    """
    if await session.first(_OWNED_MEMBER, {"member_id": member_id, "owner_id": owner_id}) is None:
        raise NotFound("There is no such participant.")


_OWNED_DRAFT = text(
    """
    SELECT 1 FROM drafts d JOIN members m ON m.id = d.member_id JOIN experiments e ON e.id = m.experiment_id
    WHERE d.id = :draft_id AND e.owner_id = :owner_id
    """
)


async def check_owned_draft(session: Session, draft_id: UUID, owner_id: UUID) -> None:
    """Refuse a draft of somebody else's experiment as one that there is not.

    Raises:
        NotFound: there is no such draft, or not for this owner.
    """
    if await session.first(_OWNED_DRAFT, {"draft_id": draft_id, "owner_id": owner_id}) is None:
        raise NotFound("There is no such draft.")
