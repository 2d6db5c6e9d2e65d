"""The four services as processes of this machine, on a database and a broker, as an operator runs them."""

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from parley_lab.testing.network import WITHOUT_TLS, free_port
from tests.operators.forked_service import begin, end

KEY: Final = "a-key-of-the-operator"
_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Services:
    """Running services. `health` and `url` are the addresses of what each answers at."""

    url: str
    health: Mapping[str, str]
    logs: Mapping[str, Path]

    @property
    def api(self) -> httpx2.Client:
        return httpx2.Client(
            base_url=self.url, headers={"authorization": f"Bearer {KEY}"}, timeout=30, verify=WITHOUT_TLS
        )

    def numbers(self, service: str) -> dict[str, float]:
        """What /metrics tells, by the name of the sample; samples with several labels are added up."""
        told = httpx2.get(f"{self.health[service]}/metrics", verify=WITHOUT_TLS).text
        numbers: dict[str, float] = {}
        for family in text_string_to_metric_families(told):
            for sample in family.samples:
                numbers[sample.name] = numbers.get(sample.name, 0.0) + sample.value
        return numbers

    def entries(self, service: str) -> list[dict[str, Any]]:
        """What the service has logged."""
        lines = self.logs[service].read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


@contextmanager
def services(folder: Path, database_url: str, amqp_url: str, prefix: str) -> Iterator[Services]:
    """All four, ready, until the block ends."""
    ports = {name: free_port() for name in ("api", "gateway", "orchestrator", "agent_worker", "prompt_builder")}
    common = {
        "PATH": os.environ["PATH"],
        "PARLEY_DATABASE_URL": database_url,
        "PARLEY_AMQP_URL": amqp_url,
        "PARLEY_AMQP_PREFIX": prefix,
        "PARLEY_BOOTSTRAP_API_KEY": KEY,
        "PARLEY_PROMPT_BUILDER_URL": f"http://127.0.0.1:{ports['prompt_builder']}",
        "PROMPT_BUILDER_PORT": str(ports["prompt_builder"]),
        "GATEWAY_PORT": str(ports["api"]),
    }
    logs = {name: folder / f"{name}.log" for name in ports if name != "api"}
    with ExitStack() as stack:
        for name, log in logs.items():
            stack.enter_context(_process(name, {**common, "PARLEY_HEALTH_PORT": str(ports[name])}, log))
        health = {name: f"http://127.0.0.1:{ports[name]}" for name in logs}
        for name, address in health.items():
            _wait_until_ready(f"{address}/readyz", logs[name])
        _wait_until_ready(f"http://127.0.0.1:{ports['api']}/readyz", logs["gateway"])
        yield Services(f"http://127.0.0.1:{ports['api']}", health, logs)


@contextmanager
def _process(name: str, environment: Mapping[str, str], log: Path) -> Iterator[None]:
    service = begin(f"parley_lab.{name}", environment, log)
    try:
        yield
    finally:
        end(service, signal.SIGTERM)


def _wait_until_ready(address: str, log: Path) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        try:
            if httpx2.get(address, verify=WITHOUT_TLS).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"{address} never answered:\n{log.read_text()}")
