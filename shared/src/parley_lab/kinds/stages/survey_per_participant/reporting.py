"""What the data have of answers about others: a line for each, and a table of who said what about whom."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from parley_lab.kinds import PAGE, Column, Data, Json, Label, LabView, Table
from parley_lab.kinds.data import Answered
from parley_lab.kinds.questions import one
from parley_lab.kinds.stages.survey_per_participant import people
from parley_lab.kinds.stages.survey_per_participant.config import SurveyPerParticipantStage

_PEOPLE: Final = Column("people", Label("About how many people the answers are", "people_answered_about"), "integer")
_TABLE_COLUMNS: Final = ("participant", "about", "is_self", "question", "value", "text")


class PeopleData(Data):
    def __init__(self, stage: SurveyPerParticipantStage) -> None:
        self._stage = stage
        self.table = Table("answers_about", _TABLE_COLUMNS, lambda view: [*rows(stage, view)])

    def columns(self) -> list[Column]:
        return [_PEOPLE]

    def cells(self, page: Json) -> dict[str, Json]:
        return {_PEOPLE.name: len(_tags(page))} if isinstance(page, Mapping) and page else {}

    def answered(self, key: str, answer: Json) -> list[Answered]:
        if not isinstance(answer, Mapping):
            return []
        tag = key.removeprefix("about:")
        given = {tag: answer} if key != PAGE else {tag: people.about(tag, answer) for tag in _tags(answer)}
        return [
            replace(found, field=people.field_of(tag, found.field), label=f"{found.label} (about {tag})")
            for tag, of_one in given.items()
            for question in self._stage.questions
            if question.id in of_one
            for found in [one.answered(question, of_one[question.id], asked_as=f"about:{tag}")]
        ]


def _tags(page: Mapping[str, Json]) -> list[str]:
    tags = dict.fromkeys(name.partition("_")[0] for name in page)
    return sorted(tags, key=lambda tag: int(tag[1:]))


def rows(stage: SurveyPerParticipantStage, view: LabView) -> Iterator[dict[str, Json]]:
    """A line for each answer of each participant who has one, missing ones included."""
    owners = {tag: member_id for member_id, tag in view.draws.get(people.TAGS, {}).items()}
    paths = {str(member.id): member.path for member in view.members}
    for member in view.members:
        page = view.answer(member.id, PAGE)
        if not isinstance(page, Mapping):
            continue
        for tag in _tags(page):
            given = people.about(tag, page)
            for question in (question for question in stage.questions if question.id in given):
                found = one.answered(question, given[question.id])
                yield {
                    "participant": member.path,
                    "about": paths.get(owners.get(tag, ""), tag),
                    "is_self": owners.get(tag) == str(member.id),
                    "question": question.id,
                    "value": found.value,
                    "text": found.text,
                }
