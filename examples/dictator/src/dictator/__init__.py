"""A dictator game: one of two divides an endowment between them, and the other sees what is left for them."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from parley_lab.base.errors import InvalidInput
from parley_lab.base.replies import Reply, whole_number
from parley_lab.contracts.experiment import StageConfig, Together
from parley_lab.kinds import (
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Draws,
    Form,
    LabView,
    Member,
    OwnView,
    PageContent,
    Parts,
    Question,
    Questions,
    StageKind,
    Substitute,
    UnusableReply,
    form,
    heading,
)
from parley_lab.kinds import Field as FormField

GIVE = "give"
ROLES = ("dictator", "recipient")


class DictatorStage(StageConfig):
    """Two participants: one is drawn to divide an endowment, the other gets what is given."""

    kind: Literal["dictator"] = "dictator"
    progress: Together = Together()
    """The game begins when both are there."""
    endowment: int = Field(default=10, ge=1, le=1_000_000)
    """How many points there are to divide."""


class DictatorPage(PageContent):
    kind: Literal["dictator"] = "dictator"
    endowment: int
    """How many points there are to divide."""
    role: Literal["dictator", "recipient"] | None
    """What was drawn for the reader; null until both have come."""
    given: int | None
    """What the dictator gave; null until then, and when nothing was given because the game ended without an answer."""
    is_over: bool


class Dictator(StageKind[DictatorStage]):
    config_model = DictatorStage

    def page(self, stage: DictatorStage, view: OwnView) -> DictatorPage:
        return DictatorPage(
            **heading(stage),
            endowment=stage.endowment,
            role=role_of(view.me, view.draws),
            given=view.state.get("given"),
            is_over=view.state.get("is_over", False),
        )

    def prompt(self, stage: DictatorStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        role, given = role_of(view.me, view.draws), view.state.get("given")
        lines = [f"One of two people divides {stage.endowment} points between them."]
        if role is not None:
            lines.append(f"You are the {role}.")
        if given is not None:
            lines.append(f"The dictator gave {given} of the {stage.endowment} points.")
        elif view.state.get("is_over"):
            lines.append("Nothing was divided.")
        return [Block("\n".join(lines))]

    def completion(self, stage: DictatorStage, view: OwnView) -> Completion:
        if not view.state.get("is_over"):
            return Blocked(("The points are not divided yet.",))
        role, given = role_of(view.me, view.draws), view.state["given"]
        points = None if given is None or role is None else given if role == "recipient" else stage.endowment - given
        return Done({"role": role, "given": given, "points": points})

    def example(self) -> DictatorStage:
        return DictatorStage(id="divide", name="Ten points")

    def parts(self, stage: DictatorStage) -> Parts:
        return Parts(
            questions=DictatorQuestions(stage),
            draws=Roles(),
            state=state_of,
            data=DictatorData(),
            players=(2, 2),
        )


def role_of(member: Member, draws: Mapping[str, Any]) -> Literal["dictator", "recipient"] | None:
    if draws.get("dictator") == str(member.id):
        return "dictator"
    return "recipient" if draws.get("recipient") == str(member.id) else None


class Roles(Draws):
    """Who divides is drawn when the second of the two has come."""

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Any], rng: Random) -> dict[str, Any]:
        players = [str(one.id) for one in members]
        if drawn or len(players) < len(ROLES):
            return dict(drawn)
        return dict(zip(ROLES, rng.sample(players, len(ROLES)), strict=True))


def state_of(view: LabView) -> dict[str, Any]:
    """What was given, and whether it is over. A dictator who has left gives nothing."""
    answers = [given[GIVE] for given in view.answers.values() if GIVE in given]
    return {"given": answers[0]["given"] if answers else None, "is_over": bool(answers)}


class DictatorQuestions(Questions):
    def __init__(self, stage: DictatorStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        is_asked = role_of(view.me, view.draws) == "dictator" and not view.state["is_over"]
        return [Ask(view.me.id, GIVE, GIVE)] if is_asked and GIVE not in view.own else []

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        return Giving(self._stage.endowment) if ask.key == GIVE else None

    def most_replies(self) -> int:
        return 1


class Giving(Question):
    """How much the dictator gives."""

    def __init__(self, endowment: int) -> None:
        self._endowment = endowment

    def form(self) -> Form:
        bounds = form.number("How many points do you give?", minimum=0, maximum=self._endowment, is_whole=True)
        return Form((FormField("given", bounds),))

    def task(self) -> str:
        return f"Give the other 0 to {self._endowment} of the points. You keep the rest."

    def reply_model(self) -> type[BaseModel]:
        class Gift(Reply):
            given: whole_number(Field(ge=0, le=self._endowment)) = Field(description="The points that you give.")  # type: ignore[valid-type]

        return Gift

    def answer_from_reply(self, reply: BaseModel) -> dict[str, Any]:
        return reply.model_dump()

    def check(self, answer: Any) -> dict[str, Any]:
        try:
            return self.reply_model().model_validate(answer).model_dump()
        except ValidationError as error:
            raise InvalidInput("This cannot be given.", form.problems_of(error)) from error

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        return Substitute({"given": None})


class DictatorData(Data):
    """Columns; their values are the fields of the page that `completion` gives, by their names."""

    def columns(self) -> list[Column]:
        return [
            Column("role", "Role", "text"),
            Column("given", "Points given", "integer"),
            Column("points", "Points in the end", "integer"),
        ]


KIND = Dictator()
