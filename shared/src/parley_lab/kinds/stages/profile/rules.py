"""The rules of profiles: chosen on the page, or drawn; set when the member goes on."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final, Literal

from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.languages import ENGLISH, NameLanguage
from parley_lab.kinds import (
    PAGE,
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Draws,
    Json,
    Label,
    Member,
    OwnView,
    PageContent,
    Parts,
    Reason,
    StageKind,
    heading,
)
from parley_lab.kinds.effects import SetProfile
from parley_lab.kinds.stages.profile.choosing import ProfileQuestions, ProfileScripts
from parley_lab.kinds.stages.profile.config import ProfileStage, Set
from parley_lab.kinds.stages.profile.sets import AVATARS, SETS, anonymous
from parley_lab.kinds.view import first_seat

_ORDER: Final = "order"
_PLACES: Final = "places"
"""The key of the draws of one set, before members of a cohort could have different ones."""
_LANGUAGE: Final = "language"
"""Of all sets; not there: English."""
_COLUMNS: Final = (
    Column("name", Label("Name", "name"), "text"),
    Column("avatar", Label("Avatar", "avatar"), "text"),
    Column("pronouns", Label("Pronouns", "pronouns"), "text"),
)


class ProfilePage(PageContent):
    kind: Literal["profile"] = "profile"
    set: Set
    avatars: list[str]
    """The avatars to choose from; empty where any is allowed, and where the profile is drawn."""
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
    """The profile that was chosen or drawn for the reader; None before."""
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


class NameDraws(Draws):
    """The order of the set, and the place of each member in it: the place of the seat, in any order of arrival."""

    def __init__(self, set_name: str) -> None:
        self._set = set_name

    def beginning(self, rng: Random, language: NameLanguage) -> dict[str, Json]:
        return {} if language == ENGLISH else {_LANGUAGE: language}

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        """A member from another cohort whose place is taken here gets the next free one."""
        known = drawn.get(self._set, drawn)
        numbers = range(len(SETS[ENGLISH][self._set]))
        order = known.get(_ORDER) or rng.sample(numbers, len(numbers))
        places: dict[str, int] = dict(known.get(_PLACES, {}))
        taken = set(places.values())
        for one in members:
            if one.path not in places:
                of_seat = int(first_seat(one.path).rpartition("/m")[2]) - 1
                places[one.path] = of_seat if of_seat not in taken else max(taken) + 1
                taken.add(places[one.path])
        return {**drawn, self._set: {_ORDER: order, _PLACES: places}}


def profile_of(set_name: str, draws: Mapping[str, Any], path: str) -> Profile | None:
    """What was drawn for this member; None before it was."""
    of_set = draws.get(set_name, draws)
    place = of_set.get(_PLACES, {}).get(path)
    if place is None:
        return None
    entries = SETS[draws.get(_LANGUAGE, ENGLISH)][set_name]
    return anonymous(entries[of_set[_ORDER][place % len(entries)]], place // len(entries))


KIND = ProfileKind()
