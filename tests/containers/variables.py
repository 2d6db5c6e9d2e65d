"""The variables that each service of a distributed lab reads."""

from pydantic_settings import BaseSettings

from agent_worker.__main__ import WorkerProcessSettings
from agent_worker.settings import WorkerSettings
from gateway.settings import GatewayProcessSettings, GatewaySettings
from orchestrator.settings import OrchestratorSettings
from prompt_builder.settings import PromptBuilderSettings
from shared.contracts.endpoints import ALLOWED_VARIABLE, ENDPOINT_KEYS_VARIABLE
from shared.contracts.named_providers import PROVIDERS_VARIABLE
from shared.contracts.providers import CREWAI_BASE_URL_VARIABLES, KEY_VARIABLES, USE_MOCK_VARIABLE
from shared.limits import LIMITS_VARIABLE
from shared.settings import BrokerSettings, DatabaseSettings, FileSettings, KindSettings, ProcessSettings


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
