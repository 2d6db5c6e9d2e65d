"""The shapes of replies: strict for providers and clients, and read in every form that plainly means one thing."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from parley_lab.base.replies import read
from parley_lab.kinds.chat.replies import ReadyReply, SpeakReply, TalkReply
from parley_lab.kinds.questions.answers import reply_model
from parley_lab.kinds.questions.sheet import QuestionPage
from parley_lab.kinds.stages.matrix_game.payoffs import Labels
from parley_lab.kinds.stages.matrix_game.replies import move_reply

QUESTIONS: list[dict[str, Any]] = [
    {"id": "trams", "kind": "scale", "title": "How many trams?", "lower": 0, "upper": 10},
    {"id": "pay", "kind": "number", "title": "How many dollars would you pay?", "minimum": 0},
    {
        "id": "vote",
        "kind": "choice",
        "title": "Do you agree?",
        "options": [{"id": "y", "text": "I agree"}, {"id": "n", "text": "I do not"}],
    },
    {"id": "sure", "kind": "check", "title": "Are you sure?"},
    {
        "id": "by",
        "kind": "choices",
        "title": "How do you get home?",
        "options": [{"id": "tram", "text": "By tram"}, {"id": "bike", "text": "By bicycle"}],
    },
    {"id": "why", "kind": "text", "title": "Why?"},
    {
        "id": "grid",
        "kind": "grid",
        "title": "How good?",
        "lower": 1,
        "upper": 5,
        "rows": [{"id": "bus", "text": "The bus"}, {"id": "train", "text": "The train"}],
    },
]
PLAIN = {
    "trams": 8,
    "pay": 5.0,
    "vote": "y",
    "sure": True,
    "by": ["tram"],
    "why": "Nurses.",
    "grid": {"bus": 2, "train": 4},
}


def page() -> type[BaseModel]:
    class Page(QuestionPage):
        kind: str = "page"

    return reply_model(Page.model_validate({"id": "page", "questions": QUESTIONS}), {})


def given(model: type[BaseModel], written: object, *within: str) -> dict[str, Any]:
    return read(model, written, within).model_dump(by_alias=True)


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"trams": "8"},
        {"trams": "**8**"},
        {"trams": 8.0},
        {"trams": "8/10"},
        {"trams": [8]},
        {"trams": "\uff18"},
        {"pay": "$5"},
        {"pay": "5 dollars"},
        {"pay": "5"},
        {"vote": "I agree"},
        {"vote": "y (I agree)"},
        {"vote": ["y"]},
        {"vote": "**Y**"},
        {"vote": True},
        {"sure": "yes"},
        {"sure": 1},
        {"sure": "true"},
        {"by": "tram"},
        {"by": ["By tram"]},
        {"by": "By tram"},
        {"grid": {"bus": "2", "train": "4"}},
        {"why": "<think>They must not know.</think>Nurses."},
        {"mood": "calm", "confidence": 0.8},
    ],
    ids=repr,
)
def test_an_answer_is_read_in_every_form_that_means_it(written: dict[str, Any]) -> None:
    assert given(page(), {**PLAIN, **written}) == PLAIN


@pytest.mark.parametrize(
    "written",
    [
        {"trams": "7 or 8"},
        {"trams": "8/100"},
        {"trams": True},
        {"trams": "11"},
        {"trams": None},
        {"trams": "8.5"},
        {"trams": [7, 8]},
        {"pay": "\u20ac5"},
        {"pay": "5 thousand"},
        {"vote": "y (I do not)"},
        {"vote": ["y", "n"]},
        {"vote": "perhaps"},
        {"sure": "perhaps"},
        {"sure": 2},
        {"by": "By train"},
        {"why": "<think>They must not know.</think>"},
        {"why": "<think>They must not know."},
        {"why": 3},
        {"answer": {"trams": 2}},
        {"TRAMS": 2},
        {"grid": {"bus": 2}},
    ],
    ids=repr,
)
def test_what_means_two_things_or_nothing_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read(page(), {**PLAIN, **written})


@pytest.mark.parametrize(
    "wrapped",
    [{"answer": PLAIN}, {"properties": PLAIN}, {"Night trams": PLAIN}, {"type": "object", "properties": PLAIN}],
    ids=["answer", "properties", "stage", "schema"],
)
def test_the_object_may_be_wrapped_in_a_name_for_the_whole(wrapped: dict[str, Any]) -> None:
    assert given(page(), wrapped, "night_trams") == PLAIN


def test_an_object_of_another_name_is_not_looked_into() -> None:
    with pytest.raises(ValidationError):
        read(page(), {"draft": PLAIN})


def test_a_client_is_read_strictly() -> None:
    for changed in (
        {"trams": "8"},
        {"vote": "I agree"},
        {"sure": "yes"},
        {"mood": "calm"},
        {"TRAMS": 8},
        {"by": "tram"},
    ):
        with pytest.raises(ValidationError):
            page().model_validate({**PLAIN, **changed})
    with pytest.raises(ValidationError):
        SpeakReply.model_validate({"response": "Hello."})


def test_a_provider_is_told_of_every_field_and_of_no_others() -> None:
    for model in (page(), SpeakReply, TalkReply, ReadyReply):
        schema = model.model_json_schema()

        assert schema["additionalProperties"] is False
        assert set(schema["required"]) == set(schema["properties"])


SPOKEN = {"explanation": "", "shouldRespond": True, "response": "I am for it.", "readyToEndChat": False}
SILENT = {"explanation": "", "shouldRespond": False, "response": "", "readyToEndChat": False}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"response": "I am for it."}, SPOKEN),
        ({"should_respond": "yes", "response": "I am for it.", "ready_to_end": "no"}, SPOKEN),
        ({"shouldRespond": True, "response": "<think>I pretend.</think>I am for it."}, SPOKEN),
        ({"shouldRespond": True, "response": "I am for it.", "explanation": "<think>I pretend.</think>"}, SPOKEN),
        ({"shouldRespond": False, "response": None}, SILENT),
        ({"shouldRespond": False}, SILENT),
        ({"response": ""}, SILENT),
        ({"shouldRespond": "false", "response": "", "mood": "calm"}, SILENT),
        ({"reply": {"shouldRespond": False}}, SILENT),
    ],
)
def test_words_and_silence_are_plain_in_many_forms(written: dict[str, Any], expected: dict[str, Any]) -> None:
    assert given(TalkReply, written) == expected


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"shouldRespond": True},
        {"explanation": "So."},
        {"shouldRespond": True, "response": "<think>I pretend.</think>"},
        {"shouldRespond": "perhaps", "response": "Hi"},
        {"shouldRespond": True, "response": "<think>I pretend. I am for it."},
    ],
)
def test_neither_words_nor_silence_are_refused(written: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read(TalkReply, written)


def test_readiness_is_not_guessed_where_it_is_asked() -> None:
    with pytest.raises(ValidationError):
        read(ReadyReply, {"explanation": "So."})
    assert given(ReadyReply, {"readyToEndChat": "yes"})["readyToEndChat"] is True
    assert given(SpeakReply, {"response": "Hi"}) == {"explanation": "", "response": "Hi", "readyToEndChat": False}


@pytest.mark.parametrize(
    "written", [{"action": ["A"]}, {"action": "**A**", "mood": "calm"}, {"answer": {"Action": "a"}}]
)
def test_a_move_is_read_in_every_form_that_means_it(written: dict[str, Any]) -> None:
    assert given(move_reply(Labels("A", "B")), written) == {"action": "A", "reasoning": ""}


def test_a_question_whose_id_is_a_usual_name_is_an_ordinary_question() -> None:
    asked = {"id": "reasoning", "kind": "text", "title": "How do you reason?"}

    class Page(QuestionPage):
        kind: str = "page"

    model = reply_model(Page.model_validate({"id": "page", "questions": [asked, {**asked, "id": "answer"}]}), {})
    with pytest.raises(ValidationError):
        read(model, {"answer": "Slowly."})
    assert given(model, {"answer": "Slowly.", "reasoning": "So."}) == {"answer": "Slowly.", "reasoning": "So."}
