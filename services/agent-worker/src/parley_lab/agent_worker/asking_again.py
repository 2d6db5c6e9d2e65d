"""Writes the words with which a model is asked again, about its unusable replies. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from parley_lab.agent_worker.attempts import Attempt
from parley_lab.contracts.models import CUT_OFF, ChatMessage
from parley_lab.contracts.prompts import CHARACTERS_PER_TOKEN, tokens_of

_LONGEST_SHOWN: Final = 4_000
_LEAST_SHOWN: Final = 200
"""With less room in its budget, a prompt shows nothing of the reply."""
_LEFT_OUT: Final = " [...] "


@dataclass(frozen=True, slots=True)
class Unusable:
    """A reply that could not be used, and why; `was_cut`: it ended at a limit."""

    words: str
    reason: str
    was_cut: bool = False


def unusable_reply(attempt: Attempt) -> Unusable:
    """The reply of this attempt, which could not be used."""
    reply = attempt.reply
    reason = attempt.reason or reply.error or "it was not valid JSON of the requested shape"
    return Unusable(reply.words, reason, was_cut=reply.finish_reason == CUT_OFF)


def with_reason(
    messages: tuple[ChatMessage, ...], unusable: Sequence[Unusable], budget: int
) -> tuple[ChatMessage, ...]:
    """The prompt, followed by the last of the unusable replies, if any, and the reason; `budget` in tokens.

    A reply that was cut off, or that the model repeated, is not shown: small models would continue it. A long one is
    shortened.
    """
    if not unusable:
        return messages
    *before, last = unusable
    room = min(_LONGEST_SHOWN, (budget - tokens_of(messages)) * CHARACTERS_PER_TOKEN)
    if last.was_cut or last.words in [one.words for one in before] or room < _LEAST_SHOWN:
        told = f"{messages[-1].content}\n\nAn earlier reply of yours cannot be used: {last.reason}."
        return (*messages[:-1], messages[-1].model_copy(update={"content": told}))
    return (
        *messages,
        ChatMessage(role="assistant", content=_shorten(last.words.strip(), room) or "(empty)"),
        ChatMessage(
            role="user", content=f"That reply cannot be used: {last.reason}. Reply again in the requested format."
        ),
    )


def _shorten(words: str, most: int) -> str:
    """The beginning and the end, where it is longer than `most`."""
    if len(words) <= most:
        return words
    kept = most - len(_LEFT_OUT)
    return f"{words[: kept - kept // 4]}{_LEFT_OUT}{words[-(kept // 4) :]}"
