"""What the data have of answers about others: a line for each, and a table of who said what about whom."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from parley_lab.kinds import PAGE, Column, Data, Json, Label, LabView, Table
from parley_lab.kinds.data import Answered
from parley_lab.kinds.questions import one, rows_in_data
from parley_lab.kinds.questions.own_order import without_order
from parley_lab.kinds.stages.survey_per_participant import people
from parley_lab.kinds.stages.survey_per_participant.config import SurveyPerParticipantStage

_PEOPLE: Final = Column("people", Label("About how many people the answers are", "people_answered_about"), "integer")
_TABLE_COLUMNS: Final = ("participant", "about", "is_self", "question", "value", "text")


class PeopleData(Data):
    def __init__(self, stage: SurveyPerParticipantStage) -> None:
        self._stage = stage
        self.table = Table("answers_about", _TABLE_COLUMNS, lambda view: [*rows(stage, view)])

    def columns(self) -> list[Column]:
        return [_PEOPLE, *rows_in_data.columns(self._stage)]

    def cells(self, page: Json) -> dict[str, Json]:
        if not isinstance(page, Mapping) or not page:
            return {}
        return {_PEOPLE.name: len(_tags(page)), **rows_in_data.cells(page)}

    def answered(self, key: str, answer: Json) -> list[Answered]:
        if not isinstance(answer, Mapping):
            return []
        tag, places = key.removeprefix("about:"), rows_in_data.places_of(answer)
        given = {tag: answer} if key != PAGE else {tag: people.about(tag, answer) for tag in _tags(answer)}
        return [
            replace(line, field=people.field_of(tag, line.field), label=f"{line.label} (about {tag})")
            for tag, of_one in given.items()
            for question in rows_in_data.as_answered(self._stage, answer).questions
            if question.id in of_one
            for found in [one.answered(question, of_one[question.id], asked_as=f"about:{tag}")]
            for line in [
                rows_in_data.with_place(found, places) if places else rows_in_data.without_draws(self._stage, found)
            ]
        ]


def _tags(page: Mapping[str, Json]) -> list[str]:
    tags = dict.fromkeys(name.partition("_")[0] for name in without_order(page))
    return sorted(tags, key=lambda tag: int(tag[1:]))


def rows(stage: SurveyPerParticipantStage, view: LabView) -> Iterator[dict[str, Json]]:
    """A line for each answer of each participant who has one, missing ones included."""
    owners = {tag: member_id for member_id, tag in view.draws.get(people.TAGS, {}).items()}
    paths = {str(member.id): member.path for member in view.members}
    for member in view.members:
        page = view.answer(member.id, PAGE)
        if not isinstance(page, Mapping):
            continue
        asked = rows_in_data.as_answered(stage, page).questions
        for tag in _tags(page):
            given = people.about(tag, page)
            for question in (question for question in asked if question.id in given):
                found = one.answered(question, given[question.id])
                yield {
                    "participant": member.path,
                    "about": paths.get(owners.get(tag, ""), tag),
                    "is_self": owners.get(tag) == str(member.id),
                    "question": question.id,
                    "value": found.value,
                    "text": found.text,
                }
