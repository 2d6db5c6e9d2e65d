"""What an experiment file says about dividing money between assets."""

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import repeated_id
from parley_lab.base.rules import is_empty
from parley_lab.contracts.experiment import Document, Slug, StageConfig
from parley_lab.contracts.texts import Text
from parley_lab.kinds.questions.rows import Order, is_usual_order
from parley_lab.kinds.reads import Read, Use

WHOLE: Final = 100
CONSENSUS: Final = "consensus"
"""The column that says how much all agree."""

USUAL_QUESTION: Final = "How do you divide your money?"
"""Pages say it in their language."""


class Asset(Document):
    """Something that a share can go to."""

    id: Slug
    """Stands for the asset in the data."""
    name: str = ""
    """What participants read."""
    column: str | None = None
    """A column of the stage in `names_from` that holds the name, instead of `name`."""


ORDER_COLUMN: Final = "order"


class AssetAllocationStage(StageConfig):
    """Participants divide a hundred percent between assets."""

    kind: Literal["asset_allocation"] = "asset_allocation"
    question: Text = USUAL_QUESTION
    """What participants are asked."""
    assets: tuple[Asset, ...] = Field(min_length=2, max_length=20)
    """The assets. Of two, the share of the first on the page is asked, and the rest goes to the other; of more, every
    share."""
    names_from: Slug | None = None
    """An earlier stage whose columns hold the names of the assets, such as stocks that were looked at."""
    shuffle_assets: bool = Field(default=False, exclude_if=is_empty)
    """Whether each participant has the assets in a different order on the page."""
    order: Order = Field(default="drawn", exclude_if=is_usual_order)
    """How the order of `shuffle_assets` comes about. `drawn`: by chance. `latin`: seat after seat has the next order of
    a balanced Latin square."""
    step: int = Field(default=5, ge=1, le=WHOLE)
    """Shares are multiples of this; it divides 100."""
    on_invalid: Literal["missing", "fail"] = "missing"
    """What happens when no reply of a model is a share, after all attempts. `missing`: there is none, and the agent
    goes on. `fail`: it leaves the experiment."""


def reads(stage: AssetAllocationStage) -> tuple[Read, ...]:
    if stage.names_from is None:
        return ()
    uses = (Use(one.column, f"assets[{at}].column") for at, one in enumerate(stage.assets) if one.column is not None)
    return (Read(stage.names_from, where="names_from", uses=tuple(uses)),)


def problems(stage: AssetAllocationStage) -> Iterator[Problem]:
    ids = [asset.id for asset in stage.assets]
    for index, asset in enumerate(stage.assets):
        if asset.id == CONSENSUS:
            yield Problem(f"assets[{index}].id", repr(asset.id), "another id: a column of the stage is called so")
        if asset.id in ids[:index]:
            yield repeated_id(f"assets[{index}].id", asset.id, "asset")
        if asset.column is None and not asset.name:
            yield Problem(f"assets[{index}]", "no name", "`name`, or `column` of the stage in `names_from`")
        if asset.column is not None and stage.names_from is None:
            yield Problem(f"assets[{index}].column", repr(asset.column), "`names_from`, the stage that has the column")
    if stage.order == "latin" and not stage.shuffle_assets:
        yield Problem("order", "'latin'", "`shuffle_assets: true` beside it: the orders are those of participants")
    if stage.shuffle_assets and ORDER_COLUMN in ids:
        expected = f"another id: the column `{ORDER_COLUMN}` says in which order the assets were"
        yield Problem(f"assets[{ids.index(ORDER_COLUMN)}].id", repr(ORDER_COLUMN), expected)
    if WHOLE % stage.step:
        yield Problem("step", str(stage.step), f"a number that divides {WHOLE}")
