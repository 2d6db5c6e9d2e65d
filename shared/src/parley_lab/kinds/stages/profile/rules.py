"""The rules of profiles: chosen on the page, or drawn; set when the member goes on."""

from collections.abc import Mapping
from typing import Final, Literal

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import (
    PAGE,
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Json,
    Label,
    OwnView,
    PageContent,
    Parts,
    Reason,
    SetProfile,
    StageKind,
    heading,
)
from parley_lab.kinds.stages.profile.choosing import ProfileQuestions, ProfileScripts
from parley_lab.kinds.stages.profile.config import ProfileStage, Set
from parley_lab.kinds.stages.profile.drawing import NameDraws, profile_of
from parley_lab.kinds.stages.profile.sets import AVATARS

_COLUMNS: Final = (
    Column("name", Label("Name", "name"), "text"),
    Column("avatar", Label("Avatar", "avatar"), "text"),
    Column("pronouns", Label("Pronouns", "pronouns"), "text"),
)


class ProfilePage(PageContent):
    kind: Literal["profile"] = "profile"
    set: Set
    avatars: list[str]
    """What to choose the avatar from; empty where any is allowed, and where the profile is drawn."""
    name: str
    """How the others know the reader from here on; as before, as long as the reader has not chosen."""
    avatar: str
    pronouns: str


class ProfileKind(StageKind[ProfileStage]):
    config_model = ProfileStage

    def page(self, stage: ProfileStage, view: OwnView) -> ProfilePage:
        found = _profile(stage, view)
        shown = view.me.profile if found is None else _as_known(found, view)
        avatars = list(AVATARS) if stage.set == "gendered" else []
        return ProfilePage(**heading(stage), set=stage.set, avatars=avatars, **shown.model_dump())

    def prompt(self, stage: ProfileStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        if view.me.kind == "mediator":
            how = "chose" if stage.is_chosen else "were given"
            return [Block(f"Here participants {how} the names by which they are known from then on.")]
        found = _profile(stage, view)
        if found is not None:
            return [Block(f"From here on the others know you as: {in_words(_as_known(found, view))}.")]
        if ask is None:
            return [Block(f"The others know you as: {in_words(view.me.profile)}.")]
        choice = f" Choose the avatar from: {' '.join(AVATARS)}" if stage.set == "gendered" else ""
        return [Block(f"Until now the others know you as: {in_words(view.me.profile)}.{choice}")]

    def completion(self, stage: ProfileStage, view: OwnView) -> Completion:
        """What is drawn is known as soon as the stage is open for the member."""
        found = _profile(stage, view)
        if found is None:
            chosen = Reason("Please choose how the others will know you.", "answer_first")
            drawn = Reason("Your name is being drawn.", "being_drawn")
            return Blocked((chosen if stage.is_chosen else drawn,))
        return Done(found.model_dump(), (SetProfile(found, is_drawn=not stage.is_chosen),))

    def parts(self, stage: ProfileStage) -> Parts:
        if not stage.is_chosen:
            return Parts(draws=NameDraws(stage.set), is_each_alone=True, data=_ProfileData())
        questions, scripts = ProfileQuestions(stage), ProfileScripts(stage)
        return Parts(questions=questions, is_each_alone=True, data=_ProfileData(), scripts=scripts)

    def example(self) -> ProfileStage:
        return ProfileStage(id="who", name="How the others will know you", set="gendered")


class _ProfileData(Data):
    def columns(self) -> list[Column]:
        return list(_COLUMNS)


def _profile(stage: ProfileStage, view: OwnView) -> Profile | None:
    """What was chosen or drawn for the reader; None before."""
    chosen: Mapping[str, Json] | None = view.own.get(PAGE)
    if chosen is not None:
        return Profile(**chosen)
    return None if stage.is_chosen else profile_of(stage.set, view.draws, view.me.path)


def _as_known(found: Profile, view: OwnView) -> Profile:
    """The profile with the name by which the others know the reader: with a number, where another one has it, too."""
    known = view.me.profile.name
    is_numbered = known.startswith(f"{found.name} ") and known[len(found.name) + 1 :].strip("()").isdigit()
    return found.model_copy(update={"name": known}) if is_numbered else found


def in_words(profile: Profile) -> str:
    name = f"{profile.avatar} {profile.name}".strip()
    return f"{name} ({profile.pronouns})" if profile.pronouns else name


KIND = ProfileKind()
