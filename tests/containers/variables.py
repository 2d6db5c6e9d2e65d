"""The variables that each service of a distributed lab reads."""

from pydantic_settings import BaseSettings

from parley_lab.agent_worker.__main__ import WorkerProcessSettings
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.base.settings import BrokerSettings, DatabaseSettings, FileSettings, KindSettings, ProcessSettings
from parley_lab.contracts.endpoints import ALLOWED_VARIABLE, ENDPOINT_KEYS_VARIABLE
from parley_lab.contracts.limits import LIMITS_VARIABLE
from parley_lab.contracts.named_providers import PROVIDERS_VARIABLE
from parley_lab.contracts.providers import CREWAI_BASE_URL_VARIABLES, KEY_VARIABLES, USE_MOCK_VARIABLE
from parley_lab.gateway.settings import GatewayProcessSettings, GatewaySettings
from parley_lab.orchestrator.settings import OrchestratorSettings
from parley_lab.prompt_builder.settings import PromptBuilderSettings


def names(*settings: type[BaseSettings]) -> set[str]:
    """The variables that set these."""
    return {
        str(field.validation_alias or f"{one.model_config['env_prefix']}{name}".upper())
        for one in settings
        for name, field in one.model_fields.items()
    }


KEYS = {*filter(None, KEY_VARIABLES.values()), "ENDPOINT_KEY_1", "ENDPOINT_KEY_2", "ENDPOINT_KEY_3"}
ADDRESSES = {name for of_vendor in CREWAI_BASE_URL_VARIABLES.values() for name in of_vendor}
MODELS = {USE_MOCK_VARIABLE, PROVIDERS_VARIABLE, ALLOWED_VARIABLE, ENDPOINT_KEYS_VARIABLE, *KEYS, *ADDRESSES}
READ = {
    "gateway": names(GatewayProcessSettings, GatewaySettings, FileSettings) | MODELS,
    "orchestrator": names(ProcessSettings, OrchestratorSettings),
    "agent-worker": names(WorkerProcessSettings, WorkerSettings) | MODELS | {LIMITS_VARIABLE},
    "prompt-builder": names(PromptBuilderSettings),
    "tools": names(DatabaseSettings, BrokerSettings) | MODELS,
}
for one in READ.values():
    one |= names(KindSettings)
READ["gateway-2"] = READ["gateway"]
