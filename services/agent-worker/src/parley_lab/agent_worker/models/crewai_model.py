"""Models through CrewAI: an Agent with role, goal and backstory, and a Task; the only module that imports crewai.

CrewAI is loaded with the first call, because that takes seconds. Its agents block, so each call has a thread. The reply
is what the model wrote, not what the agent makes of it, and one attempt is one call.
"""

import asyncio
import logging
import os
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from socket import gaierror
from threading import Lock
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import urlsplit

from parley_lab.agent_worker.models.completions import judge
from parley_lab.agent_worker.models.endpoint_errors import redact, retry_after_seconds, status_of_http
from parley_lab.agent_worker.models.guard import AddressRefused, Resolve, allowed_addresses, resolve
from parley_lab.contracts.addresses import host_of
from parley_lab.contracts.endpoints import OPEN, Endpoints
from parley_lab.contracts.model_keys import ModelKeys
from parley_lab.contracts.models import (
    DEFAULT_TIMEOUT_SECONDS,
    HINT_SPEAKER_NAME,
    ModelReply,
    ModelRequest,
    ModelStatus,
)
from parley_lab.contracts.providers import CREWAI_KEY_VARIABLES, vendor_of

_MOST_THREADS: Final = 64
_EXPECTED: Final = "The reply that the task asks for, in the form it asks for, and nothing else."
_GOAL: Final = "Do what the task says, as the person you are."
_QUIET: Final = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}
_NO_KEY: Final = "not-needed"
"""Without a key in the call, the vendors' libraries look for one themselves."""
_HOMEBOUND: Final = frozenset({"gemini"})
_ADDED: Final = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS")
"""Variables from which the vendors' libraries add headers to every call, whatever its address."""
_loading = Lock()


def is_installed() -> bool:
    """Whether this environment has CrewAI, without loading it."""
    return find_spec("crewai") is not None


