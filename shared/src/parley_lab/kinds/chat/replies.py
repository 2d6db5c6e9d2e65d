"""The shapes of an agent's replies in a conversation, and how to read them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from parley_lab.base.replies import Reason, Reply, Text, Truth
from parley_lab.kinds.talk import Utterance
from parley_lab.kinds.view import READY, SPEAK

_READY = "Whether you have nothing more to say in this conversation and want to leave it for good."
_EXPLANATION: Final = "explanation"
_RESPONSE: Final = "response"
_SPEAKS: Final = "shouldRespond"
_LEAVES: Final = "readyToEndChat"
_BLANK: Final = "it says nothing, although you chose to speak"


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError(_BLANK)
    return text


class _Words(Reply):
    """Replies whose fields have the names that Deliberate Lab gives them."""

    model_config = ConfigDict(validate_by_alias=True, validate_by_name=True, serialize_by_alias=True)


class SpeakReply(_Words):
    """What an agent says whose turn it is."""

    left_out: ClassVar[Mapping[str, Any]] = MappingProxyType({_EXPLANATION: "", _LEAVES: False})
    spoken: ClassVar[tuple[str, ...]] = (_RESPONSE,)

    explanation: Reason = Field(description="Why you say this now, in one or two sentences; nobody sees it.")
    response: Annotated[Text, AfterValidator(_not_blank)] = Field(
        description="What you say, exactly as the others will read it."
    )
    ready_to_end: Truth = Field(alias="readyToEndChat", description=_READY)


class TalkReply(_Words):
    """What an agent does with its chance to speak. The reasons come first, so that a model thinks before it decides."""

    left_out: ClassVar[Mapping[str, Any]] = MappingProxyType({_EXPLANATION: "", _RESPONSE: "", _LEAVES: False})
    spoken: ClassVar[tuple[str, ...]] = (_RESPONSE,)

    explanation: Reason = Field(
        description="Why you speak or stay silent now, in one or two sentences; nobody sees it."
    )
    should_respond: Truth = Field(alias="shouldRespond", description="Whether you say something now.")
    response: Text = Field(description="What you say, exactly as the others will read it; empty when you say nothing.")
    ready_to_end: Truth = Field(alias="readyToEndChat", description=_READY)

    @classmethod
    def completed(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Words are said, and no words are silence, where a reply does not say whether it speaks."""
        completed = super().completed(given)
        if given.get(_SPEAKS) is None and (words := given.get(_RESPONSE, given)) is not given:
            completed[_SPEAKS] = bool(words)
        return completed

    @model_validator(mode="after")
    def _says_what_it_wants_to_say(self) -> Self:
        """Silence is valid; a blank message is not, and the model is told so."""
        if self.should_respond:
            _not_blank(self.response)
        return self


class ReadyReply(_Words):
    """Whether an agent that is not to speak now is ready to end."""

    left_out: ClassVar[Mapping[str, Any]] = MappingProxyType({_EXPLANATION: ""})

    explanation: Reason = Field(description="Why you stay or leave, in one or two sentences; nobody sees it.")
    ready_to_end: Truth = Field(alias="readyToEndChat", description=_READY)


def reply_model(purpose: str) -> type[BaseModel]:
    """The shape of a reply for this purpose."""
    if purpose == READY:
        return ReadyReply
    return SpeakReply if purpose == SPEAK else TalkReply


def utterance(reply: BaseModel) -> Utterance:
    """What is said, or nothing; the type ensures that a reply that speaks has words."""
    if isinstance(reply, ReadyReply):
        return Utterance(None, reply.ready_to_end, reply.explanation)
    if not isinstance(reply, TalkReply | SpeakReply):
        raise TypeError(f"a reply in a conversation is not a {type(reply).__name__}")
    is_silent = isinstance(reply, TalkReply) and not reply.should_respond
    return Utterance(None if is_silent else reply.response.strip(), reply.ready_to_end, reply.explanation)
