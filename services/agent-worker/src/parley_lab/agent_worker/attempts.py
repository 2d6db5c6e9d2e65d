"""One attempt at a model: its reply as the rules read it, and its row in the data."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, TypeVar
from uuid import UUID

import orjson
from pydantic import BaseModel, JsonValue, ValidationError

from parley_lab.agent_worker.models.prices import cost_usd
from parley_lab.base import seeds
from parley_lab.base.metrics import NAMED_WORDS
from parley_lab.base.replies import OwnWords, Reply, other_speaker, own_words, read
from parley_lab.base.storable import storable_json
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.models import (
    CUT_OFF,
    HINT_OTHER_NAMES,
    HINT_OWN_NAMES,
    LONGEST_REPLY_BYTES,
    ModelReply,
    ModelRequest,
)
from parley_lab.contracts.providers import MOCK_PROVIDER
from parley_lab.drafts import drafts
from parley_lab.drafts.calls import keep_pieces
from parley_lab.drafts.prompts import LONGEST_WHOLE, in_pieces
from parley_lab.kinds import OwnView
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.talk import Utterance
from parley_lab.store.session import Database
from parley_lab.store.statements import as_json

ReplyT = TypeVar("ReplyT", bound=BaseModel)

LOST = "lost"
"""The status of a call whose outcome is not known."""
LONGEST_WAIT_SECONDS = 7 * 86_400.0
_LARGEST_COUNT = 2**31 - 1
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
_KEPT_OF_LONG = 20_000
_TOO_MUCH = "the reply is too long to be kept: say it in fewer words"
_REFUSED = "The reply holds numbers, characters or a depth that cannot be stored."


@dataclass(frozen=True, slots=True)
class Attempt:
    """One model call and its outcome; `reason` says why its reply cannot be used.

    `was_crowded`: it timed out while other calls of this process were in flight at its endpoint. `left_out`: the number
    of messages that its prompt left out to stay within its budget. `view`: the view for the check of the answer, where
    it was read while the model was thinking. `read_as`: the fields of the reply as they were read, where they were
    written in another form. `prompt_pieces`: what the row keeps of a long prompt (`keep_prompt`).
    """

    number: int
    path: str
    request: ModelRequest
    reply: ModelReply
    started_at: datetime
    finished_at: datetime
    left_out: int = 0
    reason: str | None = None
    was_crowded: bool = False
    view: OwnView | None = None
    read_as: dict[str, Any] | None = None
    prompt_pieces: Sequence[UUID] | None = None

    @property
    def prompt(self) -> str:
        """The prompt as JSON text."""
        messages = self.request.messages
        return orjson.dumps([{"role": one.role, "content": one.content} for one in messages]).decode()


class Invalid(Exception):
    """The reply does not answer the question; the message tells the model why."""


def read_reply(reply_model: type[ReplyT], attempt: Attempt, stage: StageConfig) -> tuple[Attempt, ReplyT]:
    """The reply as the rules of its stage read it, and the attempt with it where the model wrote it otherwise.

    Raises:
        Invalid: it does not match the schema, or another member would speak in it.
    """
    try:
        reply = read(reply_model, attempt.reply.parsed, (stage.id, stage.kind, stage.title))
    except ValidationError as error:
        raise _misshapen(error) from error
    reply, removed = _in_own_words(reply, attempt)
    if removed:
        details = {**attempt.reply.details, "removed": removed}
        attempt = replace(attempt, reply=attempt.reply.model_copy(update={"details": details}))
    read_as = reply.model_dump(mode="json", by_alias=True)
    return attempt if read_as == attempt.reply.parsed else replace(attempt, read_as=read_as), reply


def _in_own_words(reply: ReplyT, attempt: Attempt) -> tuple[ReplyT, list[JsonValue]]:
    """The reply without its author's name before what is said, and without what others would say; and which of them
    were removed.
    """
    hints = attempt.request.hints
    own, others = (str(hints.get(hint) or "").splitlines() for hint in (HINT_OWN_NAMES, HINT_OTHER_NAMES))
    changed: dict[str, str] = {}
    removed: list[JsonValue] = []
    spoken = reply.spoken if isinstance(reply, Reply) else ()
    if spoken and (speaker := other_speaker(attempt.reply.parsed or {}, own, others)) is not None:
        raise _as_another(speaker)
    for field in spoken:
        words = getattr(reply, field)
        found = own_words(words, own, others) if isinstance(words, str) else OwnWords("")
        if found.had_name:
            NAMED_WORDS.labels("own_name").inc()
            removed.append("own_name")
        if found.of_another is not None:
            NAMED_WORDS.labels("cut" if found.text else "refused").inc()
            if not found.text:
                raise _as_another(found.of_another)
            removed.append("words_of_others")
        if isinstance(words, str) and found.text != words:
            changed[field] = found.text
    return (reply.model_copy(update=changed) if changed else reply), removed


def _as_another(name: str) -> Invalid:
    return Invalid(f"it speaks for {name}: say nothing but your own words, without a name")


def said(lease: drafts.Lease, attempt: Attempt) -> tuple[Attempt, Utterance]:
    """The attempt with what was read of its reply, and what the reply says in the conversation.

    Raises:
        Invalid: it does not match the schema.
    """
    talk = parts_of(lease.stage).talk
    if talk is None:
        raise Invalid("there is no conversation here")
    attempt, reply = read_reply(talk.reply_model(lease.ask.purpose), attempt, lease.stage)
    try:
        return attempt, talk.utterance(lease.ask.purpose, reply.model_dump(mode="json", by_alias=True))
    except ValidationError as error:
        raise _misshapen(error) from error


def _misshapen(error: ValidationError) -> Invalid:
    problems = (f"{'.'.join(map(str, each['loc'])) or 'reply'}: {each['msg']}" for each in error.errors())
    return Invalid("; ".join(problems))


async def keep_prompt(database: Database, lease: drafts.Lease, attempt: Attempt) -> Attempt:
    """Store the pieces of a long prompt, before the call is recorded; a short one goes into the row of its call.

    Not in the transaction that records the call: it would keep others who show the same pieces waiting.
    """
    prompt = attempt.prompt
    if len(prompt) <= LONGEST_WHOLE:
        return attempt
    pieces = in_pieces(prompt)
    async with database.autocommit() as session:
        await keep_pieces(session, lease.experiment_id, pieces)
    return replace(attempt, prompt_pieces=pieces.top)


def call_row(lease: drafts.Lease, attempt: Attempt) -> dict[str, Any]:
    """The row of `model_calls` for one attempt."""
    request, reply = attempt.request, attempt.reply
    prompt = attempt.prompt
    settings = request.settings.model_dump(mode="json", exclude_defaults=True)
    if request.most_reply_tokens is not None:
        settings["max_tokens"] = request.most_reply_tokens
    if attempt.left_out:
        settings["left_out"] = attempt.left_out
    return {
        "call_id": seeds.row_id(lease.experiment_id, attempt.path),
        "draft_id": lease.draft_id,
        "part": "",
        "attempt": attempt.number,
        "call_path": attempt.path,
        "provider": lease.provider,
        "model_asked": request.settings.model,
        "model_returned": reply.model_returned or None,
        "endpoint": reply.endpoint or None,
        "model_mode": lease.model_mode,
        "settings": as_json(settings),
        "prompt": prompt if attempt.prompt_pieces is None else None,
        "prompt_pieces": attempt.prompt_pieces,
        "prompt_hash": sha256(prompt.encode()).hexdigest(),
        "raw": reply.raw,
        "details": as_json(details) if (details := _details(reply)) else None,
        "parsed": as_json(reply.parsed) if reply.parsed is not None else None,
        "read_as": as_json(attempt.read_as) if attempt.read_as is not None else None,
        "status": "invalid" if attempt.reason else reply.status,
        "error": attempt.reason or reply.error,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "cost": cost_usd(request.settings, reply) if lease.model_mode == "real" else None,
        "started_at": attempt.started_at,
        "finished_at": _finished_at(lease, attempt),
    }


def _finished_at(lease: drafts.Lease, attempt: Attempt) -> datetime:
    """When the call was over. In simulated time it took what its script says, whatever the machine took: so equal runs
    have equal data."""
    mock = attempt.request.mock
    if lease.provider != MOCK_PROVIDER or lease.pace != "fast" or (mock is not None and mock.always_wait):
        return attempt.finished_at
    return attempt.started_at + timedelta(seconds=attempt.reply.simulated_seconds or 0)


def lost_call(lease: drafts.Lease, now: datetime) -> dict[str, Any]:
    """The row of the call that was in hand when the lease before this one ran out. It uses up no attempt."""
    number, part = lease.last_number + 1, f"lost:{lease.attempts}"
    path = f"{lease.path}/call:{number}/{part}"
    return {
        **dict.fromkeys(("model_returned", "endpoint", "prompt_pieces", "raw", "details", "parsed", "read_as")),
        **dict.fromkeys(("tokens_in", "tokens_out", "cost")),
        "call_id": seeds.row_id(lease.experiment_id, path),
        "draft_id": lease.draft_id,
        "part": part,
        "attempt": number,
        "call_path": path,
        "provider": lease.provider,
        "model_asked": lease.agent.model.model,
        "model_mode": lease.model_mode,
        "settings": as_json(lease.agent.model.model_dump(mode="json", exclude_defaults=True)),
        "prompt": "[]",
        "prompt_hash": "",
        "status": LOST,
        "error": "Its worker ended, or lost the database, with this call in hand. It may have been sent and paid.",
        "started_at": now,
        "finished_at": now,
    }


def _details(reply: ModelReply) -> dict[str, JsonValue]:
    """The details of a row beside the text: a cut, and the words if `raw` is the whole message."""
    more = {"finish_reason": CUT_OFF if reply.finish_reason == CUT_OFF else None, "text": reply.text}
    return {**reply.details, **{name: value for name, value in more.items() if value is not None}}


def storable(reply: ModelReply) -> ModelReply:
    """The reply without anything that Postgres cannot store (NUL bytes and the like).

    A reply whose parsed object cannot be stored is invalid.
    """
    update: dict[str, object] = {
        "raw": _clean(reply.raw),
        "text": None if reply.text is None else _clean(reply.text),
        "model_returned": _clean(reply.model_returned),
        "error": reply.error and _clean(reply.error),
        "details": _cleaned(reply.details),
        "tokens_in": _count(reply.tokens_in),
        "tokens_out": _count(reply.tokens_out),
    }
    if reply.retry_after_seconds is not None:
        update["retry_after_seconds"] = min(reply.retry_after_seconds, LONGEST_WAIT_SECONDS)
    if len(reply.raw) > LONGEST_REPLY_BYTES:
        update |= {"raw": _clean(reply.raw[:_KEPT_OF_LONG]), "text": None, "parsed": None, "status": "invalid"}
        update |= {"error": _TOO_MUCH, "finish_reason": CUT_OFF, "can_retry": True}
    elif reply.parsed is not None and not _is_storable(reply.parsed):
        update |= {"parsed": None, "status": "invalid", "error": _REFUSED, "can_retry": True}
    return reply.model_copy(update=update)


def _clean(text: str) -> str:
    return _NOT_STORABLE.sub("\ufffd", text)


def _cleaned(details: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The details that can be stored; a log probability is kept though its token is half a character."""
    if not details:
        return details
    cleaned = {name: _storable_part(value) for name, value in details.items()}
    return {name: value for name, value in cleaned.items() if _is_storable(value)}


def _storable_part(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return _clean(value)
        case dict():
            return {_clean(name): _storable_part(part) for name, part in value.items()}
        case list():
            return [_storable_part(part) for part in value]
    return value


def _count(tokens: int | None) -> int | None:
    return tokens if tokens is None or tokens <= _LARGEST_COUNT else None


def _is_storable(value: object) -> bool:
    try:
        storable_json(value)
    except ValueError:
        return False
    return True
