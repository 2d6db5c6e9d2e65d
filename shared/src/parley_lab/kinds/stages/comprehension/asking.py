"""How the questions are put, attempt by attempt, and how scripts answer them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, create_model
from pydantic import Field as Bounds

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.models import Hint
from parley_lab.kinds import Ask, Field, Form, Json, LabView, OwnView, Question, Questions, Substitute, UnusableReply
from parley_lab.kinds.parts import WithoutAnswer
from parley_lab.kinds.questions import salvage
from parley_lab.kinds.questions.answers import PageReply, found_in_words
from parley_lab.kinds.questions.own_order import without_order
from parley_lab.kinds.questions.questions import Unfit
from parley_lab.kinds.questions.rows_in_data import with_drawn
from parley_lab.kinds.questions.scripted_rows import fixed_of, problems_of
from parley_lab.kinds.scripted import PageScripts, filled, suggested
from parley_lab.kinds.stages.comprehension.attempts import Attempts, attempts_of, key_of, number_of, part_of
from parley_lab.kinds.stages.comprehension.config import CheckedNumber, CheckedQuestion, ComprehensionStage

_TASK: Final = "Answer every question on what you have read. The answers are checked, and you go on when all are right."


class ComprehensionQuestions(Questions):
    must_be_own = True

    def __init__(self, stage: ComprehensionStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        """The next attempt of a person or an agent."""
        me, attempts = view.me, attempts_of(self._stage, view)
        is_asked = me.kind == "participant" and me.player != "script"
        return [Ask(me.id, key_of(len(attempts.given) + 1), "attempt")] if is_asked and not attempts.is_over else []

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        return None if number_of(ask.key) is None else Attempt(self._stage, view)

    def shown(self, answer: Json) -> Json:
        """Without the rows that were drawn, which the page has."""
        return without_order(answer)


class Attempt(Question):
    """All questions once more."""

    def __init__(self, stage: ComprehensionStage, view: OwnView) -> None:
        self._of_all = stage
        self._view = view
        self._attempts = attempts_of(stage, view)
        self._stage = self._attempts.stage
        self._me = view.me

    def form(self) -> Form:
        return Form(tuple(Field(asked.id, asked.form_field()) for asked in self._stage.questions))

    def task(self) -> str:
        return _TASK

    def reply_model(self) -> type[BaseModel]:
        return _reply_model(self._stage.questions)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump(by_alias=True)

    def check(self, answer: Json) -> Json:
        """Whether an answer is right does not matter here: a wrong one is an attempt."""
        if not isinstance(answer, Mapping):
            found = Problem("", type(answer).__name__, "an object with one entry per question")
            raise InvalidInput("These answers cannot be used.", [found])
        answer = without_order(answer)
        stored: dict[str, Json] = {}
        problems: list[Problem] = []
        for asked in self._stage.questions:
            try:
                stored[asked.id] = asked.stored(answer.get(asked.id))
            except Unfit as unfit:
                problems.append(Problem(asked.id, found_in_words(answer.get(asked.id)), unfit.expected))
        known = {asked.id for asked in self._stage.questions}
        problems += [Problem(str(key), "an answer", "no such question here") for key in answer if key not in known]
        if problems:
            raise InvalidInput("Some answers cannot be used.", problems)
        return self._with_drawn(stored)

    def _with_drawn(self, answers: Mapping[str, Json]) -> dict[str, Json]:
        return with_drawn(self._of_all, self._view, answers)

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        """The attempt has what fits of the replies; an agent that could not be asked at all is out."""
        if not replies:
            return "drop"
        found = [salvage.of_question(asked, replies) for asked in self._stage.questions]
        missing = {name: reason for each in found for name, reason in (each.missing or {}).items()}
        answers = zip(self._stage.questions, found, strict=True)
        return Substitute(self._with_drawn({asked.id: each.value for asked, each in answers}), missing)

    def news(self) -> str | None:
        """After a wrong attempt only the list of the wrong questions is new to read."""
        return f"Not right: {', '.join(self._attempts.wrong)}" if self._attempts.wrong else None

    def written(self, answer: Json) -> str:
        return "\n".join(str(answer[asked.id]) for asked in self._stage.questions if asked.kind == "text")

    def hints(self) -> Mapping[str, Hint]:
        """The mock answers as its script says, or rightly without one."""
        has_script = self._me.script_for(self._stage) is not None
        return suggested(fixed_of(self._stage, self._me) if has_script else _all_right(self._attempts))


class ComprehensionScripts(PageScripts):
    """A script answers rightly, unless the file gives it other answers or has it draw them."""

    _stage: ComprehensionStage

    def question(self, view: OwnView) -> Question | None:
        """Attempts are asked, and no page."""
        return None

    def problems_of(self, name: str, answer: Json) -> Iterator[Problem]:
        return problems_of(self._stage, name, answer)

    def play(self, view: LabView, rng_of: Callable[[str], Random]) -> dict[tuple[UUID, str], Json]:
        moves: dict[tuple[UUID, str], Json] = {}
        for member in (each for each in view.members if each.player == "script" and each.present):
            attempts = attempts_of(self._stage, part_of(view, member))
            if attempts.is_over:
                continue
            number, questions = len(attempts.given) + 1, attempts.stage.questions
            rng = rng_of(f"{member.path.rpartition('/')[2]}/{key_of(number)}")
            form = Form(tuple(Field(asked.id, asked.form_field()) for asked in questions))
            given = filled(form, rng, fixed=fixed_of(attempts.stage, member))
            answer = _all_right(attempts) if member.script_for(self._stage) is None else given
            moves[member.id, key_of(number)] = with_drawn(self._stage, part_of(view, member), answer)
        return moves


def _all_right(attempts: Attempts) -> dict[str, Json]:
    return {asked.id: _right(asked) for asked in attempts.stage.questions}


def _right(asked: CheckedQuestion) -> Json:
    right = asked.all_correct[0]
    return right if isinstance(asked, CheckedNumber) else str(right)


# Making the shape takes longer than all the rest of a prompt, and many agents are asked the same questions.
@lru_cache(maxsize=1024)
def _reply_model(questions: tuple[CheckedQuestion, ...]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        f"answer_{index}": (
            asked.reply_type(),
            Bounds(alias=asked.id, description=f"{asked.title} Answer with {asked.hint()}."),
        )
        for index, asked in enumerate(questions)
    }
    return create_model("ComprehensionReply", __base__=PageReply, **fields)
