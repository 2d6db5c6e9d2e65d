"""Structured logs with one correlation id through HTTP, bus and model; no texts of messages, no secrets."""

import logging
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, TextIO
from uuid import uuid4

import orjson
import structlog

correlation: ContextVar[str] = ContextVar("correlation", default="")
"""The id of all work that one request or hint causes; empty outside of one."""


def new_correlation() -> str:
    """Give the current context a new correlation id."""
    value = uuid4().hex
    correlation.set(value)
    return value


def go_on_with(value: str) -> None:
    """Give the current context the id of what caused it; a new one where that is not known."""
    if value:
        correlation.set(value)
    else:
        new_correlation()


def _add_correlation(_: Any, __: str, entry: structlog.typing.EventDict) -> structlog.typing.EventDict:
    if value := correlation.get():
        entry["correlation"] = value
    return entry


def _as_json(entry: structlog.typing.EventDict, **how: Any) -> str:
    return orjson.dumps(entry, default=how["default"], option=orjson.OPT_NON_STR_KEYS).decode()


def set_up_logs(
    service: str,
    *,
    level: str = "INFO",
    as_json: bool = True,
    stream: TextIO | None = None,
    watchers: Sequence[structlog.typing.Processor] = (),
) -> None:
    """Send the logs of this process to `stream` (standard error), as JSON lines or, in development, readable.

    `watchers` get every entry before it is rendered.
    """
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(serializer=_as_json) if as_json else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _add_correlation,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *watchers,
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.bind_contextvars(service=service)
