"""The measured programs: the hand-written floor, Parley as four processes, Parley in one process."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import httpx2
import psycopg

from benchmarks.floor.tables import SCHEMA
from benchmarks.load import Room
from benchmarks.processes import Service, Tool
from parley_lab.testing.network import free_port

API_KEY = "benchmark-0123456789"
_QUEUE = "floor.messages"
_PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class Place:
    """Where a contestant runs: a database of its own, a corner of the broker, the model endpoint."""

    database_url: str
    amqp_url: str
    model_url: str

    @property
    def models(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": self.model_url, "OPENAI_API_KEY": "any"}


@dataclass(frozen=True)
class Running:
    """A contestant that is ready; `open_rooms` gives so many new rooms in which a person can speak."""

    port: int
    pids: Mapping[str, int]
    open_rooms: Callable[[int], tuple[Room, ...]]
    key: str = ""
    """The key of the experimenter."""
    health_ports: tuple[int, ...] = ()
    """Where the processes tell their numbers."""


@contextmanager
def floor(place: Place) -> Iterator[Running]:
    with psycopg.connect(place.database_url) as connection:
        connection.execute(SCHEMA)
    gateway_port, prompts_port = free_port(), free_port()
    environment = {
        "FLOOR_DATABASE_URL": place.database_url,
        "FLOOR_AMQP_URL": place.amqp_url,
        "FLOOR_QUEUE": _QUEUE,
        "FLOOR_GATEWAY_PORT": str(gateway_port),
        "FLOOR_PROMPTS_PORT": str(prompts_port),
        "FLOOR_PROMPTS_URL": f"http://127.0.0.1:{prompts_port}",
        **place.models,
    }
    with ExitStack() as stack:
        prompts = stack.enter_context(Service("floor prompts", ["-m", "benchmarks.floor.prompts"], environment))
        worker = stack.enter_context(Tool("floor worker", ["-m", "benchmarks.floor.worker"], environment))
        idle = stack.enter_context(Tool("floor idle", ["-m", "benchmarks.floor.idle"], environment))
        gateway = stack.enter_context(Service("floor gateway", ["-m", "benchmarks.floor.gateway"], environment))
        worker.line()
        idle.line()
        prompts.wait_for_http(f"http://127.0.0.1:{prompts_port}/readyz")
        gateway.wait_for_http(f"http://127.0.0.1:{gateway_port}/readyz")
        pids = {one.name: one.process.pid for one in (gateway, prompts, worker, idle)}
        yield Running(gateway_port, pids, _floor_rooms)


def _floor_rooms(count: int) -> tuple[Room, ...]:
    threads = [str(uuid4()) for _ in range(count)]
    return tuple(Room(thread_id, f"/threads/{thread_id}/messages") for thread_id in threads)


@contextmanager
def distributed(place: Place, workers: int = 1) -> Iterator[Running]:
    """The four services as in production, on Postgres and RabbitMQ, with so many agent workers."""
    migrate(place)
    gateway_port, prompts_port = free_port(), free_port()
    common = {
        "PARLEY_DATABASE_URL": place.database_url,
        "PARLEY_AMQP_URL": place.amqp_url,
        "PARLEY_BOOTSTRAP_API_KEY": API_KEY,
        "GATEWAY_PORT": str(gateway_port),
        "PROMPT_BUILDER_PORT": str(prompts_port),
        "PARLEY_PROMPT_BUILDER_URL": f"http://127.0.0.1:{prompts_port}",
        "LLM_USE_MOCK": "false",
        **place.models,
    }
    ready_ports = {
        "gateway": free_port(),
        "prompt_builder": prompts_port,
        "orchestrator": free_port(),
        "agent_worker": free_port(),
        **{f"agent_worker:{number}": free_port() for number in range(2, workers + 1)},
    }
    with ExitStack() as stack:
        services = {
            name: stack.enter_context(
                Service(
                    name, ["-m", f"parley_lab.{name.partition(':')[0]}"], {**common, "PARLEY_HEALTH_PORT": str(port)}
                )
            )
            for name, port in ready_ports.items()
        }
        for name, port in ready_ports.items():
            services[name].wait_for_http(f"http://127.0.0.1:{port}/readyz")
        pids = {name: service.process.pid for name, service in services.items()}
        open_rooms = partial(_parley_rooms, gateway_port)
        yield Running(gateway_port, pids, open_rooms, API_KEY, tuple(ready_ports.values()))


@contextmanager
def embedded(place: Place) -> Iterator[Running]:
    """All four services in one process and one event loop, with the bus in that process, on the same Postgres."""
    port = free_port()
    environment = {
        "PARLEY_DATABASE_URL": place.database_url,
        "PARLEY_AMQP_URL": "",
        "LLM_USE_MOCK": "false",
        **place.models,
    }
    with Tool("embedded lab", ["-m", "benchmarks.embedded", str(port)], environment) as lab:
        key = lab.line()
        lab.wait_for_http(f"http://127.0.0.1:{port}/readyz")
        yield Running(port, {lab.name: lab.process.pid}, lambda count: _parley_rooms(port, count, key))


def migrate(place: Place) -> None:
    """Bring the contestant's database to the newest schema."""
    with Service("migrate", ["-m", "parley_lab.store.migrate"], {"PARLEY_DATABASE_URL": place.database_url}) as migrate:
        if migrate.process.wait(timeout=60):
            raise RuntimeError(f"the database could not be migrated:\n{migrate.last_words()}")


def _experiment(rooms: int) -> dict[str, Any]:
    """Rooms of one person and one agent, who says one thing for each thing the person says, without typing."""
    return {
        "parley": 1,
        "name": "Benchmark",
        "seed": 1,
        "pace": "live",
        "model_mode": "real",
        "stages": [{"id": "talk", "kind": "group_chat", "max_agent_run": 1, "post_limit": None}],
        "personas": [
            {
                "id": "alex",
                "profile": {"name": "Alex"},
                "text": "You are 35 and live in a small town.",
                "model": {"provider": "openai", "model": "fake"},
                "chat": {"min_messages_before_responding": 1},
            }
        ],
        "cohorts": [{"seats": [{"open": True}, {"persona": "alex"}], "count": rooms, "id": "room"}],
    }


def _parley_rooms(port: int, count: int, key: str = API_KEY) -> tuple[Room, ...]:
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=_PATIENCE_SECONDS) as client:
        client.headers["authorization"] = f"Bearer {key}"
        experiment_id = _sent(client.post("/v1/experiments", json=_experiment(count)))["id"]
        _sent(client.post(f"/v1/experiments/{experiment_id}/start"))
        cohorts = _sent(client.get(f"/v1/experiments/{experiment_id}/cohorts"))["cohorts"]
        tokens = [
            _sent(client.post(f"/v1/experiments/{experiment_id}/join", json={"cohort_id": cohort["id"]}))["token"]
            for cohort in cohorts
        ]
        return tuple(_opened_room(client, token) for token in tokens)


def _opened_room(client: httpx2.Client, token: str) -> Room:
    headers = {"authorization": f"Bearer {token}"}
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        page = _sent(client.get("/v1/me/stages/talk", headers=headers))
        if page["thread"] is not None:
            thread_id = page["thread"]["id"]
            return Room(thread_id, f"/v1/me/threads/{thread_id}/messages", headers)
        time.sleep(0.05)
    raise RuntimeError("a room did not open; is the orchestrator at work?")


def _sent(response: httpx2.Response) -> Any:
    if not response.is_success:
        raise RuntimeError(f"{response.request.url} was answered {response.status_code}: {response.text[:1000]}")
    return response.json()
