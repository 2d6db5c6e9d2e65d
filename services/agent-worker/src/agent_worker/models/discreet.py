"""What every provider of models can do, and what keeps the lab's keys out of what an endpoint sends back.

Whoever was called knows a key, and may show it.
"""

import json
from contextlib import suppress
from typing import Any, Protocol

from shared.contracts.model_keys import ModelKeys
from shared.contracts.models import ModelReply, ModelRequest


class Model(Protocol):
    async def reply(self, request: ModelRequest) -> ModelReply:
        """Make one attempt. Whatever fails at the provider is a reply with another status than `ok`, not an error."""
        ...

    async def aclose(self) -> None:
        """Close the connections; no call may follow."""
        ...


class Discreet:
    """A model whose replies, good ones too, hold none of these keys. Whatever is stored or logged was here before."""

    def __init__(self, inner: Model, keys: ModelKeys) -> None:
        self._inner = inner
        self._keys = keys

    async def reply(self, request: ModelRequest) -> ModelReply:
        reply = await self._inner.reply(request)
        return without_keys(reply, self._keys)

    async def aclose(self) -> None:
        await self._inner.aclose()


def without_keys(reply: ModelReply, keys: ModelKeys) -> ModelReply:
    """The reply with each key in it replaced, in the object as in the text that it was read from."""
    update: dict[str, Any] = {
        name: keys.redacted(value)
        for name in ("raw", "model_returned", "finish_reason", "error")
        if (value := getattr(reply, name))
    }
    if reply.parsed is not None:
        # What is nested too deeply to be walked through is nothing that can be stored, and is refused as such.
        with suppress(RecursionError):
            update["parsed"] = _redacted(reply.parsed, keys)
    changed = {name: value for name, value in update.items() if value != getattr(reply, name)}
    if "parsed" in changed and "raw" not in changed:
        # The text spells the key in escapes.
        changed["raw"] = json.dumps(changed["parsed"])
    return reply.model_copy(update=changed) if changed else reply


def _redacted(value: Any, keys: ModelKeys) -> Any:
    match value:
        case str():
            return keys.redacted(value)
        case dict():
            return {keys.redacted(name): _redacted(part, keys) for name, part in value.items()}
        case list():
            return [_redacted(part, keys) for part in value]
    return value
