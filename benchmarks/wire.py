"""The counting proxy as the benchmark sees it: two addresses to use instead, and the counts so far."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from benchmarks.processes import Tool
from benchmarks.report import Counts
from benchmarks.servers import through

_POSTGRES_PORT = 5432
_AMQP_PORT = 5672


@dataclass(frozen=True)
class Passed:
    """What has passed the wire until a moment, or between two."""

    at: float
    statements: int
    transaction_control: int
    messages: int

    def __sub__(self, other: "Passed") -> "Passed":
        return Passed(
            self.at - other.at,
            self.statements - other.statements,
            self.transaction_control - other.transaction_control,
            self.messages - other.messages,
        )

    def per_reply(self, contestant: str, idle: "Passed", replies: int) -> Counts:
        """What one reply costs, without what passes anyway while nothing is said."""
        share = self.at / idle.at

        def cost(busy: int, idle: int) -> float:
            return max(busy - share * idle, 0.0) / replies

        return Counts(
            contestant=contestant,
            statements_per_reply=cost(self.statements, idle.statements),
            transaction_control_per_reply=cost(self.transaction_control, idle.transaction_control),
            messages_per_reply=cost(self.messages, idle.messages),
            idle_statements_per_second=(idle.statements + idle.transaction_control) / idle.at,
        )


@dataclass(frozen=True)
class Wire:
    database_url: str
    amqp_url: str
    proxy: Tool

    def counts(self) -> Passed:
        found = orjson.loads(self.proxy.ask(b"?"))
        return Passed(
            time.monotonic(),
            found.get("statements", 0),
            found.get("transaction_control", 0),
            found.get("messages", 0),
        )


@contextmanager
def wire(database_url: str, amqp_url: str) -> Iterator[Wire]:
    """Both servers through a proxy that counts."""
    postgres, amqp = urlsplit(database_url), urlsplit(amqp_url)
    arguments = ["--postgres", f"{postgres.hostname}:{postgres.port or _POSTGRES_PORT}"]
    arguments += ["--amqp", f"{amqp.hostname}:{amqp.port or _AMQP_PORT}"]
    with Tool("counting proxy", ["-m", "benchmarks.counting_proxy", *arguments]) as proxy:
        ports = orjson.loads(proxy.line())
        # Encrypted, nothing could be counted.
        readable = f"{through(database_url, ports['postgres'])}?sslmode=disable"
        yield Wire(readable, through(amqp_url, ports["amqp"]), proxy)
