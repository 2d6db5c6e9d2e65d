"""OpenAI and every endpoint with its chat completions API."""

from typing import Any, ClassVar

from parley_lab.agent_worker.models.completions import read_completion
from parley_lab.agent_worker.models.endpoint_model import EndpointModel, Wire


def _load() -> Any:
    import openai

    return openai


class OpenAIModel(EndpointModel):
    """Calls models by OpenAI's chat completions."""

    wire: ClassVar[Wire] = Wire(
        vendor="openai",
        load=_load,
        client="AsyncOpenAI",
        error="OpenAIError",
        path="/chat/completions",
        reply="completion",
        read=read_completion,
    )
