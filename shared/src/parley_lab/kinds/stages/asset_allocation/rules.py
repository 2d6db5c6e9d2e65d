"""The rules of dividing a hundred percent between assets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Literal

from pydantic import BaseModel, ConfigDict

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import (
    PAGE,
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Json,
    Label,
    LabView,
    OwnView,
    PageContent,
    Parts,
    Question,
    Questions,
    Reason,
    StageKind,
    heading,
)
from parley_lab.kinds.questions.drawn_rows import CHANCE, arrange, number_of
from parley_lab.kinds.questions.own_order import ORDER, OrderDraws, own_chance, without_order
from parley_lab.kinds.scripted import PageScripts
from parley_lab.kinds.stages.asset_allocation import config
from parley_lab.kinds.stages.asset_allocation.config import (
    CONSENSUS,
    ORDER_COLUMN,
    WHOLE,
    Asset,
    AssetAllocationStage,
)
from parley_lab.kinds.stages.asset_allocation.dividing import (
    SHARE,
    Division,
    drawn,
    fields_of,
    percent_to,
    script_problems,
    shares,
    with_order,
)


class ShownAsset(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    name: str
    share: int | None
    """The percent that the reader has given to it; null before."""


class AssetAllocationPage(PageContent):
    kind: Literal["asset_allocation"] = "asset_allocation"
    question: str
    is_usual_question: bool
    """Whether the lab asks in its own words, since the file has none; pages say them in their language."""
    step: int
    assets: list[ShownAsset]
    """The assets; of two, the share of the first is asked."""


class AssetAllocation(StageKind[AssetAllocationStage]):
    config_model = AssetAllocationStage

    def page(self, stage: AssetAllocationStage, view: OwnView) -> AssetAllocationPage:
        names, given = names_of(as_shown(stage, view), view), shares(stage, view.own.get(PAGE))
        assets = [ShownAsset(id=one.id, name=name, share=given.get(one.id)) for one, name in names]
        return AssetAllocationPage(
            **heading(stage),
            question=stage.question,
            is_usual_question=stage.question == config.USUAL_QUESTION,
            step=stage.step,
            assets=assets,
        )

    def prompt(self, stage: AssetAllocationStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        names = names_of(as_shown(stage, view), view)
        asked = "\n".join([stage.question, *(f"- {name}" for _, name in names)])
        if view.me.kind == "mediator":
            return [Block(f"Participants were asked: {asked}\nYou took no part in it.")]
        if ask is not None:
            return [Block(asked)]
        given = shares(stage, view.own.get(PAGE))
        told = ", ".join(f"{given[one.id]} percent to {name}" for one, name in names if one.id in given)
        return [Block(asked), Block(f"You gave {told}." if told else "You gave nothing.")]

    def completion(self, stage: AssetAllocationStage, view: OwnView) -> Completion:
        return Done() if PAGE in view.own else Blocked((Reason("Please divide all of it first.", "answer_first"),))

    def problems(self, stage: AssetAllocationStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return [*config.problems(stage)]

    def parts(self, stage: AssetAllocationStage) -> Parts:
        return Parts(
            questions=ShareQuestions(stage),
            draws=OrderDraws() if stage.shuffle_assets else None,
            reads=config.reads(stage),
            data=ShareData(stage),
            scripts=ShareScripts(stage),
            result=lambda view: agreement(stage, view),
        )

    def example(self) -> AssetAllocationStage:
        assets = (Asset(id="alpha", name="Alpha Rail"), Asset(id="beta", name="Beta Foods"))
        return AssetAllocationStage(id="portfolio", name="Your portfolio", assets=assets)


def as_shown(stage: AssetAllocationStage, view: OwnView) -> AssetAllocationStage:
    """The stage with the assets in the order of the reader's page."""
    if not stage.shuffle_assets or CHANCE not in view.draws:
        return stage
    assets = arrange(stage.assets, stage.order, number_of(view), own_chance(view, "assets"))
    return stage.model_copy(update={"assets": tuple(assets)})


def names_of(stage: AssetAllocationStage, view: OwnView) -> list[tuple[Asset, str]]:
    """The assets with what the reader knows them by."""
    read = None if stage.names_from is None else view.reads.get(stage.names_from)
    cells = {} if read is None or read.own is None else read.own.cells
    return [
        (one, str(cells.get(one.column) or one.name or one.id) if one.column is not None else one.name)
        for one in stage.assets
    ]


