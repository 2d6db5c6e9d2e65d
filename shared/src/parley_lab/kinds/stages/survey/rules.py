"""The rules of a page of questions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parley_lab.base.errors import Problem
from parley_lab.base.rules import Comparison
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import PAGE, Ask, Block, Blocked, Completion, Done, Json, OwnView, Parts, Reason, StageKind
from parley_lab.kinds.questions import answers, sheet
from parley_lab.kinds.questions.asked_of_rows import in_file
from parley_lab.kinds.questions.choices import ChoiceQuestion, ChoicesQuestion, Option
from parley_lab.kinds.questions.drawn_rows import asked_of
from parley_lab.kinds.questions.numeric_questions import GridQuestion, GridRow, NumberQuestion, ScaleQuestion
from parley_lab.kinds.questions.own_order import OrderDraws
from parley_lab.kinds.questions.questions import CheckQuestion, TextQuestion
from parley_lab.kinds.questions.rows_in_data import names_taken
from parley_lab.kinds.stages.survey import display, entries
from parley_lab.kinds.stages.survey.asking import SurveyQuestions, SurveyScripts
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.order import ORDER_COLUMN, latin_problems, ordered, with_order
from parley_lab.kinds.stages.survey.page import SurveyPage, page_of
from parley_lab.kinds.stages.survey.reporting import SurveyData

_COLUMNS_OF_ITS_OWN: Final = {
    "score": "how many answers are correct",
    "order": "in which order the questions were",
}


class Survey(StageKind[SurveyStage]):
    config_model = SurveyStage

    def problems(self, stage: SurveyStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        found = list(sheet.problems(stage, earlier))
        found += [*_without_rows(stage), *names_taken(stage)]
        found += in_file(stage, [*latin_problems(stage), *_refuse_column_of_order(stage)])
        if stage.ask not in ("all_at_once", "by_row") and stage.totals():
            found.append(
                Problem("ask", repr(stage.ask), "all_at_once or by_row: numbers with a total are asked together")
            )
        if stage.ask == "independent" and sheet.are_bounded_here(stage):
            expected = "all_at_once or sequential: an answer bounds another, which must be known"
            found.append(Problem("ask", "'independent'", expected))
        for name in ["score"] * stage.has_correct + ["order"] * stage.shuffle_questions:
            for index, question in enumerate(stage.questions):
                if question.id == name:
                    expected = f"another id: the column `{name}` says {_COLUMNS_OF_ITS_OWN[name]}"
                    found.append(Problem(f"questions[{index}].id", repr(name), expected))
        return found

    def page(self, stage: SurveyStage, view: OwnView) -> SurveyPage:
        return page_of(stage, view)

    def prompt(self, stage: SurveyStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        mine = ordered(stage, view)
        question = None if ask is None else entries.question_of(mine, ask.key)
        if question is not None:
            return [Block(entries.in_words(mine, question, view))]
        row = None if ask is None else entries.row_in_turn(mine, ask.key, view)
        if row is not None:
            asked = "\n".join(block.text for block in display.asked_in(row, view))
            return [Block(entries.after_answers(mine, view, asked))]
        return display.with_answers(stage, view) if ask is None else display.questions(stage, view)

    def completion(self, stage: SurveyStage, view: OwnView) -> Completion:
        """The page is answered as a whole, or made of an agent's entries."""
        pages = answers.earlier_pages(view)
        asked = asked_of(stage, view)
        if PAGE in view.own or not answers.possible_questions(asked, pages):
            return Done()
        given = entries.given(asked, view)
        if stage.ask == "all_at_once" or view.me.player != "agent" or _is_left(stage, view, given):
            return Blocked((Reason("Please answer the questions on this page.", "answer_first"),))
        missing = [question_id for question_id, value in given.items() if value is None]
        return Done(with_order(stage, view, answers.check(asked, given, pages, missing)))

    def parts(self, stage: SurveyStage) -> Parts:
        return Parts(
            questions=SurveyQuestions(stage),
            draws=OrderDraws() if stage.is_drawn else None,
            is_each_alone=True,
            data=SurveyData(stage),
            scripts=SurveyScripts(stage),
        )

    def example(self) -> SurveyStage:
        yes_no = (Option(id="yes", text="Yes"), Option(id="no", text="No"))
        rides = Comparison(question="rides", value="yes")
        return SurveyStage(
            id="before",
            name="Before the conversation",
            shuffle_options=True,
            questions=(
                ChoiceQuestion(id="rides", title="Do you ever take the night bus?", options=yes_no),
                NumberQuestion(
                    id="nights", title="How many nights a month?", minimum=0, maximum=31, integer=True, show_if=rides
                ),
                ScaleQuestion(
                    id="free",
                    title="Should the night bus be free?",
                    lower=1,
                    upper=7,
                    lower_text="not at all",
                    upper_text="absolutely",
                ),
                ChoicesQuestion(
                    id="goals",
                    title="What should a night bus do first of all?",
                    min_chosen=1,
                    max_chosen=2,
                    options=(
                        Option(id="safe", text="Bring people home safely"),
                        Option(id="cheap", text="Cost little"),
                        Option(id="often", text="Come often"),
                    ),
                ),
                ChoiceQuestion(id="city-pays", title="Who pays for a free bus?", options=yes_no, correct="yes"),
                GridQuestion(
                    id="matters",
                    title="How much does it matter to you?",
                    rows=(GridRow(id="price", text="The price"), GridRow(id="noise", text="The noise")),
                    lower=1,
                    upper=5,
                ),
                TextQuestion(id="why", title="Why do you think so?", min_chars=10, max_chars=500, required=False),
                CheckQuestion(id="agree", title="I will speak for myself.", required=True),
            ),
        )


def _is_left(stage: SurveyStage, view: OwnView, given: Mapping[str, Json]) -> bool:
    """Whether something is still to be asked of an agent that is asked in parts."""
    mine, pages = ordered(stage, view), answers.earlier_pages(view)
    return any(entries.due_rows(mine, view)) if stage.ask == "by_row" else bool(entries.due(mine, pages, given))


def _without_rows(stage: SurveyStage) -> Iterator[Problem]:
    """What only a stage with rows can be."""
    if stage.rows is None and stage.pages is not None:
        yield Problem("one_page_each", "a page for each row", "`rows` beside it; or leave it out")
    if stage.rows is None and stage.ask == "by_row":
        yield Problem("ask", "by_row", "`rows` beside it; or one of all_at_once, sequential, independent")


def _refuse_column_of_order(stage: SurveyStage) -> Iterator[Problem]:
    """Report options and lines of grids whose column would be that of their order."""
    for index, question in enumerate(stage.questions):
        named: Mapping[str, Sequence[str]] = {}
        if isinstance(question, ChoicesQuestion) and stage.shuffle_options:
            named = {"options": question.option_ids}
        elif isinstance(question, GridQuestion) and stage.shuffle_grids:
            named = {"rows": [row.id for row in question.rows]}
        for field, ids in named.items():
            for place, name in enumerate(ids):
                if name == ORDER_COLUMN:
                    expected = f"another id: the column `{question.id}.{name}` says in which order the {field} were"
                    yield Problem(f"questions[{index}].{field}[{place}].id", repr(name), expected)


KIND = Survey()
