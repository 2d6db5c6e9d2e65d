"""The body of a call, without what the model's server lacks: by OpenAI's chat completions, or as its provider wants.

Pure.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final
from urllib.parse import urlsplit

from parley_lab.agent_worker.models.messages import messages_body
from parley_lab.agent_worker.models.openai_schema import to_strict
from parley_lab.contracts.models import ChatMessage, ModelRequest, ModelSettings
from parley_lab.contracts.providers import api_of

_OFFICIAL_HOST: Final = "api.openai.com"


def request_body(base_url: str, request: ModelRequest) -> dict[str, Any]:
    """The body of the request, without unset settings; `extra_body` overrides everything else."""
    settings = request.settings
    if api_of(settings.provider) == "messages":
        return messages_body(request)
    optional = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        _limit_name(base_url, settings): settings.max_tokens or request.most_reply_tokens,
        "stop": list(settings.stop) or None,
        "reasoning_effort": settings.reasoning_effort,
    }
    return {
        "model": settings.model,
        "messages": _messages(request),
        **_response_format(request),
        **{name: value for name, value in optional.items() if value is not None and name not in settings.lacks},
        **settings.extra_body,
    }


def _messages(request: ModelRequest) -> list[dict[str, str]]:
    lacks = request.settings.lacks
    messages = list(request.messages)
    if "system_role" in lacks:
        messages = [one.model_copy(update={"role": "user"}) if one.role == "system" else one for one in messages]
    if "system_role" in lacks or "repeated_roles" in lacks:
        messages = [_merge(list(same)) for _, same in groupby(messages, key=lambda one: one.role)]
    return [{"role": message.role, "content": message.content} for message in messages]


def _merge(messages: Sequence[ChatMessage]) -> ChatMessage:
    return messages[0].model_copy(update={"content": "\n\n".join(message.content for message in messages)})


def _response_format(request: ModelRequest) -> dict[str, Any]:
    lacks = request.settings.lacks
    mode = "text" if request.is_text else request.settings.structured_output
    if mode == "schema" and "json_schema" in lacks:
        mode = "json"
    if mode == "schema":
        schema = {"name": request.reply_name, "strict": True, "schema": to_strict(request.reply_schema)}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    return {"response_format": {"type": "json_object"}} if mode == "json" and "json_object" not in lacks else {}


def _limit_name(base_url: str, settings: ModelSettings) -> str:
    # OpenAI's reasoning models refuse max_tokens; most compatible servers know only max_tokens.
    is_new = urlsplit(base_url).hostname == _OFFICIAL_HOST or settings.reasoning_effort is not None
    name, other = ("max_completion_tokens", "max_tokens") if is_new else ("max_tokens", "max_completion_tokens")
    return other if name in settings.lacks else name