class ShareQuestions(Questions):
    def __init__(self, stage: AssetAllocationStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        me = view.me
        is_asked = me.kind == "participant" and me.player == "agent" and me.present and PAGE not in view.own
        return [Ask(me.id, PAGE, "page")] if is_asked else []

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        if ask.key != PAGE:
            return None
        mine = as_shown(self._stage, view)
        return Division(mine, tuple(name for _, name in names_of(mine, view)), view.me.path)

    def shown(self, answer: Json) -> Json:
        """Without the order, which the page has."""
        return without_order(answer)

    def most_replies(self) -> int:
        return 1


class ShareScripts(PageScripts):
    """A script gives the shares that are asked, or draws them."""

    def __init__(self, stage: AssetAllocationStage) -> None:
        super().__init__(stage)
        self._allocation = stage

    def question(self, view: OwnView) -> Question | None:
        return ShareQuestions(self._allocation).question(view, Ask(view.me.id, PAGE, "page"))

    def problems_of(self, name: str, answer: Json) -> Iterator[Problem]:
        yield from script_problems(self._allocation, name, answer)

    def problems(self, given: Mapping[str, Json] | None) -> list[Problem]:
        found = super().problems(given)
        fixed = (given or {}).get("answers")
        fields = fields_of(self._allocation)
        if found or not fixed or len(fields) == 1:
            return found
        total = sum(fixed.values())
        if set(fixed) != set(fields) or total != WHOLE:
            return [Problem("answers", f"{total} percent in all", f"a share of each asset, {WHOLE} percent together")]
        return []

    def page(self, view: OwnView, rng: Random) -> Json | None:
        if view.me.script_for(self._allocation) is None:
            return None
        given = dict(self.fixed(view)) or drawn(self._allocation, rng)
        mine = as_shown(self._allocation, view)
        if fields_of(mine) == (SHARE,):
            # The file says the share of its first asset, the page asks for that of its own.
            given = {SHARE: shares(self._allocation, given)[mine.assets[0].id]}
        return with_order(mine, given)


class ShareData(Data):
    """A column for each asset, with its share."""

    def __init__(self, stage: AssetAllocationStage) -> None:
        self._stage = stage

    def columns(self) -> list[Column]:
        columns = [Column(one.id, percent_to(one.name or one.id), "integer") for one in self._stage.assets]
        order = Column(ORDER_COLUMN, "The assets in their order on the page", "text", derived=True)
        return [*columns, order] if self._stage.shuffle_assets else columns

    def cells(self, page: Json) -> dict[str, Json]:
        order = page.get(ORDER) if isinstance(page, Mapping) else None
        return {**shares(self._stage, page), **({ORDER_COLUMN: " ".join(order)} if order else {})}

    def group_columns(self) -> list[Column]:
        return [Column(CONSENSUS, Label("How much all agree, 0 to 100", "agreement"), "number")]


def agreement(stage: AssetAllocationStage, view: LabView) -> dict[str, Json]:
    """How much those agree who have divided; empty without any."""
    given = [divided for one in view.members if (divided := shares(stage, view.answer(one.id, PAGE)))]
    return {CONSENSUS: round(consensus(given), 2)} if given else {}


def consensus(given: Sequence[Mapping[str, float]]) -> float:
    """The score of these divisions, each with the share of every asset: 100 when all are the same, or there is one.

    Three quarters of Krippendorff's alpha with squared differences, for which the shares of an asset are the ratings of
    one thing, and a quarter of the whole, within the bounds.
    """
    if len(given) < 2:
        return 100.0 * len(given)
    ratings = [[one[asset] for one in given] for asset in given[0]]
    observed = _mean(_difference(each) for each in ratings)
    expected = _difference([share for each in ratings for share in each])
    alpha = 100.0 if observed == 0 else (1 - observed / expected) * 100
    return min(100.0, max(0.0, (3 * alpha + 100) / 4))


def _difference(values: Sequence[float]) -> float:
    return _mean((one - other) ** 2 for one, other in combinations(values, 2))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


KIND = AssetAllocation()
