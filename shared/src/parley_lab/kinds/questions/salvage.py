"""What replies that cannot be used still answer: for each question the newest answer that fits, else null and why."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import ValidationError

from parley_lab.base.errors import InvalidInput
from parley_lab.base.replies import read
from parley_lab.kinds import Json, Substitute, UnusableReply
from parley_lab.kinds.questions.answers import Pages, bounded, is_shown, wrong_totals
from parley_lab.kinds.questions.one import check, reply_model
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.questions.sheet import QuestionPage

_LONGEST_EXCERPT: Final = 200


def of_page(stage: QuestionPage, pages: Pages, replies: Sequence[UnusableReply]) -> Substitute:
    """One value for every question that is shown; a rule that looks at a missing answer is false."""
    apart: dict[str, str] = {}
    while True:
        found = _without(apart, stage, pages, replies)
        wrong = [*wrong_totals(stage, found.value, found.missing or {})]
        if not wrong:
            return found
        for one in wrong:
            # Numbers that do not make the sum say nothing alone, and bring up no question.
            asked = next(ids for _, ids in stage.totals() if one.where in ids)
            apart |= {name: f"expected were {one.expected}" for name in asked if name in found.value}


def _without(
    apart: Mapping[str, str], stage: QuestionPage, pages: Pages, replies: Sequence[UnusableReply]
) -> Substitute:
    """The page without the answers `apart`, each of which is missing for its reason."""
    kept: dict[str, Json] = {}
    missing: dict[str, str] = {}
    for question in stage.questions:
        if not is_shown(question, kept, stage, pages):
            continue
        if question.id in apart:
            found = Substitute(None, {question.id: apart[question.id]})
        else:
            found = of_question(bounded(question, kept, pages), replies)
        kept[question.id] = found.value
        missing |= found.missing or {}
    return Substitute(kept, missing)


def of_question(question: BaseQuestion, replies: Sequence[UnusableReply]) -> Substitute:
    """The newest answer to this question that fits; an earlier reply may have had it right."""
    for reply in reversed(replies):
        try:
            return Substitute(_read(question, reply), {})
        except (ValidationError, InvalidInput):
            continue
    return Substitute(None, {question.id: _why(question, replies)})


def _read(question: BaseQuestion, reply: UnusableReply) -> Json:
    """Raises:
    ValidationError, InvalidInput: the reply does not answer the question as it should.
    """
    model = reply_model(question)
    given = {**dict.fromkeys([question.id] if question.may_be_empty else ()), **(reply.parsed or {})}
    return check(question, read(model, given, takes_other_names=False).model_dump(by_alias=True)[question.id])


def _why(question: BaseQuestion, replies: Sequence[UnusableReply]) -> str:
    """What was expected and what came last."""
    expected = f"expected was {question.asked()}"
    answered = [reply.parsed[question.id] for reply in replies if reply.parsed and question.id in reply.parsed]
    if answered:
        return f"{expected}; the last reply said {repr(answered[-1])[:_LONGEST_EXCERPT]}"
    last = replies[-1]
    return f"{expected}; {last.error}: {last.raw[:_LONGEST_EXCERPT]!r}"
