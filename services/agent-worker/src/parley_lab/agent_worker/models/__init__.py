"""Language models: the interface of a model, and its implementation by provider."""

from parley_lab.agent_worker.models.discreet import Model
from parley_lab.agent_worker.models.limiter import Closed, Limiter
from parley_lab.agent_worker.models.mock import MockModel
from parley_lab.agent_worker.models.pacing import Pacer, Place
from parley_lab.agent_worker.models.registry import build_models, served_providers
from parley_lab.agent_worker.models.reply_length import most_reply_tokens
from parley_lab.agent_worker.models.retry import RetriesSpent, RetryBudget, backoff_seconds

__all__ = [
    "Closed",
    "Limiter",
    "MockModel",
    "Model",
    "Pacer",
    "Place",
    "RetriesSpent",
    "RetryBudget",
    "backoff_seconds",
    "build_models",
    "most_reply_tokens",
    "served_providers",
]
