"""What the API reads besides a member's standing: the roster, messages, and the position of the stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import InvalidInput, NotFound, Problem
from parley_lab.contracts.audience import may_read, may_read_thread, quote_of
from parley_lab.contracts.experiment import Profile, StageConfig
from parley_lab.contracts.lives import OUT, TAKING_PART, in_sql
from parley_lab.kinds import PAGE
from parley_lab.kinds.attendees import as_uuid, attendee
from parley_lab.kinds.parts import tells_of_others
from parley_lab.kinds.stages import parts_of
from parley_lab.members.attendance import ATTENDANCE
from parley_lab.members.person_ids import comparable, is_person
from parley_lab.members.standing import Standing
from parley_lab.members.standings import STAGE_IS_OVER, unknown_token
from parley_lab.store.session import ReadSession
from parley_lab.store.statements import Row
from parley_lab.talk.messages import QUOTED, joined, reactions
from parley_lab.views.builder import Facts, by_tag


@dataclass(frozen=True, slots=True)
class Bearer:
    """The member of a token, with the fields that reading and streaming need."""

    member_id: UUID
    experiment_id: UUID
    cohort_id: UUID
    path: str
    status: str
    stage_ids: tuple[str, ...]
    position: int
    entered_position: int = 0
    """How far the member was when it came to this cohort: what was said before, in other stages, is not theirs."""
    entered_seq: int = 0
    """The last event of this cohort before the member came to it."""
    entered_at: datetime | None = None
    """Since when the member is in this cohort, if it was in another one before."""
    joins: int = 1
    """How often people have joined on this seat: each time gives a new token and ends the one before."""

    @property
    def is_out(self) -> bool:
        return self.status in OUT

    def is_on(self, stage_id: str) -> bool:
        """Whether the member is in progress and on this stage."""
        return self.status == "in_progress" and self.stage_ids[self.position : self.position + 1] == (stage_id,)

    def is_beyond(self, stage_id: str) -> bool:
        """Whether the member has gone on from this stage."""
        return stage_id in self.stage_ids[: self.position]

    def was_here(self, at: datetime) -> bool:
        """Whether the member was in this cohort at that time, or is there from the beginning."""
        return self.entered_at is None or at >= self.entered_at

    def may_read_thread(self, stage_id: str, scope: str) -> bool:
        reached = self.stage_ids[self.entered_position : self.position + 1]
        return may_read_thread(path=self.path, status=self.status, reached=reached, stage_id=stage_id, scope=scope)


_BEARER = """
    SELECT id, experiment_id, cohort_id, path, status, stage_ids, position, joins, entered_position, entered_seq,
        entered_at
    FROM members WHERE
"""
_BY_TOKEN = text(f"{_BEARER} token_hash = :reader")
_BY_ID = text(f"{_BEARER} id = :reader")


async def bearer(session: ReadSession, reader: UUID | str) -> Bearer:
    """The member with this id, or the hash of whose token this is, without a lock.

    Raises:
        NotSignedIn: the token is unknown.
        Conflict: another player has taken the place of its holder.
    """
    row = await session.first(_BY_ID if isinstance(reader, UUID) else _BY_TOKEN, {"reader": reader})
    if row is None:
        raise await unknown_token(session, str(reader))
    return Bearer(
        row.id,
        row.experiment_id,
        row.cohort_id,
        row.path,
        row.status,
        tuple(row.stage_ids),
        row.position,
        row.entered_position,
        row.entered_seq,
        row.entered_at,
        row.joins,
    )


_COMPANY = text(
    f"""
    SELECT m.id, m.path, m.kind, m.player, m.profile, m.status, m.stage_ids, m.position
    FROM {ATTENDANCE} m WHERE m.cohort_id = :cohort_id AND (m.status <> 'expected' OR m.id = :member_id)
    ORDER BY length(m.path), m.path COLLATE "C"
    """  # noqa: S608 - put together from constants
)


async def with_company(session: ReadSession, standing: Standing, stage: StageConfig) -> Standing:
    """The standing with all members of the cohort except open seats, and with their answers here if others may read
    them; as it is, and without a statement, where the stage tells of no other member.

    The member's view then decides whom they meet on the stage, and whose answers they may read.
    """
    if not tells_of_others(stage, parts_of(stage)):
        return standing
    rows = await session.all(_COMPANY, {"cohort_id": standing.cohort_id, "member_id": standing.member.id})
    facts = replace(standing.facts, people=by_tag(standing.seed, (attendee(row._asdict()) for row in rows)))
    if stage.audience == "cohort":
        facts = await _with_told(session, facts, standing.cohort_id, stage.id)
    return replace(standing, facts=facts)


_TOLD = text(
    f"""
    SELECT {STAGE_IS_OVER} AS is_over,
        (SELECT jsonb_agg(jsonb_build_array(a.member_id, a.value)) FROM answers a
        WHERE a.cohort_id = s.cohort_id AND a.stage_id = s.stage_id AND a.key = '') AS pages
    FROM cohort_stages s WHERE s.cohort_id = :cohort_id AND s.stage_id = :stage_id
    """  # noqa: S608 - put together from constants
)


async def _with_told(session: ReadSession, facts: Facts, cohort_id: UUID, stage_id: str) -> Facts:
    row = await session.first(_TOLD, {"cohort_id": cohort_id, "stage_id": stage_id})
    if row is None or not row.is_over:
        return facts
    pages = {as_uuid(member_id): {PAGE: value} for member_id, value in row.pages or ()}
    return replace(facts.with_answers(stage_id, {**pages, **facts.answers.get(stage_id, {})}), over=(stage_id,))


_CURSOR_OF = "SELECT s.last FROM streams s JOIN members m ON m.cohort_id = s.cohort_id WHERE"
_CURSOR_OF_TOKEN = text(f"{_CURSOR_OF} m.token_hash = :reader")
_CURSOR_OF_MEMBER = text(f"{_CURSOR_OF} m.id = :reader")


async def cursor_of(session: ReadSession, reader: UUID | str) -> int:
    """The number of the last event of this member's cohort, by id or the hash of their token; 0 for an unknown token.

    Read it before the data that it goes with, so that no event is missed; a `Standing` brings its own.
    """
    statement = _CURSOR_OF_MEMBER if isinstance(reader, UUID) else _CURSOR_OF_TOKEN
    row = await session.first(statement, {"reader": reader})
    return 0 if row is None else row.last


_THREAD = text("SELECT id, stage_id, scope, ended_at FROM threads WHERE id = :thread_id AND cohort_id = :cohort_id")
_MESSAGE = f"""
    SELECT g.id, g.thread_id, g.seq, g.member_id, a.profile, g.author_name, g.text, g.line, g.topic, g.audience,
        g.elapsed_ms, g.created_at,
        {QUOTED},
        {reactions("g.id")}
    FROM messages g LEFT JOIN members a ON a.id = g.member_id {joined("g.reply_to", "g.thread_id")}
