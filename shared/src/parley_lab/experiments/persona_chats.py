"""Test chats with personas: each is a small experiment of its own, which no list of experiments shows.

A post holds the lock of the chat's row, and is refused while the reply to the last message is awaited. So each message
gets one reply; the key of `trigger_log` prevents a second one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers import advancing
from parley_lab.base import seeds
from parley_lab.base.errors import Conflict
from parley_lab.contracts.experiment import ModelMode, Persona, Profile
from parley_lab.contracts.providers import serving_provider
from parley_lab.design import Experiment, document_hash, resolve, snapshot
from parley_lab.design.persona_chat import STAGE, chat_with
from parley_lab.experiments import pausing, starting
from parley_lab.members import standings
from parley_lab.people import joining
from parley_lab.settle import settling
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row, as_json
from parley_lab.talk.conversation import open_thread
from parley_lab.talk.posting import post_message

_COHORT = "c1"
_PERSON = "c1/m1"
_PERSONA = "c1/med1"
_THREAD = f"{_COHORT}/{STAGE}/group"
CAUSE = "request"
_GUEST = Profile(name="Guest")
"""The person, as the persona sees them."""

Reply = Literal["awaited", "given", "failed"]


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a test chat; `author_id` is None for the person.

    `reply`: the state of the reply to the person's message. `failure`: in a word, why there is none.
    """

    id: UUID
    seq: int
    is_persona: bool
    text: str
    created_at: datetime
    reply: Reply | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class Chat:
    """A test chat that is going on; `lines` are those that were asked for, and `has_more` whether more follow them."""

    experiment_id: UUID
    model_mode: ModelMode
    lines: Sequence[Line]
    has_more: bool
    is_awaiting_reply: bool


_LOCK_OWNER = text("SELECT id FROM experimenters WHERE id = :owner_id FOR NO KEY UPDATE")
_CHAT = """
    SELECT k.experiment_id, e.model_mode, e.document_hash, e.status
    FROM persona_chats k JOIN experiments e ON e.id = k.experiment_id
    WHERE k.owner_id = :owner_id AND k.persona = :persona AND k.cleared_at IS NULL
"""
_FIND = text(_CHAT)
_LOCK = text(f"{_CHAT} FOR NO KEY UPDATE OF k")
_BEGIN = text(
    "INSERT INTO persona_chats (experiment_id, owner_id, persona) VALUES (:experiment_id, :owner_id, :persona)"
)


async def say(
    session: Session,
    owner_id: UUID,
    name: str,
    persona: Persona,
    message: str,
    now: datetime,
    *,
    client_key: str,
    mode: ModelMode,
) -> Line:
    """Say something to a persona, as it is now; the same `client_key` again returns the stored message.

    `name`: the key of the chat. An owner has one open chat for each name, which the first message begins.

    Raises:
        Conflict: the reply to the last message is still awaited, or something else was said under this key.
    """
    chat = await _locked(session, owner_id, name)
    experiment = chat_with(persona, mode)
    experiment_id = await _begin(session, owner_id, name, experiment, now) if chat is None else chat.experiment_id
    if chat is not None and not await _is_said(session, experiment_id, client_key):
        await _refuse_while_awaiting(session, experiment_id)
        if chat.document_hash != document_hash(experiment):
            await _change(session, experiment_id, experiment)
    posted = await post_message(
        session,
        seeds.row_id(experiment_id, _THREAD),
        seeds.row_id(experiment_id, _PERSON),
        message,
        now,
        client_key=client_key,
    )
    return _line(await session.one(_ONE_LINE, {**_place(experiment_id), "message_id": posted["id"]}))


async def go_on(session: Session, owner_id: UUID, name: str, now: datetime) -> None:
    """Continue a chat at its next use, if its lab was stopped meanwhile."""
    row = await session.first(_FIND, {"owner_id": owner_id, "persona": name})
    if row is not None and row.status == "paused":
        await pausing.resume(session, row.experiment_id, now, cause=CAUSE)


async def _locked(session: Session, owner_id: UUID, name: str) -> Row | None:
    """The chat under its lock; without one, the owner's lock is held, so that only one can be begun."""
    key = {"owner_id": owner_id, "persona": name}
    chat = await session.first(_LOCK, key)
    if chat is None:
        await session.first(_LOCK_OWNER, key)
        chat = await session.first(_LOCK, key)
    return chat


async def _begin(session: Session, owner_id: UUID, name: str, experiment: Experiment, now: datetime) -> UUID:
    """Store, start and join the experiment, and open its conversation: it waits for no other member."""
    experiment_id = await starting.create(session, owner_id, experiment, now, is_test=True)
    await session.run(_BEGIN, {"experiment_id": experiment_id, "owner_id": owner_id, "persona": name})
    await starting.start(session, experiment_id, now)
    cohort = await settling.lock_cohort(session, seeds.row_id(experiment_id, _COHORT))
    assert cohort is not None
    await settling.unlock(session, cohort, STAGE, {}, now)
    await joining.join(session, experiment_id, now, cohort_id=cohort.id, profile=_GUEST)
    await open_thread(
        session,
        thread_id=seeds.row_id(experiment_id, _THREAD),
        experiment_id=experiment_id,
        cohort_id=cohort.id,
        stage_id=STAGE,
        scope="group",
        path=_THREAD,
        now=now,
        timer=None,
        cause=CAUSE,
    )
    return experiment_id


