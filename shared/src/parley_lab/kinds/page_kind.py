"""The base of a small kind: a page with one form, which each member fills in alone."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model
from pydantic import Field as Bounds

from parley_lab.base import replies
from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.models import Hint
from parley_lab.kinds.data import Column, Data
from parley_lab.kinds.form import Form, problems_of
from parley_lab.kinds.kind import Blocked, Completion, ConfigT, Done, StageKind
from parley_lab.kinds.parts import Parts, Question, Questions, Substitute, UnusableReply
from parley_lab.kinds.scripted import PageScripts
from parley_lab.kinds.sentences import Reason
from parley_lab.kinds.talk import Block
from parley_lab.kinds.view import PAGE, Ask, Json, OwnView

Schema = Mapping[str, Json]
_ColumnType = Literal["text", "integer", "number", "boolean"]
_COLUMN_TYPES: Final[Mapping[str, _ColumnType]] = {"integer": "integer", "number": "number", "boolean": "boolean"}


class PageKind(StageKind[ConfigT]):
    """A kind that asks each member, alone, to fill in one form on one page.

    Five methods say what it is: `page`, `form`, `faults`, `prompt` and `example`. People see the form; the reply of a
    model, the check of an answer, scripts and the columns of the data are made of it. All of its fields are required.
    A kind that asks several times, of all together, or with fields that depend on each other is a `StageKind` with
    parts.
    """

    @abstractmethod
    def form(self, stage: ConfigT) -> Form:
        """The questions: numbers, texts, choices (`form.number` and the like), and `boolean` for yes or no.

        An answer has the name of each field with its value. Called wherever a method of a `Question` is.
        """

    def faults(self, stage: ConfigT, answer: Mapping[str, Json]) -> Sequence[Problem]:
        """The problems of an answer whose fields are valid each by itself; `where` is the name of a field.

        A problem refuses the answer. Called where `Question.check` is.
        """
        return ()

    def prompt(self, stage: ConfigT, view: OwnView, ask: Ask | None = None) -> list[Block]:
        """The fields with their options; with the reader's answers where there are some. Called as in `StageKind`."""
        given = answer_of(view)
        lines = [_line(one.schema, given, one.name) for one in self.form(stage).fields]
        return [Block("\n".join(lines))]

    def task(self, stage: ConfigT) -> str:
        """The instruction for an agent, after the prompt. Called for prompts."""
        return "Answer what the page asks."

    def hints(self, stage: ConfigT) -> Mapping[str, Hint]:
        """Values that pass `faults`, by `suggest:<field>`, for the mock and for the checks of kinds. Called for
        prompts."""
        return {}

    def completion(self, stage: ConfigT, view: OwnView) -> Completion:
        """The answer to the page completes it. Called as in `StageKind`."""
        given = answer_of(view)
        if given is None:
            return Blocked((Reason("Please answer the questions on this page.", "answer_first"),))
        return Done(dict(given))

    def parts(self, stage: ConfigT) -> Parts:
        """The question, its data and its scripts. Called as in `StageKind`."""
        return Parts(
            questions=_PageQuestions(self, stage),
            is_each_alone=True,
            data=_PageData(self.form(stage)),
            scripts=_FormScripts(self, stage),
        )


def answer_of(view: OwnView) -> Mapping[str, Json] | None:
    """The answer of `view.me` to the page; None before it."""
    found: Mapping[str, Json] | None = view.own.get(PAGE)
    return found


class _PageQuestions(Questions):
    def __init__(self, kind: PageKind[Any], stage: Any) -> None:
        self._kind, self._stage = kind, stage

    def due(self, view: OwnView) -> list[Ask]:
        """People answer the page itself, agents an ask."""
        is_asked = view.me.player == "agent" and PAGE not in view.own
        return [Ask(view.me.id, PAGE, "page")] if is_asked else []

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        return _PageQuestion(self._kind, self._stage) if ask.key == PAGE else None

    def most_replies(self) -> int:
        return 1