"""  # noqa: S608 - put together from constants
_MESSAGES = text(f"{_MESSAGE} WHERE g.thread_id = :thread_id AND g.seq > :after_seq ORDER BY g.seq LIMIT :most")
_ONE_MESSAGE = text(f"{_MESSAGE} WHERE g.id = :message_id")


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """Some messages of a thread, oldest first, that their reader may see."""

    stage_id: str
    has_ended: bool
    messages: Sequence[Mapping[str, Any]]
    read_to: int
    """The number of the last message that was read, visible to the reader or not."""


async def messages(session: ReadSession, thread_id: UUID, reader: Bearer, *, after_seq: int, most: int) -> ThreadPage:
    """The next messages of a thread for one reader.

    Raises:
        NotFound: there is no such thread, or the reader has no part in it.
    """
    thread = await _thread(session, thread_id, reader)
    rows = await session.all(_MESSAGES, {"thread_id": thread_id, "after_seq": after_seq, "most": most})
    seen = [
        row
        for row in rows
        if may_read(reader.member_id, author=row.member_id, audience=row.audience) and reader.was_here(row.created_at)
    ]
    return ThreadPage(
        stage_id=thread.stage_id,
        has_ended=thread.ended_at is not None,
        messages=[_message(row, thread) for row in seen],
        read_to=rows[-1].seq if rows else after_seq,
    )


async def message(session: ReadSession, message_id: UUID, reader: Bearer) -> Mapping[str, Any]:
    """One message for one reader.

    Raises:
        NotFound: there is no such message, or the reader may not read it.
    """
    row = await session.first(_ONE_MESSAGE, {"message_id": message_id})
    if (
        row is None
        or not may_read(reader.member_id, author=row.member_id, audience=row.audience)
        or not reader.was_here(row.created_at)
    ):
        raise NotFound("There is no such message.")
    return _message(row, await _thread(session, row.thread_id, reader))


async def _thread(session: ReadSession, thread_id: UUID, reader: Bearer) -> Row:
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
        "line": row.line,
        "topic": row.topic,
        "reply_to": quote and quote["id"],
        "quote": quote,
        "reactions": row.reactions,
        "elapsed_ms": row.elapsed_ms,
        "created_at": row.created_at,
    }


def _known_profile(row: Row) -> Mapping[str, Any]:
    """The profile under which the others know the author there."""
    return row.profile if row.author_name is None else Profile(name=row.author_name).model_dump()


_HAS_MESSAGE = text(
    "SELECT member_id, audience, created_at FROM messages WHERE id = :message_id AND thread_id = :thread_id"
)


async def has_message(session: ReadSession, thread_id: UUID, reader: Bearer, message_id: UUID) -> bool:
    """Whether this message is in this thread, and the reader may read it.

    Raises:
        NotFound: there is no such thread, or the reader has no part in it.
    """
    await _thread(session, thread_id, reader)
    row = await session.first(_HAS_MESSAGE, {"message_id": message_id, "thread_id": thread_id})
    if row is None or not reader.was_here(row.created_at):
        return False
    return may_read(reader.member_id, author=row.member_id, audience=row.audience)


_ENTRY = f"""
    SELECT m.id, m.path, m.kind, m.player, m.profile, m.agent_config, m.status, m.status_reason, m.stage_ids,
        m.position, m.is_test, m.joining, m.added_by, m.created_at, m.joined_at, m.arrived_at, m.paused_at,
        m.ended_at,
        c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort_name,
        nullif(coalesce(m.treatment_id, c.treatment_id), '') AS treatment_id, m.allocated,
        (SELECT p.gone_at FROM presence p WHERE p.member_id = m.id AND m.player = 'person'
            AND m.status IN {in_sql(TAKING_PART)}) AS gone_at
    FROM members m JOIN cohorts c ON c.id = m.cohort_id
