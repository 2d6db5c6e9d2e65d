"""What a provider sent, as Postgres can hold it: a model can be talked into sending anything."""

import re

from shared.contracts.models import ModelReply
from shared.storable import storable_json

LONGEST_WAIT_SECONDS = 3600.0
_LARGEST_COUNT = 2**31 - 1
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
_REFUSED = "The reply holds numbers, characters or a depth that cannot be stored."


def storable(reply: ModelReply) -> ModelReply:
    """The reply without what cannot be stored; when the parsed object itself cannot, the reply is invalid."""
    update: dict[str, object] = {
        "raw": _clean(reply.raw),
        "model_returned": _clean(reply.model_returned),
        "error": reply.error and _clean(reply.error),
        "tokens_in": _count(reply.tokens_in),
        "tokens_out": _count(reply.tokens_out),
    }
    if reply.retry_after_seconds is not None:
        update["retry_after_seconds"] = min(reply.retry_after_seconds, LONGEST_WAIT_SECONDS)
    if reply.parsed is not None and not _is_storable(reply.parsed):
        update |= {"parsed": None, "status": "invalid", "error": _REFUSED, "can_retry": True}
    return reply.model_copy(update=update)


def _clean(text: str) -> str:
    return _NOT_STORABLE.sub("\ufffd", text)


def _count(tokens: int | None) -> int | None:
    return tokens if tokens is None or tokens <= _LARGEST_COUNT else None


def _is_storable(value: object) -> bool:
    try:
        storable_json(value)
    except ValueError:
        return False
    return True
