"""The shapes of what a model says in a game: a move in the letters of the game, or a message before it."""

from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, create_model, model_validator

from shared.replies import Reply, Text
from shared.stages.matrix_game.labels import Labels
from shared.stages.matrix_game.parser import parse


class MoveReply(Reply):
    """Base of the shapes of a move, one for each pair of letters."""

    labels: ClassVar[Labels]
    action: str
    reasoning: Text = Field(description="Why you choose this, in one or two sentences; nobody else sees it.")

    @model_validator(mode="before")
    @classmethod
    def _may_give_no_reasons(cls, value: Any) -> Any:
        """Reasons are asked for, and a move without them is a move."""
        has_none = isinstance(value, dict) and value.get("reasoning") is None
        return {**value, "reasoning": ""} if has_none else value


class MessageReply(Reply):
    """What a player says to the other before both move."""

    message: Text = Field(description="What you say to your opponent; empty to say nothing.")


@lru_cache
def move_reply(labels: Labels) -> type[MoveReply]:
    """The shape of a move with these letters."""

    def read(value: object) -> object:
        """A model that writes `**Defect**` means the letter of it."""
        action = parse(value, labels).action if isinstance(value, str) else None
        return value if action is None else labels.letter(action)

    first, second = labels.letters
    letter: Any = Annotated[Literal[first, second], BeforeValidator(read)]
    described = Field(description=f"Your action: {first} or {second}.")
    model = create_model("MoveReply", __base__=MoveReply, action=(letter, described))
    model.labels = labels
    return model
