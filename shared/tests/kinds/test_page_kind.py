"""A page kind is its form: replies, the check of answers, columns and scripts are made of it."""

from typing import Any, Literal
from uuid import UUID

import pytest

from parley_lab.base import replies
from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import PAGE, Ask, Field, Form, OwnView, PageContent, PageKind, Question, form, heading


class VoteStage(StageConfig):
    kind: Literal["vote"] = "vote"


class VotePage(PageContent):
    kind: Literal["vote"] = "vote"


class Vote(PageKind[VoteStage]):
    config_model = VoteStage

    def page(self, stage: VoteStage, view: OwnView) -> VotePage:
        return VotePage(**heading(stage))

    def form(self, stage: VoteStage) -> Form:
        return Form(
            (
                Field("sure", form.number("How sure are you?", minimum=1, maximum=5, is_whole=True)),
                Field("share", form.number("Which share?", minimum=0, maximum=1)),
                Field("side", form.choice("Which side?", {"a": "For it", "b": "Against it"})),
                Field("why", form.text("Why?", least=2, most=80)),
                Field("again", {"type": "boolean", "title": "Would you vote again?"}),
            )
        )

    def example(self) -> VoteStage:
        return VoteStage(id="vote")


ANSWER = {"sure": 4, "share": 0.5, "side": "a", "why": "It is fair.", "again": True}


def question() -> Question:
    questions = Vote().parts(Vote().example()).questions
    assert questions is not None
    found = questions.question(None, Ask(UUID(int=1), PAGE, "page"))  # type: ignore[arg-type]  # reads no view
    assert found is not None
    return found


def test_a_valid_answer_is_stored_as_it_is() -> None:
    assert question().check(ANSWER) == ANSWER


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"sure": 6}, "sure"),
        ({"sure": 2.5}, "sure"),
        ({"share": -0.1}, "share"),
        ({"side": "c"}, "side"),
        ({"why": "x"}, "why"),
        ({"why": "x" * 81}, "why"),
        ({"again": None}, "again"),
        ({"other": 1}, "other"),
    ],
)
def test_each_field_has_the_bounds_of_the_form(change: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        question().check({**ANSWER, **change})

    assert [one.where for one in refused.value.problems] == [where]


def test_a_model_may_write_its_reply_in_its_own_way() -> None:
    written = {"sure": "4", "share": "0.5", "side": "Against it", "why": "So.", "again": "yes"}

    found = replies.read(question().reply_model(), written)

    assert question().answer_from_reply(found) == {**ANSWER, "side": "b", "why": "So."}


def test_the_columns_have_the_types_of_the_fields() -> None:
    columns = Vote().parts(Vote().example()).data.columns()

    assert [(one.name, one.type) for one in columns] == [
        ("sure", "integer"),
        ("share", "number"),
        ("side", "text"),
        ("why", "text"),
        ("again", "boolean"),
    ]


def test_a_script_is_checked_field_by_field() -> None:
    scripts = Vote().parts(Vote().example()).scripts
    assert scripts is not None

    found = scripts.problems({"answers": {"sure": 9, "nothing": 1, "side": "a"}})

    assert [one.where for one in found] == ["answers.sure", "answers.nothing"]


def test_a_field_of_another_type_says_what_to_do() -> None:
    class Odd(Vote):
        def form(self, stage: VoteStage) -> Form:
            return Form((Field("list", {"type": "array", "title": "Which?"}),))

    questions = Odd().parts(Odd().example()).questions
    assert questions is not None
    asked = questions.question(None, Ask(UUID(int=1), PAGE, "page"))  # type: ignore[arg-type]  # reads no view

    with pytest.raises(TypeError, match="write a Question for it"):
        asked.reply_model()  # type: ignore[union-attr]
