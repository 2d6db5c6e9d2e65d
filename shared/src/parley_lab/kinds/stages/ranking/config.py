"""The configuration of a ranking."""

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field

from parley_lab.base import rules
from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import repeated_id
from parley_lab.base.rules import Rule, is_empty
from parley_lab.contracts.experiment import Document, Slug, StageConfig, Together
from parley_lab.contracts.texts import Text
from parley_lab.kinds.questions.rows import Order, is_usual_order

USUAL_QUESTION: Final = "Bring these into an order, the best first."
"""Pages say it in their language."""
_OF_CANDIDATE: Final = {
    "role": "`question: role`, with the `stage` that gives the roles, and the role as `value`",
    "score": "`question: score`, with the `stage` that asked",
}
"""How to say of a candidate what rules elsewhere say of their reader."""


class RankedItem(Document):
    """Something to be ranked."""

    id: Slug
    """Names the item in the data."""
    text: str = Field(min_length=1)
    """What participants read."""


ORDER_COLUMN: Final = "order"


class RankingStage(StageConfig):
    """Participants rank each other, or items; all orders together elect a winner."""

    kind: Literal["ranking"] = "ranking"
    progress: Together = Together()
    question: Text = USUAL_QUESTION
    """The question to participants."""
    rank: Literal["participants", "items"] = "participants"
    """What is ranked: the participants who have come, or the `items`."""
    items: tuple[RankedItem, ...] = ()
    """What is ranked, with `rank: items`."""
    shuffle_items: bool = Field(default=False, exclude_if=is_empty)
    """Whether each participant has the items in a different order on the page, with `rank: items`."""
    order: Order = Field(default="drawn", exclude_if=is_usual_order)
    """How the order of `shuffle_items` comes about. `drawn`: by chance. `latin`: seat after seat has the next order of
    a balanced Latin square."""
    eligible: Rule | None = None
    """Which participants can be ranked, by what they have answered before, as show-if rules say it; each comparison
    names its stage. The stage then opens when the stages that the rule looks at are over. Left out: all of them."""
    self_vote: bool = False
    """Whether participants may rank themselves."""
    places: int | None = Field(default=None, ge=1)
    """How many places each participant assigns; left out: one for every candidate."""
    strategy: Literal["none", "condorcet"] = "condorcet"
    """How the orders elect a winner. `condorcet`: a candidate wins against another if more participants rank it higher,
    and the candidate with the most such wins is elected. Candidates without a place are below all that have one.
    `none`: there is no winner."""
    ties: Literal["first_listed", "drawn"] = "first_listed"
    """Who wins with equally many wins: the first in the list, or one drawn from the seed."""
    on_invalid: Literal["missing", "fail"] = "missing"
    """What happens when no reply of a model is an order, after all attempts. `missing`: the agent has no vote and goes
    on. `fail`: it leaves the experiment."""


def problems(stage: RankingStage) -> Iterator[Problem]:
    if stage.rank == "items":
        yield from _of_items(stage)
    elif stage.shuffle_items:
        yield Problem("shuffle_items", "true", "`rank: items` beside it: a list of participants is drawn anyway")
    elif stage.items:
        yield Problem("items", f"{len(stage.items)} items", "none without `rank: items`")
    if stage.order == "latin" and not stage.shuffle_items:
        yield Problem("order", "'latin'", "`shuffle_items: true` beside it: the orders are those of participants")
    for place, comparison in rules.comparisons(stage.eligible, "eligible") if stage.eligible is not None else ():
        if comparison.question is None:
            found = f"a rule over a {comparison.subject}"
            of_candidate = "a rule over answers of the candidates: `stage` and `question`"
            yield Problem(place, found, _OF_CANDIDATE.get(comparison.subject, of_candidate))
        elif comparison.stage is None:
            yield Problem(place, f"no stage for {comparison.question!r}", "`stage`: an earlier stage that asked it")


def _of_items(stage: RankingStage) -> Iterator[Problem]:
    ids = [item.id for item in stage.items]
    if len(ids) < 2:
        yield Problem("items", f"{len(ids)} items", "at least two")
    for index, item_id in enumerate(ids):
        if item_id in ids[:index]:
            yield repeated_id(f"items[{index}].id", item_id, "item")
    if stage.shuffle_items and ORDER_COLUMN in ids:
        expected = f"another id: the column `{ORDER_COLUMN}` says in which order the items were"
        yield Problem(f"items[{ids.index(ORDER_COLUMN)}].id", repr(ORDER_COLUMN), expected)
    if stage.places is not None and stage.places > len(ids):
        yield Problem("places", str(stage.places), f"at most {len(ids)}, the number of items")
    if stage.eligible is not None:
        yield Problem("eligible", "a rule", "none with `rank: items`: it says which participants can be ranked")