_IS_SAID = text(
    "SELECT 1 FROM messages WHERE thread_id = :thread_id AND member_id = :person_id AND client_key = :client_key"
)
_IS_AWAITED = text(
    "SELECT 1 FROM drafts WHERE thread_id = :thread_id AND state IN ('wanted', 'thinking', 'ready') LIMIT 1"
)


def _place(experiment_id: UUID) -> dict[str, UUID]:
    return {"thread_id": seeds.row_id(experiment_id, _THREAD), "person_id": seeds.row_id(experiment_id, _PERSON)}


async def _is_said(session: ReadSession, experiment_id: UUID, client_key: str) -> bool:
    return await session.first(_IS_SAID, {**_place(experiment_id), "client_key": client_key}) is not None


async def _is_awaited(session: ReadSession, experiment_id: UUID) -> bool:
    return await session.first(_IS_AWAITED, _place(experiment_id)) is not None


async def _refuse_while_awaiting(session: ReadSession, experiment_id: UUID) -> None:
    if await _is_awaited(session, experiment_id):
        raise Conflict("The persona has not answered your last message yet; wait for it.", reason="awaiting_reply")


# A change makes a new version, so that no process uses the one that it has cached.
_CHANGE = text(
    """
    WITH changed AS (
        UPDATE experiments SET document = CAST(:document AS jsonb), document_hash = :hash, model_mode = :mode,
            version = version + 1
        WHERE id = :experiment_id
    ), resolved AS (
        UPDATE treatments SET resolved = CAST(:resolved AS jsonb) WHERE experiment_id = :experiment_id
    )
    UPDATE members SET agent_config = CAST(:agent AS jsonb), profile = CAST(:profile AS jsonb), provider = :provider,
        version = version + 1
    WHERE id = :member_id
    """
)


async def _change(session: Session, experiment_id: UUID, experiment: Experiment) -> None:
    """Store the persona as it is now; the messages stay."""
    resolved = resolve(experiment, None)
    persona = resolved.personas[experiment.personas[0].id]
    await session.run(
        _CHANGE,
        {
            "experiment_id": experiment_id,
            "document": as_json(experiment.model_dump(mode="json")),
            "hash": document_hash(experiment),
            "mode": experiment.model_mode,
            "resolved": as_json(resolved.model_dump(mode="json")),
            "agent": as_json(snapshot(persona).model_dump(mode="json")),
            "profile": as_json(persona.profile.model_dump(mode="json")),
            "provider": serving_provider(experiment.model_mode, persona.model.provider),
            "member_id": seeds.row_id(experiment_id, _PERSONA),
        },
    )


_LINES = """
    SELECT m.id, m.seq, m.member_id <> :person_id AS is_persona, m.text, m.created_at, d.state,
        (SELECT k.status FROM model_calls k WHERE k.draft_id = d.id AND k.part = ''
            ORDER BY k.attempt DESC LIMIT 1) AS status
    FROM messages m LEFT JOIN drafts d ON d.thread_id = m.thread_id AND d.trigger_key = 'message:' || m.id
    WHERE m.thread_id = :thread_id AND m.member_id IS NOT NULL
"""
_SOME_LINES = text(f"{_LINES} AND m.seq > :after_seq ORDER BY m.seq LIMIT :most")
_ONE_LINE = text(f"{_LINES} AND m.id = CAST(:message_id AS uuid)")
_REPLIES: dict[str, Reply] = {"wanted": "awaited", "thinking": "awaited", "ready": "awaited", "published": "given"}


async def find(session: ReadSession, owner_id: UUID, name: str, *, after_seq: int = 0, most: int = 1000) -> Chat | None:
    """The chat that is going on, with what was said after `after_seq`; None when nothing was said yet."""
    row = await session.first(_FIND, {"owner_id": owner_id, "persona": name})
    if row is None:
        return None
    # Read before the lines, so that a reply that is published in between is among them.
    is_awaiting_reply = await _is_awaited(session, row.experiment_id)
    lines = await session.all(_SOME_LINES, {**_place(row.experiment_id), "after_seq": after_seq, "most": most + 1})
    return Chat(
        experiment_id=row.experiment_id,
        model_mode=row.model_mode,
        lines=[_line(line) for line in lines[:most]],
        has_more=len(lines) > most,
        is_awaiting_reply=is_awaiting_reply,
    )


def _line(row: Row) -> Line:
    reply = None if row.is_persona or row.state is None else _REPLIES.get(row.state, "failed")
    failure = (row.status if row.status not in (None, "ok") else row.state) if reply == "failed" else None
    return Line(row.id, row.seq, row.is_persona, row.text, row.created_at, reply, failure)


_CLEAR = text("UPDATE persona_chats SET cleared_at = :now WHERE experiment_id = :experiment_id")


async def clear(session: Session, owner_id: UUID, name: str, now: datetime) -> None:
    """Begin anew with the next message. Idempotent. A reply in the making is dropped."""
    chat = await session.first(_LOCK, {"owner_id": owner_id, "persona": name})
    if chat is None:
        return
    if chat.status == "paused":
        # While it is paused it does not end, and no later use of the chat would continue it.
        await pausing.resume(session, chat.experiment_id, now, cause=CAUSE)
    await session.run(_CLEAR, {"experiment_id": chat.experiment_id, "now": now})
    standing = await standings.lock_standing(session, seeds.row_id(chat.experiment_id, _PERSON))
    await advancing.end_member(session, standing, "left", "the chat was cleared", now, cause=CAUSE)
