"""The stored form of a reply, the schema of a model's reply, and the page made of a member's replies."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, WithJsonSchema, create_model
from pydantic import Field as ModelField

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.replies import Reason, Reply, Text, own_words, words_after_labels
from parley_lab.kinds import Field, Form, Json, Label, OwnView, form
from parley_lab.kinds.stages.group_interview import flow
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage, InterviewQuestion, InterviewTask
from parley_lab.kinds.stages.group_interview.options import ListOptions, Options, RangeOptions, option_text
from parley_lab.kinds.stages.group_interview.replies import VariableType, match, read_reply, read_score

PARTS: Final = ("response", "value", "valid", "reasoning", "speculation_score")
ROLE: Final = "role"
ASKED: Final = "asked"
PLACE: Final = "place"
"""The place of the answer's row among those of the cohort, if rows are drawn."""
LONGEST_RESPONSE: Final = 20_000
# An object with the names of a reply, which could not be read: it is cut off, or says two things.
_WRITTEN_REPLY: Final = re.compile(r"\{\s*[\"'\u201c]?response[\"'\u201d]?\s*:", re.IGNORECASE)
_WRITTEN_OBJECT: Final = re.compile(r"^\W*(json)?\s*\{\s*[\"'\u201c]?\w+[\"'\u201d]?\s*:", re.IGNORECASE)
"""The beginning of a text that was meant as an object but cannot be parsed."""

_PLAIN_TEXT: Final = "Reply in plain text, with your answer and nothing else: no JSON, no code fence."
_SCORE: Final = "How speculative is your answer? 0 is not at all, 100 is entirely."
_SCORE_BELOW: Final = (
    "Below it write one last line, `Speculation Score: ` and a whole number from 0 to 100: how speculative your answer "
    "is. 0 is not at all, 100 is entirely."
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which answers of one role to one task are valid."""

    task: InterviewTask
    options: Options | None
    type: VariableType | None
    check: bool
    about: str = ""
    """The words of the question, which name the unit of a number."""


def wanted(stage: GroupInterviewStage, task: InterviewTask, role: str | None) -> Wanted:
    """What the task asks of the role.

    In a discussion replies are free, and so are those of mediators without options of their own: a summary is no
    number.
    """
    question = flow.question_of(task, role) if role is not None else None
    if task.type == "discussion" or question is None or (question.options is None and role in flow.special(stage)):
        return Wanted(task, None, None, check=False)
    return Wanted(task, question.options, task.variable_type, task.check, question.text)


def stored(want: Wanted, answer: Json) -> dict[str, Json]:
    """The stored form of an answer: the response, its value, and whether it is valid.

    answer: a response, or an object with `response` and, if they were asked for, `reasoning` and `speculation_score`.

    Raises:
        InvalidInput: it is no answer, or the task refuses it.
    """
    fields = answer if isinstance(answer, Mapping) else {"response": answer}
    for name in fields:
        if name not in PARTS:
            raise _unusable(str(name)[:60], "an unknown field", f"only {', '.join(PARTS)}")
    entry = _entry(want, _response(fields.get("response")), fields.get("reasoning"), fields.get("speculation_score"))
    if not entry["response"] or (want.check and not entry["valid"]):
        expected = match(entry["response"], want.options, want.type, want.about).expected
        raise _unusable("response", repr(entry["response"][:60]), expected)
    return entry


def kept(want: Wanted, raw: str, own: Collection[str] = (), others: Collection[str] = ()) -> dict[str, Json]:
    """The stored form of the last of several unusable replies: its parts, without a value.

    own, others: the names of the role that is asked, and of all others, in whose names nothing is kept.
    """
    reply = read_reply(raw)
    entry = _entry(
        want,
        own_words(words_after_labels(reply.response), own, others).text[:LONGEST_RESPONSE],
        reply.reasoning,
        reply.speculation_score,
    )
    return {**entry, "value": None, "valid": False}


def passed() -> dict[str, Json]:
    """The stored form of the lab's answer for a member who has left."""
    return {**dict.fromkeys(PARTS), "response": "", "valid": False, flow.LEFT: True}


def as_asked(question: InterviewQuestion | None) -> dict[str, Json]:
    """What is stored with an answer where the question has values of its reader: others hear it in these words."""
    return {} if question is None else {ASKED: question.model_dump(mode="json", include={"text", "options"})}


def heard(question: InterviewQuestion, reply: Json) -> InterviewQuestion:
    """The question in the words in which the author of the reply was asked."""
    said = reply.get(ASKED) if isinstance(reply, Mapping) else None
    return question if said is None else InterviewQuestion.model_validate({**said, "role": question.role})


def fields_of_text(task: InterviewTask, text: str) -> dict[str, Json]:
    """The fields of a reply without an object: a bare answer is an answer.

    Raises:
        InvalidInput: the text is empty, or is an object that is cut off or badly written.
    """
    text = words_after_labels(text)
    said = read_reply(text)
    if not said.response:
        raise InvalidInput("the reply is empty")
    is_unread = said.response == text.strip() and _WRITTEN_REPLY.search(text)
    if is_unread or (not task.plain_text and _WRITTEN_OBJECT.match(text)):
        raise InvalidInput("the reply is not a JSON object")
    fields: dict[str, Json] = {"response": said.response}
    if task.ask_reasoning:
        fields["reasoning"] = said.reasoning or ""
    if task.ask_score:
        fields["speculation_score"] = "" if said.speculation_score is None else said.speculation_score
    return fields


def text_form(task: InterviewTask) -> str | None:
    """The instruction for replies in plain text; None: the model replies with an object."""
    if not task.plain_text:
        return None
    return f"{_PLAIN_TEXT} {_SCORE_BELOW}" if task.ask_score else _PLAIN_TEXT


def _entry(want: Wanted, response: str, reasoning: Json, score: Json) -> dict[str, Json]:
    parts = read_reply(response)
    found = match(parts.response, want.options, want.type, want.about)
    return {
        "response": parts.response,
        "value": found.value,
        "valid": found.is_valid,
        "reasoning": reasoning if reasoning and isinstance(reasoning, str) and want.task.ask_reasoning else None,
        "speculation_score": read_score(parts.speculation_score if score is None else score)
        if want.task.ask_score
        else None,
    }


def _response(value: Json) -> str:
    if not isinstance(value, str | int | float):
        raise _unusable("response", "nothing" if value is None else "a list or an object", "a text or a number")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if len(text) > LONGEST_RESPONSE:
        raise _unusable("response", f"{len(text)} characters", f"at most {LONGEST_RESPONSE}")
    return text


def _unusable(where: str, found: str, expected: str) -> InvalidInput:
    return InvalidInput("This answer cannot be used.", [Problem(where, found, expected)])


class InterviewReply(Reply):
    """Base of the shapes of a reply, one for each form of a response."""

    left_out: ClassVar[Mapping[str, Json]] = MappingProxyType({"reasoning": ""})
    spoken: ClassVar[tuple[str, ...]] = ("response",)

    @classmethod
    def completed(cls, given: dict[str, Json]) -> dict[str, Json]:
        """An option may be given in a list of its own."""
        match given:
            case {"response": [alone]}:
                given = {**given, "response": alone}
        return super().completed(given)


def shape(want: Wanted, order: list[int] | None) -> type[BaseModel]:
    """The schema of a reply. It tells providers the options; the reply is compared by the rules of this kind."""
    schema = json.dumps(_response_schema(want, order))
    return _shape(schema, asks_reasoning=want.task.ask_reasoning, asks_score=want.task.ask_score)


@lru_cache(maxsize=1024)
def _shape(response_schema: str, *, asks_reasoning: bool, asks_score: bool) -> type[BaseModel]:
    """Cached for equal questions, because making a model takes longer than all the rest of a reply."""
    response = Annotated[bool | int | float | Text, WithJsonSchema(json.loads(response_schema))]
    fields: dict[str, Any] = {"response": (response, ModelField(description="Your answer and nothing else."))}
    if asks_reasoning:
        fields["reasoning"] = (Reason, ModelField(description="Why you answer so, in one or two sentences."))
    if asks_score:
        description = "How speculative your answer is: 0 is not at all, 100 is entirely."
        whole = WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 100})
        fields["speculation_score"] = (Annotated[int | float | Text, whole], ModelField(description=description))
    return create_model("InterviewReply", __base__=InterviewReply, **fields)


