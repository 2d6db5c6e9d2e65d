"""Answers and messages of made-up people: as the mock, with the traits and lines of a persona, or by chance. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from parley_lab.agent_worker.models.mock import mock_reply
from parley_lab.base.fitting import fitted
from parley_lab.base.rules import Rule, holds
from parley_lab.base.schema_filler import UnfillableSchemaError, fill
from parley_lab.contracts.experiment import Persona
from parley_lab.contracts.models import (
    HINT_LAST_TEXT,
    HINT_MANNER,
    HINT_MEMBER,
    HINT_OWN_MESSAGE_COUNT,
    HINT_PERSONA,
    HINT_PERSONA_TEXT,
    ChatMessage,
    Hint,
    ModelRequest,
    ModelSettings,
)
from parley_lab.kinds import Question
from parley_lab.kinds.stages import manner_of

Json = Any

_AGREEING: Final = 0.9
_RULE: Final[TypeAdapter[Any]] = TypeAdapter(Rule)
_LINE: Final = {
    "type": "object",
    "properties": {"response": {"type": "string"}},
    "required": ["response"],
    "additionalProperties": False,
}
_ASKED: Final = (ChatMessage(role="user", content="A rehearsal."),)
"""The mock reads no prompt."""


def fill_in(form: Mapping[str, Json], rng: Random) -> Json:
    """An answer by chance that the form takes: fields that are hidden by the others' answers are left out."""
    properties = form.get("properties")
    if properties is None:
        return fill(form, rng)
    answer: dict[str, Json] = {}
    for name, schema in properties.items():
        if _is_shown(schema, answer):
            # Most people tick what they are asked to tick.
            is_box = schema.get("type") == "boolean" and "const" not in schema
            answer[name] = rng.random() < _AGREEING if is_box else fill(schema, rng)
    return fitted(form, answer)


def _is_shown(schema: Mapping[str, Json], answer: Mapping[str, Json]) -> bool:
    rule = schema.get("x-show-if")
    return rule is None or holds(_RULE.validate_python(rule), {"here": answer}, "here")


@dataclass(frozen=True, slots=True)
class Self:
    """Whom the mock speaks for: a made-up person, by the place that they have, and their persona, if they have one."""

    seed: int
    place: str
    persona: Persona | None = None

    @property
    def hints(self) -> dict[str, Hint]:
        persona = self.persona
        if persona is None:
            return {HINT_MEMBER: self.place}
        manner = "\n".join(manner_of(persona.script))
        return {
            HINT_MEMBER: self.place,
            HINT_PERSONA: persona.id,
            HINT_PERSONA_TEXT: persona.text,
            HINT_MANNER: manner,
        }

    def request(self, path: str, stage_id: str, schema: Mapping[str, Json], hints: Mapping[str, Hint]) -> ModelRequest:
        return ModelRequest(
            path=f"{self.place}/rehearsal/{path}",
            seed=self.seed,
            settings=ModelSettings(provider="mock"),
            messages=_ASKED,
            reply_schema=dict(schema),
            stage_id=stage_id,
            mock=None if self.persona is None else self.persona.mock,
            hints={**self.hints, **hints},
        )


def answer_as_mock(question: Question, who: Self, stage_id: str, key: str) -> Json:
    """The answer that an agent of the mock would give: right where the file says what is right, and by its traits.

    None when the mock has none.
    """
    model = question.reply_model()
    try:
        reply = mock_reply(who.request(f"{stage_id}/{key}", stage_id, model.model_json_schema(), question.hints()))
        return question.answer_from_reply(model.model_validate(reply.parsed))
    except (UnfillableSchemaError, ValidationError):
        return None


def line_as_mock(who: Self, stage_id: str, said: int, last: str) -> str:
    """The next message of a person who has said so many in this conversation; `last`: the newest one of another."""
    hints: dict[str, Hint] = {HINT_OWN_MESSAGE_COUNT: said, HINT_LAST_TEXT: last}
    reply = mock_reply(who.request(f"{stage_id}/says:{said}", stage_id, _LINE, hints))
    line: str = (reply.parsed or {})["response"]
    return line


def lines_of(persona: Persona | None, stage_id: str) -> Sequence[str]:
    """The lines that the persona says in this conversation before any others."""
    return () if persona is None or persona.mock is None else persona.mock.lines_in(stage_id)
