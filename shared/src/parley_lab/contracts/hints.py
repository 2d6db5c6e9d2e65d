"""Hints: small messages between processes that say "look at this row"; Postgres holds what happened."""

import re
from dataclasses import dataclass
from typing import Self

import orjson

from parley_lab.base.errors import ParleyError

ORCHESTRATOR = "orchestrator"
"""Work queue of cohorts to settle."""

SCRIPTED_COHORTS = "experiment.scripted"
"""The type of a hint to an experiment whose cohorts consist of scripts: the orchestrator plays them together."""

TIMER_ARMED = "timer.armed"
"""The type of a hint to a timer that is due before the next poll of timers."""

AGENT_STEPS = "agent-worker.steps"
"""Work queue of members whose agent may have a step to take."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PROVIDERS = "agent-worker."
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9_-]*")


class HintInvalid(ParleyError):
    code = "hint_invalid"


def provider_queue(provider: str) -> str:
    """The work queue of replies for one model provider; workers scale by these queues.

    Raises: HintInvalid when the name could collide with another queue's (dots, spaces, "steps").
    """
    if not _PROVIDER.fullmatch(provider) or provider == "steps":
        raise HintInvalid(f"{provider!r} cannot name a provider's queue; use lower-case letters, digits, - and _")
    return f"{_PROVIDERS}{provider}"


def provider_of(queue: str) -> str:
    """The provider whose work queue this is."""
    return queue.removeprefix(_PROVIDERS)


def _is_text(value: object) -> bool:
    """Checked at run time, because decoded JSON may have any type."""
    return isinstance(value, str)


@dataclass(frozen=True, slots=True)
class Hint:
    """One id to look at. Comparable and hashable, so that a receiver can merge equal hints.

    `queue` is a work queue and is not part of the body; `id` is a lower-case uuid with hyphens. An urgent
    hint, for which a participant waits, precedes all others of its queue.

    Raises: HintInvalid, so that an undecodable hint is never published.
    """

    queue: str
    type: str
    id: str
    correlation: str = ""
    urgent: bool = False

    def __post_init__(self) -> None:
        if not self.queue:
            raise HintInvalid("a hint needs a queue")
        if not _is_text(self.type) or not self.type:
            raise HintInvalid(f"a hint's type is a word, not {self.type!r}")
        if not _is_text(self.id) or not _UUID.fullmatch(self.id):
            raise HintInvalid(f"a hint's id is a lower-case uuid, not {self.id!r}")
        if not _is_text(self.correlation):
            raise HintInvalid(f"a hint's correlation is a text, not {self.correlation!r}")

    def encode(self) -> bytes:
        fields = {"type": self.type, "id": self.id, "correlation": self.correlation}
        return orjson.dumps({**fields, "urgent": True} if self.urgent else fields)

    @classmethod
    def decode(cls, queue: str, body: bytes) -> Self:
        """Decode what `encode` wrote; unknown keys are allowed, for newer publishers.

        Raises: HintInvalid.
        """
        try:
            fields = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise HintInvalid(f"the body of a hint is JSON: {error}") from error
        if not isinstance(fields, dict):
            raise HintInvalid(f"the body of a hint is an object, not {type(fields).__name__}")
        urgent = fields.get("urgent") is True
        return cls(queue, fields.get("type", ""), fields.get("id", ""), fields.get("correlation", ""), urgent)
