"""What is stored of a reply, what shape a model's reply must have, and the page that a member's replies come to."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, WithJsonSchema, create_model

from shared.errors import InvalidInput, Problem
from shared.replies import Reply, Text
from shared.stage import Json, OwnView
from shared.stages.group_interview import flow
from shared.stages.group_interview.config import GroupInterviewStage, InterviewTask
from shared.stages.group_interview.options import ListOptions, Options, RangeOptions, option_text
from shared.stages.group_interview.replies import VariableType, match, read_reply

PARTS: Final = ("response", "value", "valid", "reasoning", "speculation_score")
LONGEST_RESPONSE: Final = 20_000
_WRITTEN_OBJECT: Final = re.compile(r"^\W*(json)?\s*\{\s*[\"'\u201c]?\w+[\"'\u201d]?\s*:", re.IGNORECASE)
"""How a text begins that was meant as an object and cannot be read as one."""

_PLAIN_TEXT: Final = "Reply in plain text, with your answer and nothing else: no JSON, no code fence."
_SCORE_BELOW: Final = (
    "Below it write one last line, `Speculation Score: ` and a whole number from 0 to 100: how speculative your answer "
    "is. 0 is not at all, 100 is entirely."
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What counts as an answer of one role to one task."""

    task: InterviewTask
    options: Options | None
    type: VariableType | None
    check: bool


def wanted(stage: GroupInterviewStage, task: InterviewTask, role: str | None) -> Wanted:
    """What the task wants of the role.

    In a discussion everybody says what they like, and so do mediators who have no options of their own: a summary is
    no number.
    """
    question = flow.question_of(task, role) if role is not None else None
    if task.type == "discussion" or question is None or (question.options is None and role in flow.special(stage)):
        return Wanted(task, None, None, check=False)
    return Wanted(task, question.options, task.variable_type, task.check)


def stored(want: Wanted, answer: Json) -> dict[str, Json]:
    """What is kept of an answer: the response as it was given, its value, and whether it is one of those asked for.

    answer: a response, or an object with `response` and, if they were asked for, `reasoning` and `speculation_score`.

    Raises:
        InvalidInput: it is no answer, or one that the task does not take.
    """
    fields = answer if isinstance(answer, Mapping) else {"response": answer}
    for name in fields:
        if name not in PARTS:
            raise _unusable(str(name)[:60], "an unknown field", f"only {', '.join(PARTS)}")
    entry = _entry(want, _response(fields.get("response")), fields.get("reasoning"), fields.get("speculation_score"))
    if not entry["response"] or (want.check and not entry["valid"]):
        reason = match(entry["response"], want.options, want.type).reason
        raise _unusable("response", repr(entry["response"][:60]), reason)
    return entry


def kept(want: Wanted, raw: str) -> dict[str, Json]:
    """What is kept of the last of several replies that could not be used: its parts, and no value."""
    reply = read_reply(raw)
    entry = _entry(want, reply.response[:LONGEST_RESPONSE], reply.reasoning, reply.speculation_score)
    return {**entry, "value": None, "valid": False}


def fields_of_text(task: InterviewTask, text: str) -> dict[str, Json]:
    """The fields that a reply without an object stands for: who says nothing but the answer has answered.

    Raises:
        InvalidInput: nothing was said; or, where an object was asked for, one that is cut off or badly written.
    """
    said = read_reply(text)
    if not said.response:
        raise InvalidInput("the reply is empty")
    if not task.plain_text and _WRITTEN_OBJECT.match(text):
        raise InvalidInput("the reply is not a JSON object")
    fields: dict[str, Json] = {"response": said.response}
    if task.ask_reasoning:
        fields["reasoning"] = said.reasoning or ""
    if task.ask_score:
        fields["speculation_score"] = "" if said.speculation_score is None else said.speculation_score
    return fields


def text_form(task: InterviewTask) -> str | None:
    """How a model is told to write a reply in plain text; None: it replies with an object."""
    if not task.plain_text:
        return None
    return f"{_PLAIN_TEXT} {_SCORE_BELOW}" if task.ask_score else _PLAIN_TEXT


def _entry(want: Wanted, response: str, reasoning: Json, score: Json) -> dict[str, Json]:
    parts = read_reply(response)
    found = match(parts.response, want.options, want.type)
    return {
        "response": parts.response,
        "value": found.value,
        "valid": found.is_valid,
        "reasoning": reasoning if reasoning and isinstance(reasoning, str) and want.task.ask_reasoning else None,
        "speculation_score": _score(parts.speculation_score if score is None else score, want),
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


def _score(value: Json, want: Wanted) -> float | None:
    """0 to 100; anything else is no score."""
    if not want.task.ask_score or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= 100 else None


def shape(want: Wanted, order: list[int] | None) -> type[BaseModel]:
    """The fields of a reply. A provider is told the options; what comes is compared by the rules of this kind."""
    schema = json.dumps(_response_schema(want, order))
    return _shape(schema, asks_reasoning=want.task.ask_reasoning, asks_score=want.task.ask_score)


@lru_cache(maxsize=1024)
def _shape(response_schema: str, *, asks_reasoning: bool, asks_score: bool) -> type[BaseModel]:
    """Made once for all who are asked alike: a model takes longer to make than all else that a reply needs."""
    response = Annotated[bool | int | float | Text, WithJsonSchema(json.loads(response_schema))]
    fields: dict[str, Any] = {"response": (response, Field(description="Your answer and nothing else."))}
    if asks_reasoning:
        fields["reasoning"] = (Text, Field(description="Why you answer so, in one or two sentences."))
    if asks_score:
        description = "How speculative your answer is: 0 is not at all, 100 is entirely."
        whole = WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 100})
        fields["speculation_score"] = (Annotated[int | float | Text, whole], Field(description=description))
    return create_model("InterviewReply", __base__=Reply, **fields)


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


def page(stage: GroupInterviewStage, view: OwnView) -> dict[str, Json]:
    """All that the reader answered, by variable."""
    answers = {task.variable: view.own.get(flow.key_of(task)) for task in stage.tasks}
    return {variable: answer for variable, answer in answers.items() if answer is not None}
