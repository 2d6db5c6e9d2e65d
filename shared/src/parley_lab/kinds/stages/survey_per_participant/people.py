"""Whom the questions are about: who is there when the stage opens, each under a tag that tells nothing of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from parley_lab.kinds import Draws, Json, Member, OwnView
from parley_lab.kinds.questions.own_order import OrderDraws
from parley_lab.kinds.stages.survey_per_participant.config import SurveyPerParticipantStage
from parley_lab.kinds.view import View

TAGS: Final = "tags"
"""The tag of each participant, by the id: `p1`, `p2`, ... in an order that is drawn."""
_ABOUT: Final = "about:"


class PeopleDraws(Draws):
    """Tags members once, when the stage opens: later members answer about the tagged ones, and are no subjects.

    From one more draw it follows which rows each member is asked about.
    """

    def __init__(self, stage: SurveyPerParticipantStage) -> None:
        self._of_rows = OrderDraws() if stage.is_drawn_of_rows else None

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        found = dict(drawn)
        if not found.get(TAGS):
            numbers = rng.sample(range(1, 1 + len(members)), len(members))
            found = {TAGS: {str(one.id): f"p{number}" for one, number in zip(members, numbers, strict=True)}}
        return found if self._of_rows is None else {**found, **self._of_rows.draw(members, drawn, rng)}


@dataclass(frozen=True, slots=True)
class Subject:
    """One whom the questions are about. `name` is the tag where the view shows only its reader."""

    tag: str
    name: str
    avatar: str = ""
    is_me: bool = False


def subjects(stage: SurveyPerParticipantStage, view: OwnView) -> list[Subject]:
    """Those whom the reader answers about, in the order that was drawn."""
    found = [
        Subject(tag, "yourself" if member_id == str(view.me.id) else name, avatar, member_id == str(view.me.id))
        for member_id, (tag, name, avatar) in _known(view).items()
    ]
    asked = (one for one in found if stage.include_self or not one.is_me)
    return sorted(asked, key=lambda one: int(one.tag[1:]))


def _known(view: View) -> dict[str, tuple[str, str, str]]:
    members = {str(one.id): one for one in view.members}
    return {
        member_id: (tag, members[member_id].name, members[member_id].profile.avatar)
        if member_id in members
        else (tag, tag, "")
        for member_id, tag in view.draws.get(TAGS, {}).items()
    }


def names(view: View) -> dict[str, str]:
    """What each tag is called."""
    return {tag: name for tag, name, _ in _known(view).values()}


def key_of(subject: Subject) -> str:
    """The key under which the answers about this one are stored, where agents are asked about each alone."""
    return f"{_ABOUT}{subject.tag}"


def field_of(tag: str, question_id: str) -> str:
    """The name of one answer on the page."""
    return f"{tag}_{question_id}"


def about(tag: str, page: Mapping[str, Json]) -> dict[str, Json]:
    """The answers of a page about one, by question."""
    prefix = field_of(tag, "")
    return {name.removeprefix(prefix): value for name, value in page.items() if name.startswith(prefix)}


def of_page(tag: str, answers: Mapping[str, Json]) -> dict[str, Json]:
    """Answers about one as the page has them."""
    return {field_of(tag, name): value for name, value in answers.items()}
