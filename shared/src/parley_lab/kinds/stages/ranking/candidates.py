"""The candidates of a ranking: its draws, and whom a member may rank. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final
from uuid import UUID

from parley_lab.base import rules, seeds
from parley_lab.kinds import PAGE, Draws, Json, LabView, Member, OwnView
from parley_lab.kinds.questions.drawn_rows import arrange, number_of
from parley_lab.kinds.reads import Read, Use
from parley_lab.kinds.stages.ranking.config import RankingStage
from parley_lab.kinds.view import View

RANKING: Final = "ranking"
"""The field of the answer: ids, the best first."""
LISTED: Final = "listed"
"""What is drawn for each candidate, under its id: its place in the list of candidates."""
TIE: Final = "tie"
"""A number drawn for each candidate: of candidates with equally many wins the one with the smallest wins."""


class RankingDraws(Draws):
    """A drawn order of participants, which does not tell who came first, or on which seat they are."""

    def __init__(self, stage: RankingStage) -> None:
        self._stage = stage

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        order, ties = Random(rng.getrandbits(64)), Random(rng.getrandbits(64))
        there = [item.id for item in self._stage.items] or [str(one.id) for one in members]
        new = [one for one in there if one not in drawn]
        if self._stage.rank == "participants":
            order.shuffle(new)
        numbers = [ties.getrandbits(32) for _ in range(len(drawn) + len(new))]
        added = {one: {LISTED: at, TIE: numbers[at]} for at, one in enumerate(new, start=len(drawn))}
        return {**drawn, **added}


def listed(view: View) -> list[str]:
    """The ids of all candidates, in the order of the list."""
    return sorted(view.draws, key=lambda one: view.draws[one][LISTED])


def tie_breaks(view: View) -> dict[str, int]:
    return {one: drawn[TIE] for one, drawn in view.draws.items()}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate. `id` is used in the data, `code` by models."""

    id: str
    code: str
    text: str
    is_me: bool = False


def reads(stage: RankingStage) -> tuple[Read, ...]:
    if stage.eligible is None:
        return ()
    return tuple(
        Read(
            comparison.stage,
            everybody=True,
            where=f"{place}.stage",
            uses=(Use(comparison.question, f"{place}.question"),),
        )
        for place, comparison in rules.comparisons(stage.eligible, "eligible")
        if comparison.stage is not None and comparison.question is not None
    )


def eligible(stage: RankingStage, view: View) -> list[str]:
    """The ids of all who can be ranked, in the order of the list."""
    if stage.eligible is None:
        return listed(view)
    return [one for one in listed(view) if _is_eligible(stage, view, UUID(one))]


def _is_eligible(stage: RankingStage, view: View, member_id: UUID) -> bool:
    answers = {
        stage_id: part.cells
        for stage_id, read in view.reads.items()
        if (part := read.members.get(member_id)) is not None
    }
    return stage.eligible is None or rules.holds(stage.eligible, answers, stage.id)


def all_candidates(stage: RankingStage, view: OwnView) -> list[Candidate]:
    """All that can be ranked on this stage, the reader included."""
    codes = {one: f"p{number}" for number, one in enumerate(listed(view), start=1)}
    texts = {item.id: item.text for item in stage.items}
    names = {str(one.id): one.name for one in view.members}
    found = []
    for one in _as_shown(stage, view):
        is_item = one in texts
        code = one if is_item else codes[one]
        text = texts[one] if is_item else names.get(one, code)
        found.append(Candidate(one, code, text, is_me=one == str(view.me.id)))
    return found


def _as_shown(stage: RankingStage, view: OwnView) -> list[str]:
    """The ids of all who can be ranked, in the order of the reader's page."""
    found = eligible(stage, view)
    if not stage.shuffle_items or not found:
        return found
    seat = view.me.path.rpartition("/")[2]
    rng = seeds.rng(view.draws[found[0]][TIE], f"{seat}/items")
    if stage.order == "latin":
        return arrange(found, stage.order, number_of(view), rng)
    rng.shuffle(found)
    return found


def candidates_of(stage: RankingStage, view: OwnView) -> list[Candidate]:
    """Those whom the reader may place."""
    return [one for one in all_candidates(stage, view) if stage.self_vote or not one.is_me]


def places_of(stage: RankingStage, count: int) -> int:
    """How many of so many candidates are given a place."""
    return count if stage.places is None else min(stage.places, count)


def ballots(view: LabView) -> dict[UUID, list[str]]:
    """The orders that were given, by voter."""
    given = {owner: entries.get(PAGE) for owner, entries in view.answers.items()}
    return {owner: list(page[RANKING]) for owner, page in given.items() if page and page.get(RANKING)}
