"""The probes of the manifests work: a pod that hangs is restarted, and one that cannot work gets no requests."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from parley_lab.testing.fresh_databases import FreshDatabases
from parley_lab.testing.quick import quick_first
from parley_lab.testing.tcp_proxy import TcpProxy, before_postgres, through
from tests.cluster.manifests import SERVICES, manifests
from tests.cluster.pods import Box, Pod, as_process, in_container_of, running
from tests.containers.compose import built_lab, compose_command, engine_answers

pytestmark = [pytest.mark.slow, pytest.mark.fault, pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True)
class Cluster:
    """One pod of each service, with a proxy before the database and one before the broker."""

    pods: dict[str, Pod]
    database: TcpProxy
    broker: TcpProxy

    async def verdicts(self, what: str) -> dict[str, bool]:
        return {name: await pod.passes(what) for name, pod in self.pods.items()}

    async def come_to(self, what: str, expected: dict[str, bool]) -> None:
        for name, passes in expected.items():
            await self.pods[name].comes_to(what, passes)


def everybody(passes: bool) -> dict[str, bool]:
    return dict.fromkeys(SERVICES, passes)


@asynccontextmanager
async def started(
    names: Sequence[str], folder: Path, database_url: str, amqp_url: str, box: Box | None
) -> AsyncIterator[Cluster]:
    broker_at = urlsplit(amqp_url)
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(before_postgres(database_url))
        broker = await stack.enter_async_context(TcpProxy(broker_at.hostname or "", broker_at.port or 5672))
        secrets = {
            "database_url": through(database, database_url),
            "amqp_url": through(broker, amqp_url),
            "bootstrap_api_key": "a-key-that-is-long-enough",
        }
        found = manifests("development")
        pods = {name: stack.enter_context(running(found, name, folder, secrets, box)) for name in names}
        yield Cluster(pods, database, broker)


@pytest.fixture(
    scope="module",
    params=["process", pytest.param("container", marks=[pytest.mark.docker, pytest.mark.timeout(900)])],
)
def box(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box | None]:
    """What each pod runs in."""
    if request.param == "process":
        yield None
        return
    command = compose_command()
    if command is None or not engine_answers():
        pytest.skip("no Docker engine with docker compose answers")
    with built_lab(command, tmp_path_factory.mktemp("image")) as lab:
        yield in_container_of(lab.image)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(
    box: Box | None,
    tmp_path_factory: pytest.TempPathFactory,
    fresh_databases: FreshDatabases,
    amqp_url: str,
) -> AsyncIterator[Cluster]:
    """One for all tests that leave every pod ready; it starts without its database."""
    with fresh_databases.one() as url:
        async with started(SERVICES, tmp_path_factory.mktemp("cluster"), url, amqp_url, box) as cluster:
            await cluster.database.cut()
            yield cluster


async def test_a_database_that_is_away_at_the_start_is_waited_for(cluster: Cluster) -> None:
    await cluster.database.cut()

    await cluster.come_to("startup", everybody(True))

    assert await cluster.verdicts("liveness") == everybody(True)
    assert await cluster.verdicts("readiness") == everybody(False)
    await cluster.database.restore()
    await cluster.come_to("readiness", everybody(True))


async def test_without_the_broker_no_one_dies_and_the_gateway_stays_ready(cluster: Cluster) -> None:
    await cluster.database.restore()
    await cluster.come_to("readiness", everybody(True))

    await cluster.broker.cut()

    lost = {"orchestrator": False, "agent-worker": False}
    await cluster.come_to("readiness", everybody(True) | lost)
    assert await cluster.verdicts("liveness") == everybody(True)
    await cluster.broker.restore()
    await cluster.come_to("readiness", everybody(True))


@pytest.mark.parametrize("way", quick_first(["cut", "freeze"], 1))
async def test_without_the_database_no_one_is_ready_and_no_one_dies(cluster: Cluster, way: str) -> None:
    await cluster.database.restore()
    await cluster.come_to("readiness", everybody(True))

    if way == "cut":
        await cluster.database.cut()
    else:
        cluster.database.freeze()

    await cluster.come_to("readiness", everybody(False))
    assert await cluster.verdicts("liveness") == everybody(True)
    await cluster.database.restore()
    await cluster.come_to("readiness", everybody(True))


@pytest.mark.parametrize("name", quick_first(["gateway", "agent-worker"], 1))
async def test_a_loop_that_hangs_fails_its_liveness_probe(
    name: str, box: Box | None, tmp_path: Path, database_url: str, amqp_url: str
) -> None:
    async with started([name], tmp_path, database_url, amqp_url, box or as_process) as cluster:
        await cluster.come_to("readiness", {name: True})
        assert await cluster.pods[name].passes("liveness")

        cluster.pods[name].block_loop()

        # An engine hands the signal on to its container a moment later.
        await cluster.come_to("liveness", {name: False})
        assert not cluster.pods[name].ended
