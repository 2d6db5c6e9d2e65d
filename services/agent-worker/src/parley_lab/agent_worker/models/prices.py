"""The cost of a call by the list prices in `prices.json`; None for a model that is not listed."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Final

from parley_lab.contracts.models import ModelReply, ModelSettings
from parley_lab.contracts.providers import CREWAI_PROVIDER

_MILLION: Final = 1_000_000
_DATE: Final = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")


def cost_usd(settings: ModelSettings, reply: ModelReply) -> Decimal | None:
    """The list price of this call in USD, without discounts for caching.

    None when the model has no price, the provider reported no tokens, or another endpoint answered.
    """
    price = _prices().get(_priced_name(settings)) if reply.has_list_price else None
    if price is None or reply.tokens_in is None or reply.tokens_out is None:
        return None
    return (reply.tokens_in * price["input"] + reply.tokens_out * price["output"]) / _MILLION


def _priced_name(settings: ModelSettings) -> str:
    is_prefixed = settings.provider == CREWAI_PROVIDER and "/" in settings.model
    vendor = "openai" if settings.provider == CREWAI_PROVIDER else settings.provider
    return _DATE.sub("", settings.model if is_prefixed else f"{vendor}/{settings.model}")


@cache
def _prices() -> Mapping[str, Mapping[str, Decimal]]:
    content = (files("parley_lab.agent_worker.models") / "prices.json").read_text(encoding="utf-8")
    prices: Mapping[str, Mapping[str, Decimal]] = json.loads(content, parse_float=Decimal, parse_int=Decimal)["prices"]
    return prices
