"""What the data have of a check: the last answers, how many attempts there were, and a table of all of them."""

from collections.abc import Iterator, Mapping
from typing import Final

from parley_lab.kinds import PAGE, Answered, Column, Data, Json, Label, LabView, Table
from parley_lab.kinds.questions import one
from parley_lab.kinds.stages.comprehension.attempts import attempts_of, key_of
from parley_lab.kinds.stages.comprehension.config import ComprehensionStage

_OF_PAGE: Final = (
    Column("attempts", Label("How often the questions were answered", "times_answered"), "integer"),
    Column("passed", Label("Whether all answers were right in the end", "all_right_in_the_end"), "boolean"),
)
_TABLE_COLUMNS: Final = ("participant", "attempt", "question", "value", "is_correct")


class ComprehensionData(Data):
    def __init__(self, stage: ComprehensionStage) -> None:
        self._stage = stage
        self.table = Table(
            "attempts",
            _TABLE_COLUMNS,
            lambda view: [*rows(stage, view)],
            answer_key=lambda row: key_of(row["attempt"]),
        )

    def columns(self) -> list[Column]:
        return [*(column for asked in self._stage.questions for column in asked.columns()), *_OF_PAGE]

    def cells(self, page: Json) -> dict[str, Json]:
        given = page if isinstance(page, Mapping) else {}
        asked = (asked for asked in self._stage.questions if asked.id in given)
        cells = {name: cell for each in asked for name, cell in each.given_cells(given[each.id]).items()}
        return {**cells, **{column.name: given[column.name] for column in _OF_PAGE if column.name in given}}

    def scored(self) -> list[str]:
        return [asked.id for asked in self._stage.questions]

    def answered(self, key: str, answer: Json) -> list[Answered]:
        """The last answers; the table has those before them."""
        given = answer if key == PAGE and isinstance(answer, Mapping) else {}
        return [one.answered(asked, given[asked.id]) for asked in self._stage.questions if asked.id in given]


def rows(stage: ComprehensionStage, view: LabView) -> Iterator[dict[str, Json]]:
    """A line for each answer of each attempt."""
    for member in view.members:
        attempts = attempts_of(stage, member, view.answers.get(member.id, {}))
        for number, given in enumerate(attempts.given, start=1):
            for asked in (asked for asked in stage.questions if asked.id in given):
                value = given[asked.id]
                yield {
                    "participant": member.path,
                    "attempt": number,
                    "question": asked.id,
                    "value": value,
                    "is_correct": asked.is_correct(value),
                }
