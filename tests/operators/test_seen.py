"""What operators see: the numbers of every service move with what happens, and one id goes through all logs."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.network import WITHOUT_TLS
from tests.operators.processes import Services, services

pytestmark = [pytest.mark.slow]

ROOM: dict[str, Any] = {
    "parley": 1,
    "name": "A room",
    "seed": 0,
    "pace": "live",
    "personas": [{"id": "ann", "profile": {"name": "Ann"}, "chat": {"words_per_minute": None, "max_responses": 5}}],
    "stages": [
        {"id": "talk", "kind": "group_chat", "max_agent_run": 1},
        {"id": "page", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]},
    ],
    "cohorts": [{"seats": [{"open": True}, {"persona": "ann"}]}],
}
CAUSE = "the-request-of-a-person"


@pytest.fixture(scope="module")
def lab(
    tmp_path_factory: pytest.TempPathFactory, module_database_url: str, amqp_url: str
) -> Iterator[tuple[Services, dict[str, dict[str, float]]]]:
    """Running services in which a person has said something and was answered; and the numbers from before."""
    queues = [ORCHESTRATOR, AGENT_STEPS, *map(provider_queue, ("mock", "openai", "hf-inference"))]
    broker = RabbitBroker(amqp_url, queues=queues)
    with services(tmp_path_factory.mktemp("lab"), module_database_url, amqp_url, broker.prefix) as running:
        before = {name: running.numbers(name) for name in running.health}
        _talk(running)
        yield running, before
    asyncio.run(broker.close())


def test_each_service_says_which_one_it_is(lab: tuple[Services, Any]) -> None:
    told = {name: httpx2.get(f"{url}/metrics", verify=WITHOUT_TLS).text for name, url in lab[0].health.items()}

    for name, text in told.items():
        assert f'parley_service_info{{service="{name.replace("_", "-")}"}} 1.0' in text.splitlines()


def _talk(running: Services) -> None:
    with running.api as api:
        experiment_id = api.post("/v1/experiments", json=ROOM).json()["id"]
        started = api.post(f"/v1/experiments/{experiment_id}/start")
        assert started.status_code == 200, started.text
        token = api.post(f"/v1/experiments/{experiment_id}/join", json={}).json()["token"]
        person = {"authorization": f"Bearer {token}"}
        thread = _eventually(lambda: _thread_of(api.get("/v1/me/stages/talk", headers=person).json()))
        _eventually(lambda: _claims(running))
        posted = api.post(
            f"/v1/me/threads/{thread}/messages",
            headers={**person, "x-correlation-id": CAUSE},
            json={"text": "Hello?", "client_message_id": "1"},
        )
        assert posted.status_code in (200, 201), posted.text
        _eventually(lambda: any(one.get("correlation") == CAUSE for one in _claims(running)))


def _thread_of(page: dict[str, Any]) -> str | None:
    return page["thread"]["id"] if page.get("thread") else None


def _claims(running: Services) -> list[dict[str, Any]]:
    return [one for one in running.entries("agent_worker") if one["event"] == "reply.claimed"]


def _eventually(found: Any) -> Any:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if result := found():
            return result
        time.sleep(0.1)
    raise AssertionError("it never came to that")


@pytest.mark.parametrize(
    ("service", "number"),
    [
        ("gateway", "parley_request_seconds_count"),
        ("gateway", "parley_statement_seconds_count"),
        ("orchestrator", "parley_statement_seconds_count"),
        ("agent_worker", "parley_statement_seconds_count"),
        ("prompt_builder", "parley_statement_seconds_count"),
        ("prompt_builder", "parley_request_seconds_count"),
        ("agent_worker", "parley_model_calls_total"),
        ("agent_worker", "parley_model_call_seconds_count"),
        ("agent_worker", "parley_claims_total"),
    ],
)
def test_what_happened_is_counted(lab: tuple[Services, dict[str, dict[str, float]]], service: str, number: str) -> None:
    running, before = lab

    now = running.numbers(service)

    assert now[number] > before[service].get(number, 0.0)


def test_the_orchestrator_tells_the_numbers_of_the_lab(lab: tuple[Services, dict[str, dict[str, float]]]) -> None:
    running, _ = lab

    told = running.numbers("orchestrator")

    assert {name: told[name] for name in ("parley_queue_dead", "parley_cohorts_stuck", "parley_drafts_overdue")} == {
        "parley_queue_dead": 0,
        "parley_cohorts_stuck": 0,
        "parley_drafts_overdue": 0,
    }
    assert told["parley_outbox_oldest_seconds"] < 30


def test_a_live_stream_is_counted_while_it_is_there(lab: tuple[Services, dict[str, dict[str, float]]]) -> None:
    running, _ = lab
    with running.api as api:
        experiment_id = api.get("/v1/experiments").json()["experiments"][0]["id"]

        with api.stream("GET", f"/v1/experiments/{experiment_id}/stream"):
            _eventually(lambda: running.numbers("gateway")["parley_streams"] == 1)

    _eventually(lambda: running.numbers("gateway")["parley_streams"] == 0)


@pytest.mark.parametrize(
    ("service", "event"),
    [
        ("gateway", "http.request"),
        ("prompt_builder", "prompt.made"),
        ("agent_worker", "model.called"),
        ("agent_worker", "reply.claimed"),
    ],
)
def test_one_id_goes_from_the_request_through_prompt_and_model_to_the_claim(
    lab: tuple[Services, dict[str, dict[str, float]]], service: str, event: str
) -> None:
    running, _ = lab

    logged = [one for one in running.entries(service) if one.get("correlation") == CAUSE]

    assert event in {one["event"] for one in logged}


def test_every_log_of_work_names_its_cause(lab: tuple[Services, dict[str, dict[str, float]]]) -> None:
    running, _ = lab
    of_work = {"http.request", "prompt.made", "model.called", "reply.claimed"}

    nameless = [
        one
        for name in running.logs
        for one in running.entries(name)
        if one["event"] in of_work and not one.get("correlation")
    ]

    assert nameless == []
