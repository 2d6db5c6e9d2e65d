"""The rules of a check of what was understood."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley_lab.base import rules
from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import repeated_id
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.media import ShownMedium
from parley_lab.kinds import (
    PAGE,
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    End,
    Json,
    Label,
    LabView,
    OwnView,
    PageContent,
    Parts,
    Reason,
    StageKind,
    Table,
    heading,
)
from parley_lab.kinds.data import Answered
from parley_lab.kinds.questions import one, rows_in_data
from parley_lab.kinds.questions.asked_of_rows import columns_compared, in_file, rows_problems
from parley_lab.kinds.questions.choices import Option
from parley_lab.kinds.questions.own_order import OrderDraws
from parley_lab.kinds.stages.comprehension.asking import ComprehensionQuestions, ComprehensionScripts
from parley_lab.kinds.stages.comprehension.attempts import Attempts, attempts_of, key_of, part_of
from parley_lab.kinds.stages.comprehension.config import CheckedChoice, CheckedQuestion, CheckedText, ComprehensionStage

_OF_PAGE: Final = (
    Column("attempts", Label("How often the questions were answered", "times_answered"), "integer"),
    Column("passed", Label("Whether all answers were right in the end", "all_right_in_the_end"), "boolean"),
)
_OF_RULES: Final = ("treatment", "factor", "row")
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
        of_questions = (column for asked in self._stage.questions for column in asked.columns())
        return [*of_questions, *rows_in_data.columns(self._stage), *_OF_PAGE]

    def cells(self, page: Json) -> dict[str, Json]:
        given = page if isinstance(page, Mapping) else {}
        asked = (asked for asked in rows_in_data.as_answered(self._stage, given).questions if asked.id in given)
        cells = {name: cell for each in asked for name, cell in each.given_cells(given[each.id]).items()}
        of_page = {column.name: given[column.name] for column in _OF_PAGE if column.name in given}
        return {**cells, **rows_in_data.cells(given), **of_page}

    def scored(self) -> list[str]:
        return [asked.id for asked in self._stage.questions]

    def answered(self, key: str, answer: Json) -> list[Answered]:
        """The last answers; the table has those before them."""
        given = answer if key == PAGE and isinstance(answer, Mapping) else {}
        places = rows_in_data.places_of(given)
        return [
            rows_in_data.with_place(one.answered(asked, given[asked.id]), places)
            for asked in rows_in_data.as_answered(self._stage, given).questions
            if asked.id in given
        ]


class ShownCheckQuestion(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    id: str
    title: str
    options: list[Option]
    """The options; empty where the answer is written."""
    media: list[ShownMedium] = Field(default=[], exclude_if=rules.is_empty)
    """The images, sound, films and links above it."""


class ComprehensionPage(PageContent):
    kind: Literal["comprehension"] = "comprehension"
    questions: list[ShownCheckQuestion]
    attempts: int
    """How often the reader has answered."""
    most_attempts: int | None
    """How often the reader may answer; null: until everything is right."""
    wrong: list[str]
    """The questions that were not answered rightly last time."""
    passed: bool | None
    """Whether everything was right; null while the reader may still try."""
    answers: dict[str, str | int | float | None]
    """The last answers of the reader, by question; empty before."""


class Comprehension(StageKind[ComprehensionStage]):
    config_model = ComprehensionStage

    def problems(self, stage: ComprehensionStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        of_rows = [*rows_problems(stage, has_profiles=False), *rows_in_data.names_taken(stage)]
        return of_rows or in_file(stage, self._question_problems(stage))

    def _question_problems(self, stage: ComprehensionStage) -> list[Problem]:
        found: list[Problem] = []
        before: set[str] = set()
        for index, asked in enumerate(stage.questions):
            where = f"questions[{index}]"
            if asked.id in before:
                found.append(repeated_id(f"{where}.id", asked.id, "question"))
            if asked.id in ("attempts", "passed"):
                found.append(Problem(f"{where}.id", repr(asked.id), "another id: a column of the data is called so"))
            found += _misled_rule(asked, f"{where}.show_if")
            if not asked.required:
                found.append(Problem(f"{where}.required", "False", "an answer that is needed"))
            found += [replace(one, where=f"{where}.{one.where}") for one in asked.problems()]
            before.add(asked.id)
        return found

    def page(self, stage: ComprehensionStage, view: OwnView) -> ComprehensionPage:
        attempts = attempts_of(stage, view)
        shown = [
            ShownCheckQuestion(
                id=asked.id,
                title=asked.title,
                options=list(asked.options) if isinstance(asked, CheckedChoice) else [],
                media=[medium.shown for medium in asked.media],
            )
            for asked in attempts.stage.questions
        ]
        return ComprehensionPage(
            **heading(stage),
            questions=shown,
            attempts=len(attempts.given),
            most_attempts=attempts.most,
            wrong=attempts.wrong,
            passed=attempts.is_passed if attempts.is_over else None,
            answers=attempts.answers,
        )

    def prompt(self, stage: ComprehensionStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        is_of_reader, attempts = view.me.kind != "mediator", attempts_of(stage, view)
        questions = (attempts.stage if is_of_reader else stage.without_hidden()).questions
        asked = [f"- {one.told} [{one.hint()}]" for one in questions]
        told = [Block("\n".join(["Questions on what was to be read:", *asked]))]
        return [*told, Block(_told(attempts, is_over=ask is None))] if is_of_reader else told

    def completion(self, stage: ComprehensionStage, view: OwnView) -> Completion:
        """Everything is right, or there are no attempts left."""
        attempts = attempts_of(stage, view)
        if not attempts.is_over:
            wrong = Reason("Not all answers are right yet.", "not_all_right")
            none = Reason("Please answer the questions first.", "answer_first")
            return Blocked((wrong if attempts.given else none,))
        is_out = not attempts.is_passed and stage.when_failed == "screened_out"
        return Done(attempts.page, (End("screened_out"),) if is_out else ())

    def parts(self, stage: ComprehensionStage) -> Parts:
        return Parts(
            questions=ComprehensionQuestions(stage),
            # Attempts are asked one after another, of people, too; members do not see the attempts of others.
            state=lambda view: {},
            draws=OrderDraws() if stage.is_drawn_of_rows else None,
            is_each_alone=True,
            data=ComprehensionData(stage),
            scripts=ComprehensionScripts(stage),
        )

    def example(self) -> ComprehensionStage:
        return ComprehensionStage(
            id="understood",
            name="Have you got it?",
            description="You talk with **three others** about a night bus, for ten minutes.",
            questions=(
                CheckedText(id="minutes", title="For how many minutes do you talk?", correct="ten", max_chars=20),
                CheckedChoice(
                    id="others",
                    title="With how many others?",
                    options=(Option(id="two", text="Two"), Option(id="three", text="Three")),
                    correct="three",
                ),
            ),
            most_attempts=3,
        )


def _misled_rule(asked: CheckedQuestion, where: str) -> Iterator[Problem]:
    """Report what a rule compares that may differ between members of one arm, and columns that the row lacks."""
    yield from columns_compared(asked.show_if, asked.row, where)
    for place, comparison in rules.comparisons(asked.show_if, where) if asked.show_if is not None else ():
        if comparison.subject not in _OF_RULES:
            expected = "`treatment`, `factor` or `row`: all of an arm answer the same questions of a check"
            yield Problem(place, f"a rule over a {comparison.subject}", expected)


def _told(attempts: Attempts, *, is_over: bool) -> str:
    """The attempts as the reader knows them: the last answers, and which of them were not right."""
    if not attempts.given:
        return "You answered none of them." if is_over else f"This is your first attempt{_of(attempts)}."
    marks = dict.fromkeys(attempts.wrong, " (not right)")
    given = attempts.answers
    last = [
        f"- {one.title} {one.given_in_words(given.get(one.id))}{marks.get(one.id, '')}"
        for one in attempts.stage.questions
    ]
    made = f"You have answered {len(attempts.given)} times" if len(attempts.given) > 1 else "You have answered once"
    outcome = "Everything is right." if attempts.is_passed else "Not everything was right."
    return "\n".join([f"{made}{_of(attempts)}. {outcome} Your last answers:", *last])


def _of(attempts: Attempts) -> str:
    return "" if attempts.most is None else f", of at most {attempts.most}"


KIND = Comprehension()


def rows(stage: ComprehensionStage, view: LabView) -> Iterator[dict[str, Json]]:
    """A line for each answer of each attempt."""
    for member in view.members:
        for number, given in enumerate(attempts_of(stage, part_of(view, member)).given, start=1):
            for asked in (asked for asked in rows_in_data.as_answered(stage, given).questions if asked.id in given):
                value = given[asked.id]
                yield {
                    "participant": member.path,
                    "attempt": number,
                    "question": asked.id,
                    "value": value,
                    "is_correct": asked.is_correct(value),
                }
