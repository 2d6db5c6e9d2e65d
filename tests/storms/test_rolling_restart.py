"""All processes of a lab with several of each are restarted one after another in mid-conversation."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

import httpx2
import pytest

from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.network import WITHOUT_TLS
from tests.operators.processes import KEY
from tests.storms.checker import check, made_again
from tests.storms.client import Client
from tests.storms.cluster import Cluster, cluster
from tests.storms.kinds import SEVERAL
from tests.storms.lab import calling
from tests.storms.ledger import Ledger
from tests.storms.listening import listen
from tests.storms.load import Load
from tests.storms.models import Models
from tests.storms.servers import rows_of
from tests.storms.study import lone_talks
from tests.storms.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.fault,
    pytest.mark.timeout(600),
    pytest.mark.waits(400, reason="nine processes start, one after the other"),
]

QUEUES = [ORCHESTRATOR, AGENT_STEPS, *map(provider_queue, ("mock", "openai", "hf-inference"))]


TWO_GATEWAYS = {"prompt_builder": 1, "gateway": 2}
"""A lab whose pages open."""
TWO_GATEWAYS_AND_TALKS = {**TWO_GATEWAYS, "orchestrator": 1, "agent_worker": 1}


@pytest.fixture
def models() -> Models:
    return Models(seed=1)


@pytest.fixture
def several() -> Mapping[str, int]:
    return SEVERAL


@pytest.fixture
async def running(
    tmp_path: Path, database_url: str, amqp_url: str, models: Models, several: Mapping[str, int]
) -> AsyncIterator[Cluster]:
    broker = RabbitBroker(amqp_url, queues=QUEUES)
    async with models.endpoint:
        common = {
            "PARLEY_DATABASE_URL": database_url,
            "PARLEY_AMQP_URL": amqp_url,
            "PARLEY_AMQP_PREFIX": broker.prefix,
            **calling(models.endpoint.base_url),
        }
        async with cluster(tmp_path, common, several=several) as services:
            yield services
    await broker.close()


async def test_a_rolling_restart_loses_nothing_and_pays_for_nothing_twice(
    running: Cluster, models: Models, database_url: str
) -> None:
    rows, ledger = partial(rows_of, database_url), Ledger()
    restarted: list[str] = []
    load = Load(running.gateways, 1, ledger, lambda: len(restarted) == len(running.services))
    working = asyncio.create_task(load.run(at_once=2))
    try:
        for service in running.services:
            await service.end(signal.SIGTERM)
            service.start()
            await service.wait_until_ready()
            restarted.append(service.name)
        await working
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

    found = await check(rows, ledger)

    assert not found
    assert await made_again(rows, models.calls) == []
    assert [one.broken for one in load.people if one.broken] == []
    assert ledger.posts
    assert sum(len(one.messages) for one in ledger.streams) > len(ledger.posts)


async def _thread_of(person: Client) -> str | None:
    thread = (await person.get("/v1/me/stages/alone"))["thread"]
    return None if thread is None else str(thread["id"])


async def _has_heard(ledger: Ledger) -> bool:
    return any(one.messages for one in ledger.streams)


@pytest.mark.parametrize("several", [TWO_GATEWAYS_AND_TALKS], ids=["two gateways"])
async def test_a_message_posted_to_one_gateway_reaches_the_streams_of_the_other(running: Cluster) -> None:
    one, other = running.gateways
    ledger, staff = Ledger(), Client([one], KEY, Random(1))
    study = await staff.post("/v1/experiments", lone_talks(1))
    await staff.post(f"/v1/experiments/{study['id']}/start")
    joined = await staff.post(f"/v1/experiments/{study['id']}/join")
    person = Client([one], joined["token"], Random(1))
    following = asyncio.create_task(
        listen(ledger, [other], lambda: joined["token"], joined["member_id"], joined["me"]["cursor"], Random(1))
    )
    try:
        async with asyncio.timeout(60):
            thread_id = await until(partial(_thread_of, person))
            body = {"text": "Hello?", "client_message_id": "1"}
            await person.post(f"/v1/me/threads/{thread_id}/messages", body)
            await until(partial(_has_heard, ledger))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await person.close()
        await staff.close()


@pytest.mark.parametrize("several", [TWO_GATEWAYS], ids=["two gateways"])
async def test_a_page_of_one_gateway_has_the_policy_and_the_files_of_the_other(running: Cluster) -> None:
    one, other = running.gateways
    async with httpx2.AsyncClient(verify=WITHOUT_TLS) as client:
        pages = [await client.get(f"{gateway}/take/code") for gateway in (one, other)]
        files = re.findall(r'(?:src|href)="(/assets/[^"]+)"', pages[0].text)
        loaded = [await client.get(f"{other}{path}") for path in files]

    assert files
    assert {answer.status_code for answer in loaded} == {200}
    assert len({page.headers["content-security-policy"] for page in pages}) == 1
    for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")):
        assert {answer.headers[name] for answer in (*pages, *loaded)} == {value}