def _response_schema(want: Wanted, order: list[int] | None) -> dict[str, Any]:
    options = want.options
    if not want.check:
        return {"type": "string"}
    if isinstance(options, ListOptions):
        shown = [options.values[at] for at in order or range(len(options.values))]
        return {"type": "string", "enum": [option_text(option) for option in shown]}
    number = {"float": "number", "integer": "integer"}.get(want.type or "")
    if isinstance(options, RangeOptions):
        is_whole = isinstance(options.low, int) and isinstance(options.high, int)
        return {
            "type": number or ("integer" if is_whole else "number"),
            "minimum": options.low,
            "maximum": options.high,
        }
    return {"type": number or "string"}


def form_of(want: Wanted, order: list[int] | None, asked: str) -> Form:
    """The form for a person; the question is the title of its first field."""
    options = want.options
    if want.check and isinstance(options, ListOptions):
        shown = [option_text(options.values[at]) for at in order or range(len(options.values))]
        response = form.choice(asked, dict(zip(shown, shown, strict=True)))
    else:
        response = {**_response_schema(want, order), **form.titled(asked)}
        if response["type"] == "string":
            response = form.text(asked, least=1, most=LONGEST_RESPONSE)
    fields = [Field("response", response)]
    if want.task.ask_reasoning:
        fields.append(Field("reasoning", form.text(Label("Why do you answer so?", "why_so")), is_required=False))
    if want.task.ask_score:
        score = form.number(Label(_SCORE, "how_speculative"), minimum=0, maximum=100)
        fields.append(Field("speculation_score", score, is_required=False))
    return Form(tuple(fields))


def page(stage: GroupInterviewStage, view: OwnView) -> dict[str, Json]:
    """The reader's answers, by variable, without those of the lab while they were gone, and the reader's role."""
    answers = {task.variable: view.own.get(flow.key_of(task)) for task in stage.tasks}
    given = {variable: one for variable, one in answers.items() if one is not None and not flow.is_passed(one)}
    role = flow.role_of(stage, view.me, view.draws) if gives_roles(stage) else None
    return given if role is None else {**given, ROLE: role}


def gives_roles(stage: GroupInterviewStage) -> bool:
    """Whether later stages know the role of a member; not where a task has taken the name of the column."""
    return all(task.variable != ROLE for task in stage.tasks)
