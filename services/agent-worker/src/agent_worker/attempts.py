"""One attempt at a model and what came of it: as the rules read it, and as it is recorded."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from agent_worker.models.prices import cost_usd
from shared import seeds
from shared.acts import drafts
from shared.contracts.models import ModelReply, ModelRequest
from shared.db.session import as_json
from shared.stage import OwnView, Utterance
from shared.stages import kind_of


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call and what came of it; `reason` says why its reply cannot be used.

    `was_crowded` says that it timed out while other calls of this process were in flight at its endpoint.
    `left_out` is the number of messages that its prompt left out to stay within its budget. `view` is what the answer
    is checked against, where that was read while the model was thinking.
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


class Invalid(Exception):
    """The reply does not answer what was asked; the message says why, in words for the model."""


def validated(reply_model: type[BaseModel], reply: ModelReply) -> BaseModel:
    """The reply as the rules of its stage read it.

    Raises:
        Invalid: it has another shape.
    """
    try:
        return reply_model.model_validate(reply.parsed)
    except ValidationError as error:
        raise _misshapen(error) from error


def said(lease: drafts.Lease, reply: ModelReply) -> Utterance:
    """What the reply says in the conversation.

    Raises:
        Invalid: it has another shape.
    """
    try:
        return kind_of(lease.stage).utterance(lease.stage, lease.ask.purpose, reply.parsed)
    except ValidationError as error:
        raise _misshapen(error) from error


def _misshapen(error: ValidationError) -> Invalid:
    problems = (f"{'.'.join(map(str, each['loc'])) or 'reply'}: {each['msg']}" for each in error.errors())
    return Invalid("; ".join(problems))


def call_row(lease: drafts.Lease, attempt: Attempt) -> dict[str, Any]:
    """The row of `model_calls` for one attempt."""
    request, reply = attempt.request, attempt.reply
    prompt = orjson.dumps([{"role": message.role, "content": message.content} for message in request.messages])
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
        "prompt": prompt.decode(),
        "prompt_hash": sha256(prompt).hexdigest(),
        "raw": reply.raw,
        "parsed": as_json(reply.parsed) if reply.parsed is not None else None,
        "status": "invalid" if attempt.reason else reply.status,
        "error": attempt.reason or reply.error,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "cost": cost_usd(request.settings, reply) if lease.model_mode == "real" else None,
        "started_at": attempt.started_at,
        "finished_at": attempt.finished_at,
    }
