"""Language models: the interface of a model, and its implementation by provider."""

from agent_worker.models.discreet import Model
from agent_worker.models.limiter import Closed, Limiter
from agent_worker.models.mock import MockModel
from agent_worker.models.pacing import Pacer, Place
from agent_worker.models.registry import build_models, served_providers
from agent_worker.models.reply_length import most_reply_tokens
from agent_worker.models.retry import RetriesSpent, RetryBudget, backoff_seconds

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
