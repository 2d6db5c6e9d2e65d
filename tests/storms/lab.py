"""A distributed lab with servers and an endpoint of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.storms.cluster import Cluster, cluster
from tests.storms.models import Models
from tests.storms.servers import Postgres, RabbitMQ, own_servers


@dataclass(frozen=True)
class Lab:
    postgres: Postgres
    broker: RabbitMQ
    cluster: Cluster
    models: Models


@asynccontextmanager
async def lab(folder: Path, seed: int) -> AsyncIterator[Lab]:
    """All of it, ready, until the block ends."""
    models = Models(seed)
    async with own_servers(folder) as (postgres, broker), models.endpoint:
        common = {
            "PARLEY_DATABASE_URL": postgres.url_of_services,
            "PARLEY_AMQP_URL": broker.url_of_services,
            **calling(models.endpoint.base_url),
        }
        async with cluster(folder, common) as services:
            yield Lab(postgres, broker, services, models)


def calling(base_url: str) -> dict[str, str]:
    """The environment of services that call models at this address."""
    return {"OPENAI_API_KEY": "a-key-of-the-endpoint-1", "OPENAI_BASE_URL": base_url, "LLM_USE_MOCK": "false"}
