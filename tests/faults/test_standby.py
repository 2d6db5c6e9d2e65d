"""A failover to a standby that can only be read at first, and back: the lab goes on by itself."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

import httpx2
import pytest

from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.testing.network import WITHOUT_TLS
from parley_lab.testing.tcp_proxy import TcpProxy, before_postgres, through
from tests.faults.clusters import Cluster, clusters
from tests.faults.lab_tools import start
from tests.faults.test_outages import (
    ROOM,
    Person,
    counts,
    eventually,
    last_was_answered,
    one_reply_per_trigger,
    person_in,
)

pytestmark = [pytest.mark.fault, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(300)]

READ_ONLY_SECONDS = 5.0
MOST_SECONDS = 15.0


@asynccontextmanager
async def failover(proxy: TcpProxy, primary: Cluster, standby: Cluster) -> AsyncIterator[None]:
    """The address leads to the standby, which can only be read; after the block it can be written."""
    await proxy.cut()
    await asyncio.to_thread(primary.stop)
    await proxy.lead_to(str(standby.folder))
    yield
    await asyncio.to_thread(standby.promote)


async def is_ready(lab: EmbeddedLab) -> bool:
    async with httpx2.AsyncClient(base_url=lab.url or "", timeout=15, verify=WITHOUT_TLS) as client:
        return (await client.get("/readyz")).status_code == 200


async def seconds_until_heard(person: Person, words: str) -> float:
    begun = perf_counter()
    while (response := await person.say(words)).status_code != 201:
        assert response.status_code == 503, response.text
        await asyncio.sleep(0.1)
    return perf_counter() - begun


async def test_the_lab_works_within_15_seconds_of_a_failover_to_a_standby_and_back(tmp_path: Path) -> None:
    took: list[float] = []
    with clusters(3) as (first, second, third):
        await asyncio.to_thread(first.make)
        async with before_postgres(first.url) as proxy:
            servers = ServerSettings(database_url=through(proxy, first.url))
            async with EmbeddedLab(tmp_path, servers=servers, environ=os.environ, port=0) as lab:
                experiment_id = await start(lab, ROOM)
                async with person_in(lab, experiment_id) as person:
                    await seconds_until_heard(person, "before")
                    for primary, standby in ((first, second), (second, third)):
                        await asyncio.to_thread(standby.follow, primary)
                        async with failover(proxy, primary, standby):
                            begun = perf_counter()
                            while perf_counter() - begun < READ_ONLY_SECONDS:
                                assert (await person.say(f"after {len(took)}")).status_code == 503
                                assert not await is_ready(lab)
                                await asyncio.sleep(0.1)
                        took.append(await seconds_until_heard(person, f"after {len(took)}"))
                        await eventually(lambda: last_was_answered(lab), "everything is published and answered")
                        await eventually(lambda: is_ready(lab), "the lab says that it is ready")

                assert await counts(lab) == (3, 3, 0)
                assert await one_reply_per_trigger(lab)
    assert max(took) < MOST_SECONDS
