"""What an experiment file says about stocks."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import repeated_id
from parley_lab.contracts.experiment import Document, Slug, StageConfig
from parley_lab.contracts.money import Currency
from parley_lab.kinds.stages.stock_info.prices import unreadable


class Card(Document):
    """A figure that is shown beside the prices."""

    title: str
    """What it is."""
    value: str
    """The figure, as it is shown."""
    subtext: str = ""
    """More about it, in small letters."""


class Stock(Document):
    """A stock, and its prices."""

    id: Slug
    """Stands for the stock in the data."""
    name: str = Field(min_length=1)
    """What participants read."""
    description: str = ""
    """What the company does."""
    prices: str
    """A table in CSV with the columns `date` (such as 2024-12-31) and `close`, a line for each day, oldest first."""
    cards: tuple[Card, ...] = ()
    """Further figures."""


class StockInfoStage(StageConfig):
    """Stocks that participants look at one by one, with their prices and the change in each year."""

    kind: Literal["stock_info"] = "stock_info"
    stocks: tuple[Stock, ...] = Field(min_length=1)
    """The stocks in their order."""
    currency: Currency = "USD"
    """In which the prices are."""
    show_best_year: bool = True
    """Whether the year with the largest gain has a card of its own."""
    show_worst_year: bool = True
    """Whether the year with the largest loss, or the smallest gain, does."""
    require_view_all: bool = True
    """Whether people can go on only when they have looked at every stock. Agents are shown all of them at once."""


def problems(stage: StockInfoStage) -> Iterator[Problem]:
    ids = [stock.id for stock in stage.stocks]
    for index, stock in enumerate(stage.stocks):
        if stock.id in ids[:index]:
            yield repeated_id(f"stocks[{index}].id", stock.id, "stock")
        for found, expected in unreadable(stock.prices):
            yield Problem(f"stocks[{index}].prices", found, expected)
