"""The rules of stocks to look at: people look at one after another, each look an answer; agents are shown all."""

from collections.abc import Sequence
from datetime import date
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.replies import Reply, Truth
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import (
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Field,
    Form,
    Json,
    Label,
    OwnView,
    PageContent,
    Parts,
    Question,
    Questions,
    Reason,
    StageKind,
    Substitute,
    UnusableReply,
    heading,
)
from parley_lab.kinds.stages.stock_info import config, prices
from parley_lab.kinds.stages.stock_info.config import Card, Stock, StockInfoStage

_VIEWED: Final = "viewed"
_TABLE: Final = "date,close\n2022-01-03,100\n2022-12-30,90\n2023-01-02,90\n2023-12-29,117\n"


def key_of(stock: Stock) -> str:
    """The key under which a look at this stock is stored."""
    return f"{_VIEWED}:{stock.id}"


class ShownPrice(BaseModel):
    day: date
    close: float


class ShownYear(BaseModel):
    year: int
    change: float
    """0.1 for a gain of 10 percent."""


class ShownCard(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    title: str
    value: str
    subtext: str
    code: Literal["best_year", "worst_year"] | None = None
    """What the lab shows here of itself, for pages with words of their own: `subtext` is the year; null for a card of
    the file."""


class ShownStock(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    name: str
    description: str
    prices: list[ShownPrice]
    years: list[ShownYear]
    cards: list[ShownCard]
    """The best and the worst year, where they are shown, then those of the file."""
    is_viewed: bool
    """Whether the reader has looked at it."""


class StockInfoPage(PageContent):
    kind: Literal["stock_info"] = "stock_info"
    currency: str
    require_view_all: bool
    stocks: list[ShownStock]


class StockInfo(StageKind[StockInfoStage]):
    config_model = StockInfoStage
    is_only_read = True

    def page(self, stage: StockInfoStage, view: OwnView) -> StockInfoPage:
        viewed = viewed_by(stage, view)
        return StockInfoPage(
            **heading(stage),
            currency=stage.currency,
            require_view_all=stage.require_view_all,
            stocks=[_shown(stage, stock, is_viewed=stock.id in viewed) for stock in stage.stocks],
        )

    def prompt(self, stage: StockInfoStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        return [Block("\n".join(_told(stage, stock))) for stock in stage.stocks]

    def completion(self, stage: StockInfoStage, view: OwnView) -> Completion:
        viewed = viewed_by(stage, view)
        if stage.require_view_all and len(viewed) < len(stage.stocks):
            return Blocked((Reason("Please look at every stock first.", "look_at_every_stock"),))
        return Done({_VIEWED: viewed})

    def problems(self, stage: StockInfoStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return [*config.problems(stage)]

    def parts(self, stage: StockInfoStage) -> Parts:
        # Settling opens what people are asked; nothing is made of it.
        return Parts(questions=StockQuestions(stage), state=lambda view: {}, is_each_alone=True, data=StockData(stage))

    def example(self) -> StockInfoStage:
        return StockInfoStage(
            id="stocks",
            name="Two stocks",
            stocks=(
                Stock(id="alpha", name="Alpha Rail", description="Builds trains.", prices=_TABLE),
                Stock(id="beta", name="Beta Foods", prices=_TABLE, cards=(Card(title="Dividend", value="2 %"),)),
            ),
        )


def viewed_by(stage: StockInfoStage, view: OwnView) -> list[str]:
    """The stocks that the reader has looked at, in the order of the file; who is no person is shown all."""
    if view.me.player in ("agent", "script"):
        return [stock.id for stock in stage.stocks]
    return [stock.id for stock in stage.stocks if key_of(stock) in view.own]


_Code = Literal["best_year", "worst_year"]


def _cards(stage: StockInfoStage, stock: Stock) -> list[tuple[_Code | None, Card]]:
    """Those of the lab with their codes, then those of the file."""
    years = prices.years(prices.read(stock.prices))
    shown: list[tuple[_Code | None, Card]] = []
    possible: tuple[tuple[bool, _Code, str, prices.Year | None], ...] = (
        (stage.show_best_year, "best_year", "Best year", prices.best(years)),
        (stage.show_worst_year, "worst_year", "Worst year", prices.worst(years)),
    )
    for is_shown, code, title, year in possible:
        if is_shown and year is not None:
            shown.append((code, Card(title=title, value=prices.in_percent(year.change), subtext=str(year.year))))
    return [*shown, *((None, one) for one in stock.cards)]


def _shown(stage: StockInfoStage, stock: Stock, *, is_viewed: bool) -> ShownStock:
    known = prices.read(stock.prices)
    return ShownStock(
        id=stock.id,
        name=stock.name,
        description=stock.description,
        prices=[ShownPrice(day=one.day, close=float(one.close)) for one in known],
        years=[ShownYear(year=one.year, change=float(one.change)) for one in prices.years(known)],
        cards=[ShownCard(**one.model_dump(), code=code) for code, one in _cards(stage, stock)],
        is_viewed=is_viewed,
    )


def _told(stage: StockInfoStage, stock: Stock) -> list[str]:
    known = prices.read(stock.prices)
    lines = [f"{stock.name}{f': {stock.description}' if stock.description else ''}"]
    if known:
        first, last = known[0], known[-1]
        at = f"{first.close} {stage.currency} on {first.day}, {last.close} {stage.currency} on {last.day}"
        lines.append(f"- Price: {at}")
    lines += [f"- {one.year}: {prices.in_percent(one.change)}" for one in prices.years(known)]
    for _, card in _cards(stage, stock):
        lines.append(f"- {card.title}: {card.value}{f' ({card.subtext})' if card.subtext else ''}")
    return lines


class StockQuestions(Questions):
    """A look at each stock is an answer of its own, in any order."""

    def __init__(self, stage: StockInfoStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        if view.me.kind != "participant" or view.me.player != "person":
            return []
        keys = [key_of(stock) for stock in self._stage.stocks]
        return [Ask(view.me.id, key, _VIEWED) for key in keys if key not in view.own]

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        return next((Look(stock) for stock in self._stage.stocks if key_of(stock) == ask.key), None)

    def most_replies(self) -> int:
        return 0


class LookReply(Reply):
    viewed: Truth = Described(description="true", json_schema_extra={"enum": [True]})


class Look(Question):
    """Whether the participant has looked at a stock."""

    def __init__(self, stock: Stock) -> None:
        self._stock = stock

    def form(self) -> Form:
        return Form((Field(_VIEWED, {"type": "boolean", "title": f"Look at {self._stock.name}", "const": True}),))

    def task(self) -> str:
        return f"Look at {self._stock.name}."

    def reply_model(self) -> type[BaseModel]:
        return LookReply

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump()

    def check(self, answer: Json) -> Json:
        if answer != {_VIEWED: True} or answer[_VIEWED] is not True:
            raise InvalidInput("This is no look at a stock.", [Problem(_VIEWED, repr(answer)[:80], "true")])
        return {_VIEWED: True}

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        return Substitute({_VIEWED: True})


class StockData(Data):
    """Whether each stock was looked at, and what it was called."""

    def __init__(self, stage: StockInfoStage) -> None:
        self._stage = stage

    def columns(self) -> list[Column]:
        viewed = [
            Column(f"viewed.{one.id}", Label(f"Looked at {one.name}", "looked_at", name=one.name), "boolean")
            for one in self._stage.stocks
        ]
        names = [
            Column(f"stock.{one.id}", Label(f"Name of {one.id}", "name_of", name=one.id), "text")
            for one in self._stage.stocks
        ]
        return [*viewed, *names]

    def cells(self, page: Json) -> dict[str, Json]:
        if not isinstance(page, dict) or _VIEWED not in page:
            return {}
        viewed = {f"viewed.{one.id}": one.id in page[_VIEWED] for one in self._stage.stocks}
        return {**viewed, **{f"stock.{one.id}": one.name for one in self._stage.stocks}}


KIND = StockInfo()
