"""Every number of /metrics that a service counts, by the name and with the help that Prometheus shows.

Counters and times are of one process, and sums of all processes are the lab's. Numbers of the whole lab are read from
its database when an orchestrator is asked (`parley_lab.orchestrator.lab_numbers`), so every orchestrator tells the
same.
"""

import math
from typing import Final

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, generate_latest

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of what `in_words_of_prometheus` returns."""

_CALL_BUCKETS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 900, 3600)
_STATEMENT_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_REQUEST_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

SERVICE = Gauge("parley_service_info", "1: a process of this service runs.", ["service"])
MODEL_CALLS = Counter("parley_model_calls", "Calls of models that came to an end.", ["provider", "outcome"])
MODEL_SECONDS = Histogram(
    "parley_model_call_seconds", "How long calls of models took.", ["provider"], buckets=_CALL_BUCKETS
)
MODEL_TOKENS = Counter("parley_model_tokens", "Tokens of models, as their providers count.", ["provider", "direction"])
MODEL_COST = Counter("parley_model_cost_usd", "What calls of real models cost, where the price is known.", ["provider"])
NAMED_WORDS = Counter(
    "parley_named_words", "Replies with the name of their author before its words, or with words of others.", ["what"]
)
CLAIMS = Counter("parley_claims", "Replies that wanted to answer a trigger, won or lost.", ["outcome"])
STATEMENT_SECONDS = Histogram(
    "parley_statement_seconds", "How long answers of PostgreSQL took.", buckets=_STATEMENT_BUCKETS
)
REQUEST_SECONDS = Histogram(
    "parley_request_seconds",
    "How long requests took until their answer began.",
    ["method", "status"],
    buckets=_REQUEST_BUCKETS,
)
UNACKNOWLEDGED = Gauge("parley_queue_unacknowledged", "Hints that this process has and has not settled.", ["queue"])
STREAMS = Gauge("parley_streams", "Live streams of this gateway.")

READY = Gauge("parley_queue_ready", "Hints that wait for a consumer.", ["queue"])
DEAD = Gauge("parley_queue_dead", "Hints that were given up and wait for an operator.", ["queue"])
OUTBOX_AGE = Gauge("parley_outbox_oldest_seconds", "Age of the oldest hint that is not published; 0 without one.")
WANTED = Gauge("parley_drafts_wanted", "Drafts that no worker has taken.", ["provider"])
OVERDUE = Gauge("parley_drafts_overdue", "Drafts that should have been taken, or whose worker is gone.", ["provider"])
OPEN_ASKS = Gauge("parley_asks_open", "Questions to agents and people that are not answered.")
STUCK = Gauge("parley_cohorts_stuck", "Cohorts in which something happened long ago that nobody has looked at.")

for _of_the_lab in (OUTBOX_AGE, OPEN_ASKS, STUCK):
    # Only an orchestrator that has looked knows them: a 0 of another service would hide that none has.
    _of_the_lab.set(math.nan)


def in_words_of_prometheus() -> bytes:
    """All numbers, with those of prometheus_client about the process itself."""
    return generate_latest(REGISTRY)
