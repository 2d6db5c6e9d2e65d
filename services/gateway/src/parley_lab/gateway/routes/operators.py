"""What operators look at: who calls which models."""

from collections import Counter
from typing import Final

from fastapi import APIRouter

from parley_lab.contracts.providers import CREWAI_PROVIDER, MOCK_PROVIDER
from parley_lab.drafts import workers
from parley_lab.gateway.context import ApiKey, InContext
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.lab import ProviderResource, ProvidersResource, WorkerResource
from parley_lab.store import keys

router = APIRouter(prefix="/v1", tags=["operators"], route_class=Route)

_KNOWN: Final = (MOCK_PROVIDER, "openai", CREWAI_PROVIDER)


@router.get("/providers", summary="Which providers of models are served, and by how many workers")
async def providers(context: InContext, key: ApiKey) -> ProvidersResource:
    """A worker that died is counted until its last announcement has run out, half a minute as a rule."""
    async with context.database.transaction() as session:
        now = context.clock.now()
        await keys.sign_in(session, key, now, scope="read")
        found = await workers.at_work(session, now)
    served = Counter(name for worker in found for name in worker.providers)
    names = [*_KNOWN, *sorted(set(served) - set(_KNOWN))]
    return ProvidersResource(
        providers=[ProviderResource(provider=name, workers=served[name]) for name in names],
        workers=[WorkerResource.model_validate(worker, from_attributes=True) for worker in found],
    )
