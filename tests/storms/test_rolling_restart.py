"""All processes of a lab are restarted one after another in mid-conversation; gateways serve each other's people."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import httpx2
import pytest
import pytest_asyncio

from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.fresh_databases import FreshDatabases
from parley_lab.testing.network import WITHOUT_TLS
from tests.operators.processes import KEY
from tests.storms.checker import check, made_again
from tests.storms.client import Client
from tests.storms.cluster import Cluster, cluster
from tests.storms.kinds import SEVERAL
from tests.storms.lab import Lab, calling
from tests.storms.ledger import Ledger, Post
from tests.storms.listening import listen
from tests.storms.load import Load
from tests.storms.models import Models
from tests.storms.report import verdict
from tests.storms.storm import Plan, Storm
from tests.storms.study import lone_talks
from tests.storms.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.fault,
    pytest.mark.timeout(600),
    pytest.mark.waits(400, reason="processes start, one after the other"),
    pytest.mark.asyncio(loop_scope="module"),
]

QUEUES: Final = [ORCHESTRATOR, AGENT_STEPS, *map(provider_queue, ("mock", "openai", "hf-inference"))]
FEW: Final = {"prompt_builder": 1, "gateway": 2, "orchestrator": 1, "agent_worker": 1}
# No study goes on meanwhile: only newcomers talk, one after each fault.
KILLS: Final = Plan(seed=34, messages=4, faults=2, groups={"kill"}, at_once=0)


@asynccontextmanager
async def lab_of(several: dict[str, int], folder: Path, databases: FreshDatabases, amqp_url: str) -> AsyncIterator[Lab]:
    """So many of each service, on a database of their own."""
    broker, models = RabbitBroker(amqp_url, queues=QUEUES), Models(seed=1)
    with databases.one() as database_url:
        async with models.endpoint:
            common = {
                "PARLEY_DATABASE_URL": database_url,
                "PARLEY_AMQP_URL": amqp_url,
                "PARLEY_AMQP_PREFIX": broker.prefix,
                **calling(models.endpoint.base_url),
            }
            async with cluster(folder, common, several=several) as services:
                yield Lab(services, models, database_url)
        await broker.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lab(
    tmp_path_factory: pytest.TempPathFactory, fresh_databases: FreshDatabases, amqp_url: str
) -> AsyncIterator[Lab]:
    """One with two gateways for all tests that leave it ready and at rest."""
    async with lab_of(FEW, tmp_path_factory.mktemp("lab"), fresh_databases, amqp_url) as made:
        yield made


@pytest.mark.long
async def test_a_rolling_restart_loses_nothing_and_pays_for_nothing_twice(
    tmp_path: Path, fresh_databases: FreshDatabases, amqp_url: str
) -> None:
    async with lab_of(dict(SEVERAL), tmp_path, fresh_databases, amqp_url) as running:
        services, ledger, restarted = running.cluster, Ledger(), list[str]()
        load = Load(services.gateways, 1, ledger, lambda: len(restarted) == len(services.services))
        working = asyncio.create_task(load.run(at_once=2))
        try:
            async for name in restart_all(services):
                restarted.append(name)
            await working
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

        assert not await check(running.rows, ledger)
        assert await made_again(running.rows, running.models.calls) == []

    assert [one.broken for one in load.people if one.broken] == []
    assert ledger.posts
    assert sum(len(one.messages) for one in ledger.streams) > len(ledger.posts)


async def restart_all(services: Cluster) -> AsyncIterator[str]:
    """The name of each process, once it has been started again."""
    for service in services.services:
        await service.end(signal.SIGTERM)
        service.start()
        await service.wait_until_ready()
        yield service.name


@dataclass
class Talker:
    """A person who talks with a guide alone, posting to some gateways and listening to some."""

    client: Client
    member_id: str
    ledger: Ledger = field(default_factory=Ledger)

    async def thread_id(self) -> str | None:
        thread = (await self.client.get("/v1/me/stages/alone"))["thread"]
        return None if thread is None else str(thread["id"])

    async def says(self, words: str) -> None:
        thread_id = await until(self.thread_id)
        said = await self.client.post(
            f"/v1/me/threads/{thread_id}/messages", {"text": words, "client_message_id": words}
        )
        self.ledger.posts.append(Post(said["id"], self.member_id, words, words))

    async def has_heard(self, more_than: int) -> bool:
        return sum(len(one.messages) for one in self.ledger.streams) > more_than


@asynccontextmanager
async def talking(lab: Lab, *, to: list[str], hearing: list[str]) -> AsyncIterator[Talker]:
    """A person in a study of their own, which ends with the block."""
    staff = Client(lab.cluster.gateways, KEY, Random(1))
    study = f"/v1/experiments/{(await staff.post('/v1/experiments', lone_talks(1)))['id']}"
    await staff.post(f"{study}/start")
    joined = await staff.post(f"{study}/join")
    person = Talker(Client(to, joined["token"], Random(1)), joined["member_id"])
    following = asyncio.create_task(
        listen(person.ledger, hearing, lambda: joined["token"], person.member_id, joined["me"]["cursor"], Random(1))
    )
    try:
        async with asyncio.timeout(120):
            yield person
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await staff.post(f"{study}/end")
        await person.client.close()
        await staff.close()


async def test_a_message_posted_to_one_gateway_reaches_the_streams_of_the_other(lab: Lab) -> None:
    one, other = lab.cluster.gateways

    async with talking(lab, to=[one], hearing=[other]) as person:
        await person.says("Hello?")
        await until(partial(person.has_heard, 0))


async def test_services_that_are_restarted_one_after_another_lose_nothing_and_pay_for_nothing_twice(lab: Lab) -> None:
    gateways, before = lab.cluster.gateways, len(lab.models.calls)

    async with talking(lab, to=gateways, hearing=gateways) as person:
        async for name in restart_all(lab.cluster):
            await person.says(f"Hello after {name}?")
        await until(partial(person.has_heard, len(lab.cluster.services)))
    await until(partial(_is_calm, lab))

    assert not await check(lab.rows, person.ledger)
    assert await made_again(lab.rows, lab.models.calls[before:]) == []
    assert person.client.broken == []


async def test_a_storm_that_kills_a_worker_and_an_orchestrator_finds_nothing_wrong(lab: Lab) -> None:
    outcome = await Storm(lab, KILLS).run()

    assert [one.fault.name for one in outcome.struck] == ["agent-worker killed", "orchestrator killed"]
    assert not outcome.findings, verdict(outcome)
    assert not outcome.broken


async def _is_calm(lab: Lab) -> bool:
    """Whether nothing is left to do; what a worker has in hand at the end of a study is left to it."""
    waiting = "SELECT 1 FROM outbox UNION ALL SELECT 1 FROM streams WHERE settled < unsettled"
    in_hand = "SELECT 1 FROM drafts WHERE state IN ('wanted', 'thinking', 'ready')"
    return not await lab.rows(f"{waiting} UNION ALL {in_hand} LIMIT 1")


async def test_a_page_of_one_gateway_has_the_policy_and_the_files_of_the_other(lab: Lab) -> None:
    one, other = lab.cluster.gateways
    async with httpx2.AsyncClient(verify=WITHOUT_TLS) as client:
        pages = [await client.get(f"{gateway}/take/code") for gateway in (one, other)]
        files = re.findall(r'(?:src|href)="(/assets/[^"]+)"', pages[0].text)
        loaded = [await client.get(f"{other}{path}") for path in files]

    assert files
    assert {answer.status_code for answer in loaded} == {200}
    assert len({page.headers["content-security-policy"] for page in pages}) == 1
    for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")):
        assert {answer.headers[name] for answer in (*pages, *loaded)} == {value}
