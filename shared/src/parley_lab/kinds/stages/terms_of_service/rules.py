"""The rules of terms to agree to."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, Literal

from pydantic import BaseModel, ValidationError

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.replies import Reply, Truth
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import (
    PAGE,
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    End,
    Field,
    Form,
    Json,
    Label,
    OwnView,
    PageContent,
    Parts,
    Question,
    Questions,
    Reason,
    StageKind,
    Substitute,
    UnusableReply,
    form,
    heading,
)
from parley_lab.kinds.parts import Scripts
from parley_lab.kinds.stages.terms_of_service.config import USUAL_BOX, TermsOfServiceStage

ACCEPTED: Final = "accepted"
_WORDS: Final = {True: "You accepted", False: "You declined"}


class Script(Reply):
    """How a persona takes the terms without a model."""

    accept: Truth


class TermsReply(Reply):
    accepted: Truth


class TermsPage(PageContent):
    kind: Literal["terms_of_service"] = "terms_of_service"
    lines: list[str]
    """The text in markdown, line by line."""
    box: str
    """The text beside the box to tick."""
    accepted: bool | None
    """The reader's answer; null before it."""


class TermsOfService(StageKind[TermsOfServiceStage]):
    config_model = TermsOfServiceStage

    def problems(self, stage: TermsOfServiceStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        """Time does not agree for a person."""
        if stage.stay.at_most_seconds is None or stage.stay.then == "leave":
            return []
        return [Problem("stay.then", "'go_on'", "'leave': silence is no consent")]

    def page(self, stage: TermsOfServiceStage, view: OwnView) -> TermsPage:
        said = view.own.get(PAGE)
        accepted = said[ACCEPTED] if said is not None else None
        return TermsPage(**heading(stage), lines=list(stage.lines), box=stage.box, accepted=accepted)

    def prompt(self, stage: TermsOfServiceStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        said = view.own.get(PAGE)
        what = "Participants accept or decline" if said is None else _WORDS[bool(said[ACCEPTED])]
        return [Block("\n".join(stage.lines)), Block(f"{what}: {stage.box}")]

    def completion(self, stage: TermsOfServiceStage, view: OwnView) -> Completion:
        """Agents and scripts say without a model what their script says, and accept without one."""
        said = view.own.get(PAGE)
        if said is None and view.me.player == "person":
            return Blocked((Reason("Please say whether you accept these terms.", "answer_first"),))
        if said is None:
            said = {ACCEPTED: bool((view.me.script_for(stage) or {}).get("accept", True))}
        effects = () if said[ACCEPTED] else (End("declined", forgets=stage.delete_when_declined),)
        return Done(said, effects)

    def parts(self, stage: TermsOfServiceStage) -> Parts:
        return Parts(questions=_Terms(stage), data=_Accepted(), scripts=_TermsScripts())

    def example(self) -> TermsOfServiceStage:
        return TermsOfServiceStage(
            id="terms",
            name="Before you begin",
            lines=(
                "You talk with others about a night bus for ten minutes.",
                "What you write is kept without your name.",
            ),
            delete_when_declined=True,
        )


class _Terms(Questions):
    """A person's whole page; agents are asked nothing."""

    is_consent = True
    must_be_own = True

    def __init__(self, stage: TermsOfServiceStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        return []

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        return _Consent(self._stage) if ask.key == PAGE and view.me.player == "person" else None

    def most_replies(self) -> int:
        return 0


class _Consent(Question):
    def __init__(self, stage: TermsOfServiceStage) -> None:
        self._stage = stage

    @property
    def _box(self) -> str:
        is_usual = self._stage.box == USUAL_BOX
        return Label(USUAL_BOX, "i_agree") if is_usual else self._stage.box

    def form(self) -> Form:
        """The box must be ticked or declined, not left out."""
        return Form((Field(ACCEPTED, {"type": "boolean", **form.titled(self._box), "x-widget": "consent"}),))

    def task(self) -> str:
        return "Say whether you accept these terms."

    def reply_model(self) -> type[TermsReply]:
        return TermsReply

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump()

    def check(self, answer: Json) -> Json:
        try:
            return TermsReply.model_validate(answer).model_dump()
        except ValidationError as error:
            raise InvalidInput("Please accept the terms or decline them.", form.problems_of(error)) from error

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        return Substitute({ACCEPTED: False})


class _Accepted(Data):
    def columns(self) -> list[Column]:
        return [Column(ACCEPTED, Label("The terms were accepted", "terms_accepted"), "boolean")]


class _TermsScripts(Scripts):
    def problems(self, given: Mapping[str, Json] | None) -> list[Problem]:
        try:
            Script.model_validate({"accept": True, **(given or {})})
        except ValidationError as error:
            return form.problems_of(error)
        return []

    def page(self, view: OwnView, rng: Random) -> Json | None:
        """Completion says it, for agents alike."""
        return None


KIND = TermsOfService()