"""  # noqa: S608 - put together from constants
_ROSTER = text(
    f"""
    {_ENTRY}
    WHERE m.experiment_id = :experiment_id AND (CAST(:cohort_id AS uuid) IS NULL OR m.cohort_id = :cohort_id)
        AND (CAST(:external_id AS text) IS NULL OR {is_person("m")})
        AND m.id > CAST(:after AS uuid)
    ORDER BY m.id LIMIT :most
    """
)


async def roster(
    session: ReadSession,
    experiment_id: UUID,
    *,
    cohort_id: UUID | None,
    external_id: str | None,
    after: UUID,
    most: int,
) -> Sequence[Row]:
    """Members with all fields for experimenters, by id; never tokens. `external_id`: only the person who has it."""
    wanted = {
        "experiment_id": experiment_id,
        "cohort_id": cohort_id,
        "external_id": external_id,
        "compared": None if external_id is None else comparable(external_id),
    }
    return await session.all(_ROSTER, {**wanted, "after": after, "most": most})


_ROSTER_ENTRY = text(f"{_ENTRY} WHERE m.id = :member_id")


async def roster_entry(session: ReadSession, member_id: UUID) -> Row:
    """One member as in `roster`; the member must be there."""
    return await session.one(_ROSTER_ENTRY, {"member_id": member_id})


_COHORT = """
    SELECT id, path, name, nullif(treatment_id, '') AS treatment_id, join_code, status, locked, alone, created_at,
        ended_at,
        (SELECT count(*) FROM members m WHERE m.cohort_id = cohorts.id AND m.status = 'expected') AS open_seats
    FROM cohorts
"""
_ONE_COHORT = text(f"{_COHORT} WHERE id = :cohort_id")
_COHORTS = text(
    f"""
    {_COHORT} WHERE experiment_id = :experiment_id
        AND (CAST(:after AS uuid) IS NULL OR (created_at, length(path), path COLLATE "C") > (
            SELECT a.created_at, length(a.path), a.path COLLATE "C" FROM cohorts a
            WHERE a.id = CAST(:after AS uuid) AND a.experiment_id = :experiment_id))
    ORDER BY created_at, length(path), path COLLATE "C" LIMIT :most
    """  # noqa: S608 - put together from constants
)
MOST_COHORTS: Final = 10_000
_HAS_COHORT = text("SELECT 1 FROM cohorts WHERE id = :cohort_id AND experiment_id = :experiment_id")


async def cohorts(
    session: ReadSession, experiment_id: UUID, *, after: UUID | None = None, most: int = MOST_COHORTS
) -> Sequence[Row]:
    """The cohorts of an experiment in order, those after `after` if it is given.

    Raises:
        InvalidInput: `after` is no cohort of this experiment.
    """
    place = {"cohort_id": after, "experiment_id": experiment_id}
    if after is not None and await session.first(_HAS_COHORT, place) is None:
        problem = Problem("after", str(after), "the id of a cohort of this experiment, as `next_after` gives it")
        raise InvalidInput("The list cannot be read on from there.", [problem])
    return await session.all(_COHORTS, {"experiment_id": experiment_id, "after": after, "most": most})


async def cohort(session: ReadSession, cohort_id: UUID) -> Row:
    """One cohort as in `cohorts`; it must be there."""
    return await session.one(_ONE_COHORT, {"cohort_id": cohort_id})


_THREADS = text(
    """
    SELECT t.id, t.stage_id, t.scope, m.id AS member_id, t.last_seq AS messages, t.opened_at, t.ended_at
    FROM threads t JOIN cohorts c ON c.id = t.cohort_id
        LEFT JOIN members m ON m.experiment_id = c.experiment_id AND m.path = substr(t.scope, length('private:') + 1)
    WHERE t.cohort_id = :cohort_id ORDER BY t.opened_at, t.path COLLATE "C"
    """
)


async def threads(session: ReadSession, cohort_id: UUID) -> Sequence[Row]:
    """The conversations of a cohort, the oldest first."""
    return await session.all(_THREADS, {"cohort_id": cohort_id})
