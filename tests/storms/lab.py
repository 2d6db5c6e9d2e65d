"""A distributed lab with an endpoint of its own, and one that has servers of its own, too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.storms.cluster import Cluster, cluster
from tests.storms.models import Models
from tests.storms.servers import Postgres, RabbitMQ, own_servers, rows_of


@dataclass(frozen=True)
class Lab:
    """Its services may be killed and held; the suite asks its database past any proxy."""

    cluster: Cluster
    models: Models
    database_url: str

    async def rows(self, query: str, **values: Any) -> list[dict[str, Any]]:
        return await rows_of(self.database_url, query, **values)


@dataclass(frozen=True)
class LabWithServers(Lab):
    """Its servers may be killed, too."""

    postgres: Postgres
    broker: RabbitMQ


@asynccontextmanager
async def lab(folder: Path, seed: int) -> AsyncIterator[LabWithServers]:
    """All of it, ready, until the block ends."""
    models = Models(seed)
    async with own_servers(folder) as (postgres, broker), models.endpoint:
        common = {
            "PARLEY_DATABASE_URL": postgres.url_of_services,
            "PARLEY_AMQP_URL": broker.url_of_services,
            **calling(models.endpoint.base_url),
        }
        async with cluster(folder, common) as services:
            yield LabWithServers(services, models, postgres.url, postgres, broker)


def calling(base_url: str) -> dict[str, str]:
    """The environment of services that call models at this address."""
    return {"OPENAI_API_KEY": "a-key-of-the-endpoint-1", "OPENAI_BASE_URL": base_url, "LLM_USE_MOCK": "false"}