class CrewAIModel:
    """Calls the vendor that a model's name begins with (`anthropic/...`), with the key that `keys` have for it.

    `elsewhere`: the vendors that the environment sends to another endpoint. The vendors' libraries open their own
    connections: where `endpoints` are restricted, a host is checked before the call, and the library resolves it again.
    """

    def __init__(
        self,
        keys: ModelKeys,
        *,
        elsewhere: Collection[str] = (),
        endpoints: Endpoints = OPEN,
        resolver: Resolve = resolve,
    ) -> None:
        self._keys = keys
        self._elsewhere = elsewhere
        self._endpoints = endpoints
        self._resolver = resolver
        self._threads = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="crewai")

    async def reply(self, request: ModelRequest) -> ModelReply:
        vendor, base_url = vendor_of(request.settings.model), request.settings.base_url
        if vendor not in CREWAI_KEY_VARIABLES or self._keys.missing(vendor, base_url):
            return ModelReply(status="auth_error", error=f"there is no key for the models of {vendor!r}")
        try:
            problem = await self._refusal(vendor, base_url)
        except OSError as error:
            return ModelReply(status="unreachable", error=redact(f"no connection to {base_url}: {error}", self._keys))
        if problem is not None:
            return ModelReply(status="bad_request", error=f"the address of the model is refused: {problem}")
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._threads, _library)
        seconds = request.settings.timeout_seconds or DEFAULT_TIMEOUT_SECONDS
        try:
            async with asyncio.timeout(seconds):
                reply = await loop.run_in_executor(self._threads, copy_context().run, _ask, request, self._keys)
        except TimeoutError:
            reply = ModelReply(status="timeout", error=f"no reply within {seconds:g} s")
        is_elsewhere = base_url is not None or vendor in self._elsewhere
        endpoint = reply.endpoint or self._keys.host(vendor, base_url)
        return reply.model_copy(update={"endpoint": endpoint, "has_list_price": not is_elsewhere})

    async def _refusal(self, vendor: str, base_url: str | None) -> str | None:
        """Why the address may not be called; None when it may.

        Raises:
            OSError: its host has no address.
        """
        problem = self._endpoints.problem(vendor, base_url)
        if problem is None and not self._keys.is_own(vendor, base_url):
            problem = _unsafe_elsewhere(vendor)
        if problem is not None or base_url is None or self._endpoints.is_open:
            return problem
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port or 443
        try:
            await allowed_addresses(self._endpoints, vendor, base_url, host, port, resolver=self._resolver)
        except AddressRefused as error:
            return str(error)
        return None

    async def aclose(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _unsafe_elsewhere(vendor: str) -> str | None:
    """Why the vendor's library may not be given an address that is not the vendor's; None when it may."""
    if vendor in _HOMEBOUND:
        return f"CrewAI calls the models of {vendor!r} at its vendor's address, whatever a persona says"
    added = [name for name in _ADDED if os.environ.get(name)]
    return f"the vendor's library would send {added[0]} there, which is set in the environment" if added else None


def _ask(request: ModelRequest, keys: ModelKeys) -> ModelReply:
    """Make one call of the model, by an agent of its own. Blocks."""
    library = _library()
    api_key = keys.key(vendor_of(request.settings.model), request.settings.base_url) or _NO_KEY
    library.silence(True)
    try:
        model = library.OneCall(inner=library.LLM(**llm_arguments(request, api_key)))
    except Exception as error:  # noqa: BLE001 - whatever a vendor's library says of the settings
        return failure_of(error, keys)
    reply = _answer_of(library, model, request, keys)
    return reply.model_copy(update={"endpoint": _host_called(model)})


def _answer_of(library: SimpleNamespace, model: Any, request: ModelRequest, keys: ModelKeys) -> ModelReply:
    try:
        agent = library.Agent(**agent_arguments(request), llm=model)
        library.Task(description=task_text(request), expected_output=_EXPECTED, agent=agent).execute_sync(agent)
    except Exception as error:  # noqa: BLE001 - the agent's own troubles with a reply do not matter
        if model.outcome is None:
            return failure_of(error, keys)
    if isinstance(model.outcome, Exception):
        return failure_of(model.outcome, keys)
    return _read(model, request)


def _host_called(model: Any) -> str:
    """The host that the vendor's client called; empty when the client does not say."""
    address = getattr(getattr(model.inner, "_client", None), "base_url", None) or getattr(model.inner, "base_url", None)
    return host_of(str(address or ""))


def llm_arguments(request: ModelRequest, api_key: str) -> dict[str, Any]:
    """The arguments of CrewAI's LLM; settings that are not set are left to the provider."""
    settings = request.settings
    vendor = vendor_of(settings.model)
    optional = {
        "base_url": settings.base_url,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens or request.most_reply_tokens,
        "stop": list(settings.stop) or None,
        "reasoning_effort": settings.reasoning_effort,
        "extra_body": settings.extra_body or None,
    }
    return {
        "model": settings.model if "/" in settings.model else f"{vendor}/{settings.model}",
        "api_key": api_key,
        "timeout": settings.timeout_seconds or DEFAULT_TIMEOUT_SECONDS,
        **({} if vendor == "gemini" else {"max_retries": 0}),
        **{name: value for name, value in optional.items() if value is not None},
    }


def agent_arguments(request: ModelRequest) -> dict[str, Any]:
    """The persona's role, goal and backstory; without a backstory, the prompt's description of the agent."""
    return {
        "role": request.role or str(request.hints.get(HINT_SPEAKER_NAME) or "a participant"),
        "goal": request.goal or _GOAL,
        "backstory": request.backstory or _texts(request, "system"),
        "verbose": False,
        "allow_delegation": False,
        "cache": False,
        "max_iter": 1,
        "max_retry_limit": 0,
        "respect_context_window": False,
    }


def task_text(request: ModelRequest) -> str:
    """The prompt as the description of a task, without the text of the backstory."""
    told = [_texts(request, "system")] if request.backstory else []
    return "\n\n".join([*told, *(message.content for message in request.messages if message.role != "system")])


def _texts(request: ModelRequest, role: str) -> str:
    return "\n\n".join(message.content for message in request.messages if message.role == role)


def _read(model: Any, request: ModelRequest) -> ModelReply:
    text, usage = str(model.outcome or ""), model.inner.get_token_usage_summary()
    status, parsed, error = judge(text, "", None, request.reply_schema.get("required", ()))
    is_counted = usage.successful_requests > 0
    return ModelReply(
        status=status,
        parsed=parsed,
        raw=text,
        tokens_in=usage.prompt_tokens if is_counted else None,
        tokens_out=usage.completion_tokens if is_counted else None,
        error=error,
    )


def failure_of(error: Exception, keys: ModelKeys) -> ModelReply:
    """The reply for an error of a vendor's library."""
    causes = list(_causes(error))
    known = [status for status in map(_status_of, causes) if status is not None]
    # Vendors' libraries wrap a failed connection into errors that say less.
    status: ModelStatus = "unreachable" if "unreachable" in known else next(iter(known), "error")
    wait = None
    if status in ("rate_limited", "unavailable"):
        headers = (getattr(getattr(cause, "response", None), "headers", None) for cause in causes)
        wait = next((retry_after_seconds(each, datetime.now(UTC)) for each in headers if each is not None), None)
    return ModelReply(status=status, error=redact(str(error), keys), retry_after_seconds=wait)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _status_of(error: BaseException) -> ModelStatus | None:
    """The status that an error of a vendor's library means; None when only its cause may tell."""
    http_status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if isinstance(http_status, int):
        code = getattr(error, "code", None)
        return status_of_http(http_status, {code.casefold()} if isinstance(code, str) else (), str(error))
    name = type(error).__name__
    if isinstance(error, ConnectionRefusedError | gaierror) or name in ("ConnectError", "ConnectTimeout"):
        return "unreachable"
    if "ContextLength" in name:
        return "too_long"
    if "Timeout" in name:
        return "timeout"
    return "unavailable" if isinstance(error, ConnectionError) or "Connect" in name else None


def _library() -> SimpleNamespace:
    with _loading:
        return _load()


@cache
def _load() -> SimpleNamespace:
    """Import CrewAI with telemetry, printing and logging off; its errors are rows in the data."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    from crewai import LLM, Agent, Task
    from crewai.events.utils.console_formatter import set_suppress_console_output
    from crewai.llms.base_llm import BaseLLM
    from pydantic import PrivateAttr

    logging.getLogger("crewai").setLevel(logging.CRITICAL)
    # CrewAI logs errors of providers, with their texts, on the root logger.
    logging.getLogger().addFilter(_is_not_of_crewai)

    class OneCall(BaseLLM):  # type: ignore[misc]
        """A model that is called once and keeps the outcome."""

        inner: Any
        _outcome: Any = PrivateAttr(default=None)

        def __init__(self, *, inner: Any) -> None:
            super().__init__(model=inner.model, inner=inner)

        @property
        def outcome(self) -> Any:
            """The text or the exception; None before the call."""
            return self._outcome

        def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            if self._outcome is None:
                try:
                    self._outcome = self.inner.call(messages)
                except Exception as error:  # noqa: BLE001 - kept, and read by the caller
                    self._outcome = error
            # In this format the agent takes any reply as its final answer.
            return "Thought: I am done.\nFinal Answer: done"

        async def acall(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            return self.call(messages)

    return SimpleNamespace(LLM=LLM, Agent=Agent, Task=Task, OneCall=OneCall, silence=set_suppress_console_output)


def _is_not_of_crewai(record: logging.LogRecord) -> bool:
    return record.name != "root" or f"{os.sep}crewai{os.sep}" not in record.pathname