class _PageQuestion(Question):
    counts_unsent: ClassVar[bool] = True

    def __init__(self, kind: PageKind[Any], stage: Any) -> None:
        self._kind, self._stage = kind, stage

    def form(self) -> Form:
        return self._kind.form(self._stage)

    def task(self) -> str:
        return self._kind.task(self._stage)

    def reply_model(self) -> type[BaseModel]:
        return _reply_model(self.form())

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump()

    def check(self, answer: Json) -> Json:
        try:
            given: dict[str, Json] = self.reply_model().model_validate(answer).model_dump()
        except ValidationError as error:
            raise InvalidInput("This does not fit the page.", problems_of(error)) from error
        if found := list(self._kind.faults(self._stage, given)):
            raise InvalidInput("This does not fit the page.", found)
        return given

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        return Substitute({field.name: None for field in self.form().fields})

    def hints(self) -> Mapping[str, Hint]:
        return self._kind.hints(self._stage)


class _PageData(Data):
    def __init__(self, form: Form) -> None:
        self._form = form

    def columns(self) -> list[Column]:
        return [Column(one.name, one.schema["title"], _type_of(one.schema)) for one in self._form.fields]


class _FormScripts(PageScripts):
    def __init__(self, kind: PageKind[Any], stage: Any) -> None:
        super().__init__(stage)
        self._kind, self._stage = kind, stage

    def question(self, view: OwnView) -> Question | None:
        return _PageQuestion(self._kind, self._stage)

    def problems_of(self, name: str, answer: Json) -> Iterator[Problem]:
        shapes = {one.name: _shape_of(one.schema) for one in self._kind.form(self._stage).fields}
        if name not in shapes:
            yield Problem("", repr(name), f"one of {', '.join(shapes)}")
            return
        try:
            TypeAdapter(shapes[name]).validate_python(answer)
        except ValidationError as error:
            yield from problems_of(error)


def _reply_model(form: Form) -> type[BaseModel]:
    fields: dict[str, Any] = {
        one.name: (_shape_of(one.schema), Bounds(description=one.schema["title"])) for one in form.fields
    }
    return create_model("PageReply", __base__=replies.Reply, **fields)


def _shape_of(schema: Schema) -> Any:
    """The type of a model's answer to a field of a form.

    Raises:
        TypeError: the field is none of those that `form` makes.
    """
    if schema.get("type") == "string" and "oneOf" in schema:
        return replies.option(_words_of(schema))
    make = _SHAPES.get(str(schema.get("type")))
    if make is None:
        raise TypeError(f"PageKind knows no field of type {schema.get('type')!r}: write a Question for it")
    return make(schema)


_SHAPES: Final[Mapping[str, Callable[[Schema], Any]]] = {
    "boolean": lambda schema: replies.Truth,
    "integer": lambda schema: replies.whole_number(_bounds_of(schema), str(schema["title"])),
    "number": lambda schema: replies.number(_bounds_of(schema), str(schema["title"])),
    "string": lambda schema: replies.text(
        Bounds(min_length=schema.get("minLength"), max_length=schema.get("maxLength"))
    ),
}


def _bounds_of(schema: Schema) -> Any:
    return Bounds(ge=schema.get("minimum"), le=schema.get("maximum"))


def _type_of(schema: Schema) -> _ColumnType:
    return _COLUMN_TYPES.get(str(schema.get("type")), "text")


def _words_of(schema: Schema) -> dict[str, str]:
    return {one["const"]: str(one["title"]) for one in schema["oneOf"]}


def _line(schema: Schema, given: Mapping[str, Json] | None, name: str) -> str:
    """A field in a prompt."""
    title, words = str(schema["title"]), _words_of(schema) if "oneOf" in schema else {}
    if given is not None:
        value = given.get(name)
        return f"{title}: {'no answer' if value is None else words.get(value, value)}"
    return "\n".join([title, *(f"- {option}: {said}" for option, said in words.items())])
