"""What is asked of those who choose their profile, in a form or by a call, and by which script they choose it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ValidationError, create_model
from pydantic import Field as Bounds

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.replies import Reply, text
from parley_lab.contracts.experiment import seen_or_empty
from parley_lab.contracts.models import HINT_SUGGESTED, Hint
from parley_lab.kinds import (
    PAGE,
    Ask,
    Field,
    Form,
    Json,
    Label,
    OwnView,
    Question,
    Questions,
    Substitute,
    UnusableReply,
    form,
)
from parley_lab.kinds.scripted import PageScripts, fixed_answers, suggested
from parley_lab.kinds.stages.profile.config import ProfileStage
from parley_lab.kinds.stages.profile.sets import AVATARS

LONGEST_NAME: Final = 100
LONGEST_AVATAR: Final = 32
LONGEST_PRONOUNS: Final = 40
_DEFAULT_AVATAR: Final = "🙂"
_TASK: Final = (
    "Choose how the others will know you, as the person you are: a first name, one emoji as your avatar, and your "
    "pronouns (empty if you would rather not say)."
)


@lru_cache
def profile_reply(set_name: str) -> type[Reply]:
    """The shape of a profile; the avatar is one of the set, where it has one."""
    of_set: Any = Literal[AVATARS]
    first_name = Bounds(min_length=1, max_length=LONGEST_NAME, description="A first name, nothing else.")
    avatar = of_set if set_name == "gendered" else text(Bounds(max_length=LONGEST_AVATAR, description="One emoji."))
    fields: dict[str, Any] = {
        "name": (Annotated[text(first_name), AfterValidator(seen_or_empty)], ...),
        "avatar": (avatar, ...),
        "pronouns": (text(Bounds(max_length=LONGEST_PRONOUNS, description="Such as she/her; may be empty.")), ...),
    }
    return create_model("ProfileReply", __base__=Reply, **fields)


class ProfileQuestions(Questions):
    def __init__(self, stage: ProfileStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        me = view.me
        is_asked = me.kind == "participant" and me.player == "agent" and me.present and PAGE not in view.own
        return [Ask(me.id, PAGE, "profile")] if is_asked else []

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        return ChosenProfile(self._stage, view) if ask.key == PAGE else None

    def most_replies(self) -> int:
        return 1


_AVATAR: Final = Label("Avatar", "avatar")


class ChosenProfile(Question):
    counts_unsent = True

    def __init__(self, stage: ProfileStage, view: OwnView) -> None:
        self._stage = stage
        self._me = view.me

    def form(self) -> Form:
        """With the member's present profile as the initial values."""
        known = self._me.profile
        if self._stage.set == "gendered":
            tiles = {**form.choice(_AVATAR, {one: one for one in AVATARS}), "x-widget": "tiles"}
            avatar = Field("avatar", tiles)
        else:
            own = {**form.text(_AVATAR, most=LONGEST_AVATAR), "default": known.avatar}
            avatar = Field("avatar", own, is_required=False)
        name = {**form.text(Label("Name", "name"), least=1, most=LONGEST_NAME), "default": known.name}
        pronouns = {**form.text(Label("Pronouns", "pronouns"), most=LONGEST_PRONOUNS), "default": known.pronouns}
        return Form((Field("name", name), avatar, Field("pronouns", pronouns, is_required=False)))

    def task(self) -> str:
        return _TASK

    def reply_model(self) -> type[Reply]:
        return profile_reply(self._stage.set)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump()

    def check(self, answer: Json) -> Json:
        """Spaces around a value do not count."""
        if isinstance(answer, Mapping):
            said = {name: value.strip() if isinstance(value, str) else value for name, value in answer.items()}
            answer = {"pronouns": "", **({} if self._stage.set == "gendered" else {"avatar": ""}), **said}
        try:
            return self.reply_model().model_validate(answer).model_dump()
        except ValidationError as error:
            raise InvalidInput("This profile cannot be used.", form.problems_of(error)) from error

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        """The member stays known as it is."""
        return Substitute(self._me.profile.model_dump())

    def written(self, answer: Json) -> str:
        return f"{answer['name']} {answer['pronouns']}".strip()

    def hints(self) -> Mapping[str, Hint]:
        """The mock keeps the name that it has."""
        known = self._me.profile.model_dump()
        avatar = known["avatar"] if self._stage.set != "gendered" or known["avatar"] in AVATARS else ""
        given = {**known, "avatar": avatar or _DEFAULT_AVATAR, **fixed_answers(self._stage, self._me)}
        return {f"{HINT_SUGGESTED}pronouns": "", **suggested(given)}


class ProfileScripts(PageScripts):
    def __init__(self, stage: ProfileStage) -> None:
        super().__init__(stage)
        self._stage: ProfileStage = stage

    def question(self, view: OwnView) -> Question:
        return ChosenProfile(self._stage, view)

    def problems_of(self, name: str, answer: Json) -> Iterator[Problem]:
        known = profile_reply(self._stage.set).model_fields
        if name not in known:
            yield Problem("", "an answer", f"one of {', '.join(known)}")
            return
        example = {"name": "Ana", "avatar": AVATARS[0], "pronouns": "", name: answer}
        try:
            profile_reply(self._stage.set).model_validate(example)
        except ValidationError as error:
            yield from (replace(one, where="") for one in form.problems_of(error))
