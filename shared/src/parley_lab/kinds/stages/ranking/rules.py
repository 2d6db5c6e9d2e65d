"""The rules of a ranking: one page with one order, and an election when all are through."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import (
    PAGE,
    Ask,
    Block,
    Blocked,
    Completion,
    Done,
    Json,
    OwnView,
    PageContent,
    Parts,
    Question,
    Reason,
    StageKind,
    heading,
)
from parley_lab.kinds.scripted import PageScripts
from parley_lab.kinds.stages.ranking import config
from parley_lab.kinds.stages.ranking.candidates import (
    RANKING,
    Candidate,
    RankingDraws,
    all_candidates,
    candidates_of,
    places_of,
    reads,
)
from parley_lab.kinds.stages.ranking.config import RankedItem, RankingStage
from parley_lab.kinds.stages.ranking.questions import RankingQuestions
from parley_lab.kinds.stages.ranking.reporting import RankingData, result


class ShownCandidate(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    """The candidate's id in the answer."""
    text: str
    """A participant's name, or what is ranked."""


class RankingPage(PageContent):
    kind: Literal["ranking"] = "ranking"
    question: str
    rank: Literal["participants", "items"]
    candidates: list[ShownCandidate]
    """The candidates that the reader may rank, in the order of the list."""
    places: int
    """How many places the reader assigns."""
    ranking: list[str]
    """The reader's own order, by ids; empty before the answer."""


class Ranking(StageKind[RankingStage]):
    config_model = RankingStage

    def page(self, stage: RankingStage, view: OwnView) -> RankingPage:
        found = candidates_of(stage, view)
        return RankingPage(
            **heading(stage),
            question=stage.question,
            rank=stage.rank,
            candidates=[ShownCandidate(id=one.id, text=one.text) for one in found],
            places=places_of(stage, len(found)),
            ranking=_given(view),
        )

    def prompt(self, stage: RankingStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        if view.me.kind == "mediator":
            return [Block("The participants gave an order here, each for themselves. You took no part in it.")]
        found = candidates_of(stage, view)
        listed = "\n".join(f"- {one.code}: {one.text}" for one in found) or "There is nobody to be ranked."
        blocks = [Block(f"{stage.question}\n{listed}")]
        return blocks if ask is not None else [*blocks, Block(_order_in_words(all_candidates(stage, view), view))]

    def completion(self, stage: RankingStage, view: OwnView) -> Completion:
        if PAGE in view.own:
            return Done()
        if not candidates_of(stage, view):
            return Done({RANKING: []})
        return Blocked((Reason("Please give your order first.", "answer_first"),))

    def problems(self, stage: RankingStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return [*config.problems(stage)]

    def parts(self, stage: RankingStage) -> Parts:
        return Parts(
            questions=RankingQuestions(stage),
            draws=RankingDraws(stage),
            reads=reads(stage),
            names_others=stage.rank == "participants",
            result=None if stage.strategy == "none" else lambda view: result(stage, view),
            data=RankingData(stage),
            scripts=RankingScripts(stage),
        )

    def example(self) -> RankingStage:
        return RankingStage(
            id="priorities",
            name="What matters most",
            rank="items",
            items=(
                RankedItem(id="safe", text="People come home safely"),
                RankedItem(id="cheap", text="It costs little"),
                RankedItem(id="often", text="It comes often"),
            ),
        )


def _given(view: OwnView) -> list[str]:
    page = view.own.get(PAGE)
    return list(page.get(RANKING, ())) if isinstance(page, Mapping) else []


def _order_in_words(known: Sequence[Candidate], view: OwnView) -> str:
    texts = {one.id: one.text for one in known}
    given = [texts[one] for one in _given(view) if one in texts]
    return (
        "Your order:\n" + "\n".join(f"{place}. {text}" for place, text in enumerate(given, 1))
        if given
        else ("Your order: none.")
    )


class RankingScripts(PageScripts):
    """A script gives its `ranking` of items, or draws an order; participants are always drawn."""

    def __init__(self, stage: RankingStage) -> None:
        super().__init__(stage)
        self._ranking = stage

    def question(self, view: OwnView) -> Question | None:
        return RankingQuestions(self._ranking).question(view, Ask(view.me.id, PAGE, "page"))

    def problems_of(self, name: str, answer: Json) -> Iterator[Problem]:
        ids = [item.id for item in self._ranking.items]
        count = places_of(self._ranking, len(ids))
        if name != RANKING:
            yield Problem("", repr(name), f"`{RANKING}`: the ids in their order")
        elif self._ranking.rank != "items":
            yield Problem("", "an order of participants", "`policy: random`: who will be there is not known")
        elif not isinstance(answer, list) or len(answer) != count or any(answer.count(one) != 1 for one in answer):
            yield Problem("", repr(answer)[:80], f"{count} different ones of {', '.join(ids)}")
        elif unknown := [one for one in answer if one not in ids]:
            yield Problem("", repr(unknown[0]), f"one of {', '.join(ids)}")


KIND = Ranking()
