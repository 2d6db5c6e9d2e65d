"""Structured logs with one correlation id through HTTP, bus and model; never a message's text, never a secret."""

import logging
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, TextIO
from uuid import uuid4

import structlog

correlation: ContextVar[str] = ContextVar("correlation", default="")
"""The id that ties together everything one request or hint set in motion; empty outside of one."""


def new_correlation() -> str:
    """Give the current context a correlation id of its own."""
    value = uuid4().hex
    correlation.set(value)
    return value


def _add_correlation(_: Any, __: str, entry: structlog.typing.EventDict) -> structlog.typing.EventDict:
    if value := correlation.get():
        entry["correlation"] = value
    return entry


def set_up_logs(
    service: str,
    *,
    level: str = "INFO",
    as_json: bool = True,
    stream: TextIO | None = None,
    watchers: Sequence[structlog.typing.Processor] = (),
) -> None:
    """Send the logs of this process to `stream` (standard error), as JSON lines or, in development, readable.

    `watchers` see every entry before it is rendered.
    """
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer()
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
