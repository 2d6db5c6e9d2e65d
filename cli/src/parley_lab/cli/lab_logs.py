"""Logs of an embedded lab: JSON lines in a file, and a callback for errors."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from parley_lab.base.logs import set_up_logs

OnError = Callable[[str, BaseException | None], None]
"""Called with the name of an event that was logged as an error, and with the exception that it is about."""


def _exception_of(logged: object) -> BaseException | None:
    if isinstance(logged, BaseException):
        return logged
    return sys.exc_info()[1] if logged else None


@contextmanager
def logging_to(path: Path, on_error: OnError) -> Iterator[None]:
    """Append the logs of this process, with libraries' warnings, to this file until the block ends."""

    def watch(_: object, method: str, entry: structlog.typing.EventDict) -> structlog.typing.EventDict:
        if method in ("error", "exception", "critical"):
            on_error(str(entry.get("event", "")), _exception_of(entry.get("exc_info")))
        return entry

    with path.open("a", encoding="utf-8", buffering=1) as file:
        set_up_logs("lab", stream=file, watchers=[watch])
        handler = logging.StreamHandler(file)
        handler.setFormatter(
            structlog.stdlib.ProcessorFormatter(
                foreign_pre_chain=[
                    structlog.processors.add_log_level,
                    structlog.processors.TimeStamper(fmt="iso", utc=True),
                    structlog.processors.format_exc_info,
                ],
                processors=[
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.JSONRenderer(),
                ],
            )
        )
        root = logging.getLogger()
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)
            set_up_logs("lab", level="WARNING", stream=sys.stderr)


def log_errors_alone() -> None:
    """For commands that say themselves what is away: standard output is theirs, and warnings would repeat it."""
    set_up_logs("parley", level="ERROR", as_json=False)
    logging.getLogger().addHandler(logging.NullHandler())
