"""Valid moves and messages, their stored form, and the schemas of a model's replies. Pure."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, create_model, model_validator

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.replies import Reason, Reply, Text
from parley_lab.kinds import Json
from parley_lab.kinds.stages.matrix_game import protocol
from parley_lab.kinds.stages.matrix_game.config import MatrixGameStage
from parley_lab.kinds.stages.matrix_game.parser import parse
from parley_lab.kinds.stages.matrix_game.payoffs import Labels


class MoveReply(Reply):
    """Base of the shapes of a move, one for each pair of letters."""

    labels: ClassVar[Labels]
    action: str
    reasoning: Reason = Field(description="Why you choose this, in one or two sentences; nobody else sees it.")

    @model_validator(mode="before")
    @classmethod
    def _may_give_no_reasons(cls, value: Any) -> Any:
        """Reasons are asked for, but a move without them is valid."""
        has_none = isinstance(value, dict) and value.get("reasoning") is None
        return {**value, "reasoning": ""} if has_none else value


class MessageReply(Reply):
    """What a player says to the other before both move."""

    spoken: ClassVar[tuple[str, ...]] = ("message",)

    message: Text = Field(description="What you say to your opponent; empty to say nothing.")


@lru_cache
def move_reply(labels: Labels) -> type[MoveReply]:
    """The shape of a move with these letters."""

    def read(value: object) -> object:
        """Reads `**Defect**` and the like as its letter."""
        written = value[0] if isinstance(value, list) and len(value) == 1 else value
        action = parse(written, labels).action if isinstance(written, str) else None
        return value if action is None else labels.letter(action)

    first, second = labels.letters
    letter: Any = Annotated[Literal[first, second], BeforeValidator(read)]
    described = Field(description=f"Your action: {first} or {second}.")
    model = create_model("MoveReply", __base__=MoveReply, action=(letter, described))
    model.labels = labels
    return model


def checked_message(stage: MatrixGameStage, answer: Json) -> dict[str, Json]:
    """The message with its delivered part.

    Raises:
        InvalidInput: it is no valid message.
    """
    given = answer if isinstance(answer, Mapping) else {}
    message = given.get("message")
    if not isinstance(message, str):
        raise InvalidInput("This is no message.", [Problem("message", type(message).__name__, "a text")])
    checked = protocol.check(message, stage.protocol)
    stored = {
        "message": message,
        "delivered": checked.delivered,
        **({"violation": checked.violation} if checked.violation else {}),
    }
    surplus = [Problem(str(name), "a value", "no such field") for name in given if given[name] != stored.get(name)]
    if surplus:
        raise InvalidInput("This is no message.", surplus)
    return stored


def checked_move(labels: Labels, answer: Json) -> dict[str, Json]:
    """The move: the chosen letter, and whether it means cooperation.

    Raises:
        InvalidInput: with all problems.
    """
    given = answer if isinstance(answer, Mapping) else {}
    letter, reasoning = given.get("action"), given.get("reasoning", "")
    problems = [*_unfit(labels, given, letter, reasoning)]
    if not isinstance(answer, Mapping):
        problems = [Problem("", type(answer).__name__, "an object with the field `action`")]
    if problems:
        raise InvalidInput("This is no move.", problems)
    cooperates = letter == labels.cooperate
    return {"action": letter, "cooperates": cooperates, **({"reasoning": reasoning} if reasoning else {})}


def _unfit(labels: Labels, given: Mapping[str, Json], letter: Json, reasoning: Json) -> Iterator[Problem]:
    if letter not in labels.letters:
        yield Problem("action", repr(letter)[:80], " or ".join(labels.letters))
    if not isinstance(reasoning, str):
        yield Problem("reasoning", type(reasoning).__name__, "a text")
    cooperates = given.get("cooperates")
    if cooperates is not None and cooperates != (letter == labels.cooperate):
        yield Problem("cooperates", repr(cooperates)[:80], "nothing: it follows from the action")
    for name in given.keys() - {"action", "reasoning", "cooperates"}:
        yield Problem(str(name), "a value", "no such field")
