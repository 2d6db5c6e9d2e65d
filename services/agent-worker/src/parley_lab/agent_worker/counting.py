"""Counts and logs what calls of models have come to, as operators see it."""

from typing import Final

import structlog

from parley_lab.agent_worker.attempts import Attempt
from parley_lab.agent_worker.models.prices import cost_usd
from parley_lab.base.metrics import MODEL_CALLS, MODEL_COST, MODEL_SECONDS, MODEL_TOKENS
from parley_lab.drafts.drafts import Lease

log = structlog.get_logger(__name__)

_REAL: Final = "real"


def count_call(lease: Lease, attempt: Attempt) -> None:
    """Count one call that came to an end, whatever its reply is good for, and log it without its texts."""
    reply, provider = attempt.reply, lease.provider
    seconds = (attempt.finished_at - attempt.started_at).total_seconds()
    MODEL_CALLS.labels(provider, reply.status).inc()
    MODEL_SECONDS.labels(provider).observe(seconds)
    MODEL_TOKENS.labels(provider, "in").inc(reply.tokens_in or 0)
    MODEL_TOKENS.labels(provider, "out").inc(reply.tokens_out or 0)
    cost = cost_usd(attempt.request.settings, reply) if lease.model_mode == _REAL else None
    MODEL_COST.labels(provider).inc(float(cost or 0))
    log.info(
        "model.called",
        draft=str(lease.draft_id),
        provider=provider,
        status=reply.status,
        attempt=attempt.number,
        duration_ms=round(seconds * 1000, 1),
    )
