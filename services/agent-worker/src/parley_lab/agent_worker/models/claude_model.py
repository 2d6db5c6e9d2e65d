"""Claude by its own API, and every endpoint with Anthropic's Messages API."""

from typing import Any, ClassVar

from parley_lab.agent_worker.models.endpoint_model import EndpointModel, Wire
from parley_lab.agent_worker.models.messages import API_VERSION, read_message


def _load() -> Any:
    import anthropic

    return anthropic


class ClaudeModel(EndpointModel):
    """Calls models by Anthropic's Messages API."""

    wire: ClassVar[Wire] = Wire(
        vendor="anthropic",
        load=_load,
        client="AsyncAnthropic",
        error="AnthropicError",
        root="/v1",
        path="/messages",
        reply="message",
        headers={"anthropic-version": API_VERSION},
        read=read_message,
    )
