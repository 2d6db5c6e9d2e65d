"""What a call costs: by the table, or nothing is said."""

from decimal import Decimal
from typing import Any

import pytest

from parley_lab.agent_worker.models.prices import cost_usd
from parley_lab.contracts.models import ModelReply, ModelSettings


def reply(tokens_in: int | None = 1_000, tokens_out: int | None = 500) -> ModelReply:
    return ModelReply(status="ok", tokens_in=tokens_in, tokens_out=tokens_out)


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "gpt-4.1-mini"},
        {"model": "gpt-4.1-mini-2025-04-14"},
        {"provider": "crewai", "model": "openai/gpt-4.1-mini"},
        {"provider": "crewai", "model": "gpt-4.1-mini"},
    ],
)
def test_a_call_costs_its_tokens_at_list_price(settings: dict[str, Any]) -> None:
    assert cost_usd(ModelSettings(**settings), reply()) == Decimal("0.0012")


def test_a_dated_model_of_another_vendor_is_found() -> None:
    settings = ModelSettings(provider="crewai", model="anthropic/claude-sonnet-4-20250514")

    assert cost_usd(settings, reply()) == Decimal("0.0105")


def test_what_is_not_known_is_not_guessed() -> None:
    known = ModelSettings(model="gpt-4.1-mini")

    assert cost_usd(ModelSettings(model="my-own"), reply()) is None
    assert cost_usd(known, reply(tokens_in=None)) is None
    assert cost_usd(known, reply().model_copy(update={"has_list_price": False})) is None
