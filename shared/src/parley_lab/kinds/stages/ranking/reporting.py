"""The data of a ranking: places, the winner, and a table with a row for each assigned place. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from parley_lab.kinds import PAGE, Column, Data, Json, Label, LabView, Table
from parley_lab.kinds.data import Answered
from parley_lab.kinds.questions.own_order import ORDER
from parley_lab.kinds.stages.ranking import election
from parley_lab.kinds.stages.ranking.candidates import RANKING, ballots, eligible, tie_breaks
from parley_lab.kinds.stages.ranking.config import ORDER_COLUMN, RankingStage

COLUMNS: Final = (
    *("voter", "voter_name", "candidate", "candidate_name", "place"),
    *("is_self", "counted", "wins", "is_winner"),
)


def result(stage: RankingStage, view: LabView) -> dict[str, Json]:
    """The result of the election. `wins`: how many others each candidate wins against; `tied`: those with the most
    wins; `voters`: whose orders were counted, by member id. An order that comes after the election is not."""
    cast = ballots(view)
    candidates, given = eligible(stage, view), list(cast.values())
    ties = tie_breaks(view) if stage.ties == "drawn" else None
    return {
        "winner": election.winner(candidates, given, ties),
        "wins": election.wins(candidates, given),
        "tied": election.leaders(candidates, given),
        "ballots": len(given),
        "voters": [str(voter) for voter in cast],
    }


class RankingData(Data):
    def __init__(self, stage: RankingStage) -> None:
        self._stage = stage
        self.table = Table("rankings", COLUMNS, lambda view: [*rows(stage, view)], owner="voter")

    def columns(self) -> list[Column]:
        if self._stage.rank == "items":
            places = [
                Column(item.id, Label(f"Place of: {item.text}", "place_of", name=item.text), "integer")
                for item in self._stage.items
            ]
            order = Column(ORDER_COLUMN, "The items in their order on the page", "text", derived=True)
            return [*places, order] if self._stage.shuffle_items else places
        return [
            Column("first", Label("Ranked first", "ranked_first"), "member"),
            Column("ranked", Label("Places that were given", "places_given"), "integer"),
        ]

    def cells(self, page: Json) -> dict[str, Json]:
        given = page.get(RANKING, []) if isinstance(page, Mapping) else []
        if not given:
            return {}
        if self._stage.rank == "items":
            order = {ORDER_COLUMN: " ".join(page[ORDER])} if ORDER in page else {}
            return {**{item_id: place for place, item_id in enumerate(given, start=1)}, **order}
        return {"first": given[0], "ranked": len(given)}

    def answered(self, key: str, answer: Json) -> list[Answered]:
        given = answer.get(RANKING) if key == PAGE and isinstance(answer, Mapping) else None
        if given is None:
            return []
        texts = {item.id: item.text for item in self._stage.items}
        words = "; ".join(texts[one] for one in given if one in texts) or None
        return [Answered(RANKING, self._stage.question, "json", given, text=words, is_valid=bool(given))]

    def group_columns(self) -> list[Column]:
        if self._stage.strategy == "none":
            return []
        if self._stage.rank == "participants":
            return [Column("winner", Label("Elected", "elected"), "member")]
        return [
            Column("winner", Label("Elected", "elected"), "text"),
            Column("winner.text", Label("Elected (text)", "elected"), "text", derived=True),
        ]

    def group_cells(self, result: Mapping[str, Json]) -> dict[str, Json]:
        elected = result.get("winner")
        if elected is None or self._stage.strategy == "none":
            return {}
        texts = {item.id: item.text for item in self._stage.items}
        return {"winner": elected, **({"winner.text": texts[elected]} if elected in texts else {})}


def rows(stage: RankingStage, view: LabView) -> Iterator[dict[str, Json]]:
    """A row for each place that each voter has assigned; without an election there are no wins."""
    members = {str(one.id): one for one in view.members}
    texts = {item.id: item.text for item in stage.items}
    won, counted = view.result.get("wins", {}), view.result.get("voters", ())
    given = ballots(view)
    for voter in members.values():
        for place, candidate in enumerate(given.get(voter.id, ()), start=1):
            known = members.get(candidate)
            yield {
                "voter": voter.path,
                "voter_name": voter.name,
                "candidate": candidate if known is None else known.path,
                "candidate_name": texts.get(candidate) if known is None else known.name,
                "place": place,
                "is_self": candidate == str(voter.id),
                "counted": None if not view.result else str(voter.id) in counted,
                "wins": won.get(candidate),
                "is_winner": None if not view.result else candidate == view.result.get("winner"),
            }
