"""The model without cost: plausible, valid replies to any schema, drawn from the seed, the path and the persona.

A reply depends on the request's schema and hints only, not on memory or the clock: a repeated call gives the same
reply.
"""

import asyncio
import json
from random import Random
from typing import Any, Final

from parley_lab.agent_worker.models import phrases, rehearsal, traits
from parley_lab.base.fitting import fitted
from parley_lab.base.schema_filler import fill
from parley_lab.base.seeds import rng as seeded
from parley_lab.contracts.models import (
    HINT_FORM,
    HINT_IS_MEDIATOR,
    HINT_LAST_TEXT,
    HINT_MANNER,
    HINT_MEMBER,
    HINT_MESSAGE_COUNT,
    HINT_OWN_MESSAGE_COUNT,
    HINT_PERSONA,
    HINT_PERSONA_TEXT,
    HINT_QUESTION,
    HINT_STAYS,
    HINT_SUGGESTED,
    ModelReply,
    ModelRequest,
)

_CHARACTERS_PER_TOKEN: Final = 4

# Only replies in a chat have this field.
_READY: Final = "readyToEndChat"

# A room of two to four agents ends after about 8 to 20 messages (tested by playing rooms out).
_NONE_READY_BEFORE: Final = 5
_READY_PER_MESSAGE: Final = 0.04
_MOST_READY: Final = 0.9
_NONE_SILENT_BEFORE: Final = 6
_SILENT: Final = 0.08
_SILENT_WHEN_TALKATIVE: Final = 0.3


class MockModel:
    """`latency_seconds` is the mean of a seeded waiting time, uniform between half and one and a half of it."""

    def __init__(self, *, latency_seconds: float = 0.0) -> None:
        self._latency_seconds = latency_seconds

    async def reply(self, request: ModelRequest) -> ModelReply:
        if self._latency_seconds > 0:
            spread = seeded(request.seed, f"{request.path}/latency").uniform(0.5, 1.5)
            await asyncio.sleep(self._latency_seconds * spread)
        latency = rehearsal.latency_seconds(request)
        failed = rehearsal.failure(request)
        if rehearsal.is_simulated(request):
            return _in_simulated_time(failed or mock_reply(request), latency)
        if latency:
            await asyncio.sleep(latency)
        return failed or mock_reply(request)

    async def aclose(self) -> None:
        return None


def _in_simulated_time(reply: ModelReply, latency_seconds: float | None) -> ModelReply:
    # A failure takes some time in any case, so the next attempt needs no extra wait.
    usual = None if reply.status == "ok" else 0.0
    return reply.model_copy(update={"simulated_seconds": usual if latency_seconds is None else latency_seconds})


def mock_reply(request: ModelRequest) -> ModelReply:
    """The mock's reply to `request`.

    Raises:
        UnfillableSchemaError: the reply schema allows nothing, or asks for a pattern.
    """
    rng = seeded(request.seed, f"{request.path}/mock")
    suggestions = _Suggestions(request, rng)
    parsed = {**fill(request.reply_schema, rng, suggest=suggestions.suggest), **suggestions.numbers}
    if isinstance(form := request.hints.get(HINT_FORM), str):
        parsed = fitted(json.loads(form), parsed)
    raw = json.dumps(parsed, ensure_ascii=False)
    return ModelReply(
        status="ok",
        parsed=parsed,
        raw=raw,
        model_returned="mock",
        tokens_in=sum(len(message.content) for message in request.messages) // _CHARACTERS_PER_TOKEN,
        tokens_out=len(raw) // _CHARACTERS_PER_TOKEN + 1,
        finish_reason="stop",
    )


def ready_probability(message_count: int) -> float:
    """The probability that a speaker is done after so many messages: 0 at first, growing with each message."""
    return min(_MOST_READY, max(0, message_count - _NONE_READY_BEFORE) * _READY_PER_MESSAGE)


def silence_probability(message_count: int, own_message_count: int) -> float:
    """The probability that a speaker stays silent: 0 at first, larger when it wrote half of all messages."""
    if message_count < _NONE_SILENT_BEFORE:
        return 0.0
    return _SILENT_WHEN_TALKATIVE if own_message_count * 2 > message_count + 1 else _SILENT


class _Suggestions:
    """The decisions of one reply, made before any property is filled, so that its fields agree with each other."""

    def __init__(self, request: ModelRequest, rng: Random) -> None:
        self._is_chat = _READY in request.reply_schema.get("properties", {})
        self._is_mediator = request.hints.get(HINT_IS_MEDIATOR) is True
        self._identity = traits.Identity(
            request.seed,
            _text(request.hints.get(HINT_PERSONA)),
            _text(request.hints.get(HINT_MEMBER)),
            _text(request.hints.get(HINT_PERSONA_TEXT)),
        )
        self._manner = _text(request.hints.get(HINT_MANNER)).splitlines()
        self._message_count = _count(request.hints.get(HINT_MESSAGE_COUNT))
        self._own_count = _count(request.hints.get(HINT_OWN_MESSAGE_COUNT))
        part = rehearsal.part_of(request)
        # Both are drawn in any case, so that a script leaves other draws unchanged.
        is_ready = rng.random() < ready_probability(self._message_count)
        speaks = rng.random() >= silence_probability(self._message_count, self._own_count)
        is_ready = is_ready and request.hints.get(HINT_STAYS) is not True
        self._ready = is_ready if part.is_ready is None else part.is_ready
        self._speaks = speaks if part.speaks is None else part.speaks
        self._line = part.line
        self._hints = request.hints

    @property
    def numbers(self) -> dict[str, int | float]:
        """Numbers to reply as they are; a number suggested to the filler is a position within the bounds."""
        suggested = ((name, value) for name, value in self._hints.items() if name.startswith(HINT_SUGGESTED))
        return {
            name.removeprefix(HINT_SUGGESTED): value
            for name, value in suggested
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def suggest(self, name: str, rng: Random) -> str | bool | float | None:
        if isinstance(given := self._hints.get(f"{HINT_SUGGESTED}{name}"), str | bool):
            return given
        if isinstance(question := self._hints.get(f"{HINT_QUESTION}{name}"), str):
            return traits.position(self._identity, question, rng)
        if self._is_chat:
            return self._in_a_chat(name, rng)
        if name in ("response", "message"):
            return self._line or (phrases.summary(rng) if self._is_mediator else self._contribution(rng))
        return None

    def _in_a_chat(self, name: str, rng: Random) -> str | bool | None:
        match name:
            case "shouldRespond":
                return self._speaks
            case "readyToEndChat":
                return self._ready
            case "response":
                return self._message(rng)
            case "explanation":
                return phrases.reason(rng, speaks=self._speaks, ready=self._ready)
        return None

    def _message(self, rng: Random) -> str:
        if self._line is not None:
            return self._line
        if self._message_count == 0:
            return phrases.opening(rng, manner=self._manner, is_mediator=self._is_mediator)
        if self._ready and self._own_count:
            return phrases.closing(rng)
        return self._contribution(rng)

    def _contribution(self, rng: Random) -> str:
        last = _text(self._hints.get(HINT_LAST_TEXT))
        reacts = bool(last) and not last.endswith("?")
        return phrases.contribution(rng, reacts=reacts, manner=self._manner, is_mediator=self._is_mediator)


def _text(hint: Any) -> str:
    return hint.strip() if isinstance(hint, str) else ""


def _count(hint: Any) -> int:
    return int(hint) if isinstance(hint, int | float) else 0
