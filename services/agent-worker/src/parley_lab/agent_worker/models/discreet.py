"""The interface of every provider of models, and a wrapper that removes the lab's keys from replies.

An endpoint that is called with a key may send the key back.
"""

import json
from contextlib import suppress
from typing import Any, Protocol

from parley_lab.contracts.model_keys import ModelKeys
from parley_lab.contracts.models import ModelReply, ModelRequest


class Model(Protocol):
    async def reply(self, request: ModelRequest) -> ModelReply:
        """Make one attempt. A failure at the provider is a reply with a status other than `ok`, not an error."""
        ...

    async def aclose(self) -> None:
        """Close the connections; no call may follow."""
        ...


class Discreet:
    """A model whose replies, successful ones too, hold none of these keys. Replies pass here before they are stored or
    logged."""

    def __init__(self, inner: Model, keys: ModelKeys) -> None:
        self._inner = inner
        self._keys = keys

    async def reply(self, request: ModelRequest) -> ModelReply:
        reply = await self._inner.reply(request)
        return without_keys(reply, self._keys)

    async def aclose(self) -> None:
        await self._inner.aclose()


def without_keys(reply: ModelReply, keys: ModelKeys) -> ModelReply:
    """The reply with each key in its text and in its object replaced."""
    update: dict[str, Any] = {
        name: keys.redacted(value)
        for name in ("raw", "text", "model_returned", "finish_reason", "error")
        if (value := getattr(reply, name))
    }
    for name in ("parsed", "details"):
        # An object that is nested too deeply to be searched cannot be stored either, and is refused.
        with suppress(RecursionError):
            update[name] = _redact_all(getattr(reply, name), keys)
    changed = {name: value for name, value in update.items() if value != getattr(reply, name)}
    if "parsed" in changed and (reply.text is not None or "raw" not in changed):
        # The text spells the key in escapes.
        written = json.dumps(changed["parsed"])
        changed |= {"raw": written, "text": None if reply.text is None else written}
    return reply.model_copy(update=changed) if changed else reply


def _redact_all(value: Any, keys: ModelKeys) -> Any:
    match value:
        case str():
            return keys.redacted(value)
        case dict():
            return {keys.redacted(name): _redact_all(part, keys) for name, part in value.items()}
        case list():
            return [_redact_all(part, keys) for part in value]
    return value
