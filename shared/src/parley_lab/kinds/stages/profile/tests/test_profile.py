"""How the others know a participant."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.languages import NameLanguage
from parley_lab.kinds import PAGE, Ask, Blocked, Done, Json, Member, Question, UnusableReply
from parley_lab.kinds.effects import SetProfile
from parley_lab.kinds.stages.profile import KIND
from parley_lab.kinds.stages.profile.config import ProfileStage, Set
from parley_lab.kinds.stages.profile.rules import NameDraws, profile_of
from parley_lab.kinds.stages.profile.sets import AVATARS, SETS
from parley_lab.testing.views import own
from parley_lab.views.playing import drawn

PIA = Member(UUID(int=1), "c1/m1", "participant", "person", Profile(name="Pia", pronouns="she/her"))
FREE = ProfileStage(id="who")
GENDERED = ProfileStage(id="who", set="gendered")


def seat(path: str) -> Member:
    return Member(UUID(int=hash(path) % 2**64), path, "participant", "agent", Profile(name=path))


def question_of(stage: ProfileStage, me: Member = PIA) -> Question:
    questions = KIND.parts(stage).questions
    assert questions is not None
    found = questions.question(own(me), Ask(me.id, PAGE, "profile"))
    assert found is not None
    return found


@pytest.mark.parametrize("language", get_args(NameLanguage))
def test_sets_have_names_and_emoji_of_their_own(language: NameLanguage) -> None:
    assert {name: len(entries) for name, entries in SETS[language].items()} == {
        "animals": 40,
        "more_animals": 40,
        "nature": 40,
        "numbers": 99,
    }
    named = [entry for name, entries in SETS[language].items() if name != "numbers" for entry in entries]
    assert {len(entry.split(" ")) for entry in named} == {2}
    assert len({entry.split(" ")[0] for entry in named}) == len({entry.split(" ")[1] for entry in named}) == 120
    assert len(set(AVATARS)) == 15


def test_names_are_drawn_in_the_language_of_the_file() -> None:
    members = [seat(f"c1/m{number}") for number in range(1, 81)]

    def names(set_name: Set, language: str | None) -> list[Profile | None]:
        stage = ProfileStage(id="who", set=set_name)
        draws = drawn(stage, seed=3, cohort_name="c1", arrived=members, language=language)
        return [profile_of(set_name, draws, one.path) for one in members]

    english, german = names("animals", None), names("animals", "de-AT")

    assert [one.avatar for one in english if one] == [one.avatar for one in german if one]
    assert dict(zip(said(english), said(german), strict=True)).items() >= {("Goose", "Gans"), ("Fox 2", "Fuchs 2")}
    assert said(names("animals", "de")) == said(names("animals", "DE-ch")) == said(german)
    assert said(names("animals", "fr")) == said(names("animals", "english")) == said(english)
    assert {one.rpartition(" ")[0] for one in said(names("numbers", "de"))} == {"Person"}


def said(profiles: list[Profile | None]) -> list[str]:
    return [one.name for one in profiles if one is not None]


def test_who_comes_where_names_were_drawn_before_in_english_gets_one_of_those() -> None:
    stage = ProfileStage(id="who", set="animals")
    first = NameDraws("animals").draw([seat("c1/m1")], {}, Random(1))

    later = drawn(stage, seed=1, cohort_name="c1", arrived=[seat("c1/m1"), seat("c1/m2")], before=first, language="de")

    in_english = {entry.partition(" ")[2] for entry in SETS["en"]["animals"]}
    assert {one.name for path in ("c1/m1", "c1/m2") if (one := profile_of("animals", later, path))} <= in_english


@given(st.sampled_from(sorted(SETS["en"])), st.integers(1, 130), st.integers(0, 10**6), st.randoms())
def test_names_do_not_repeat_and_do_not_depend_on_who_comes_first(
    name: str, count: int, seed: int, order: Random
) -> None:
    members = [seat(f"c1/m{number}") for number in range(1, 1 + count)]
    come = [*members]
    order.shuffle(come)
    some = sorted(come[: count // 2], key=members.index)
    draws = NameDraws(name)

    at_once = draws.draw(members, {}, Random(seed))
    in_parts = draws.draw(
        members, draws.draw(some, {}, Random(seed)) if some else {}, Random(seed + 1 if some else seed)
    )

    names = [profile_of(name, at_once, one.path) for one in members]
    assert names == [profile_of(name, in_parts, one.path) for one in members]
    assert len({one.name for one in names if one is not None}) == count
    assert {one.pronouns for one in names if one is not None} == {""}


def test_after_the_last_name_of_a_set_comes_its_second_round() -> None:
    members = [seat(f"c1/m{number}") for number in range(1, 82)]
    draws = NameDraws("animals").draw(members, {}, Random(1))

    first, second, third = (profile_of("animals", draws, f"c1/m{number}") for number in (1, 41, 81))

    assert first is not None
    assert second == replace_name(first, f"{first.name} 2")
    assert third == replace_name(first, f"{first.name} 3")


def replace_name(profile: Profile, name: str) -> Profile:
    return profile.model_copy(update={"name": name})


def test_someone_from_another_cohort_gets_a_name_that_no_one_here_has() -> None:
    draws = NameDraws("animals")
    first = draws.draw([seat("c1/m1"), seat("c1/m2")], {}, Random(1))

    later = draws.draw([seat("c1/m1"), seat("c1/m2"), seat("c2/m1"), seat("c1/m3")], first, Random(2))

    names = [profile_of("animals", later, path) for path in ("c1/m1", "c1/m2", "c2/m1", "c1/m3")]
    assert len({one.name for one in names if one is not None}) == 4


def test_what_is_drawn_is_set_when_the_member_goes_on() -> None:
    stage = ProfileStage(id="who", set="animals")
    draws = NameDraws("animals").draw([PIA], {}, Random(3))

    done = KIND.completion(stage, own(PIA, draws=draws))

    assert isinstance(done, Done)
    assert done.page is not None
    assert done.effects == (SetProfile(Profile(**done.page), is_drawn=True),)
    assert isinstance(KIND.completion(stage, own(PIA)), Blocked)
    assert KIND.page(stage, own(PIA, draws=draws)).name == done.page["name"]
    assert done.page["name"] in KIND.prompt(stage, own(PIA, draws=draws))[0].text


def test_what_is_chosen_is_set_when_the_member_goes_on() -> None:
    page = {"name": "Kim", "avatar": "🦊", "pronouns": "they/them"}

    assert isinstance(KIND.completion(FREE, own(PIA)), Blocked)
    assert KIND.completion(FREE, own(PIA, own={PAGE: page})) == Done(page, (SetProfile(Profile(**page)),))


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        ({}, "name"),
        ({"name": "   "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "Kim", "avatar": "x" * 33}, "avatar"),
        ({"name": "Kim", "pronouns": 3}, "pronouns"),
        ({"name": "Kim", "age": 3}, "age"),
        ("Kim", ""),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused_at_its_field(answer: Json, where: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        question_of(FREE).check(answer)

    assert where in {problem.where for problem in refused.value.problems}


def test_an_avatar_is_one_of_the_set() -> None:
    question = question_of(GENDERED)

    assert question.check({"name": " Kim ", "avatar": AVATARS[3]}) == {
        "name": "Kim",
        "avatar": AVATARS[3],
        "pronouns": "",
    }
    with pytest.raises(InvalidInput):
        question.check({"name": "Kim", "avatar": "🦊"})
    with pytest.raises(InvalidInput):
        question.check({"name": "Kim"})


def test_an_agent_without_a_usable_reply_stays_known_as_it_is() -> None:
    instead = question_of(GENDERED).without_answer([UnusableReply("Well.", None, "no object")])

    assert instead != "drop"
    assert instead.value == PIA.profile.model_dump()


@pytest.mark.parametrize(
    ("script", "problems"),
    [
        ({"answers": {"name": "Kim"}}, 0),
        ({"policy": "random"}, 0),
        ({}, 1),
        ({"answers": {"name": ""}}, 1),
        ({"answers": {"avatar": "🦊"}}, 1),
        ({"answers": {"age": 3}}, 1),
        ({"policy": "level_1"}, 1),
    ],
)
def test_a_script_is_checked_with_the_file(script: Mapping[str, Json], problems: int) -> None:
    scripts = KIND.parts(GENDERED).scripts
    assert scripts is not None

    assert len(scripts.problems(script)) == problems


def test_a_script_chooses_what_it_says_and_draws_the_rest() -> None:
    scripts = KIND.parts(GENDERED).scripts
    assert scripts is not None
    me = replace(PIA, player="script", script={"profile": {"answers": {"name": "Kim"}}})

    page = scripts.page(own(me), Random(1))

    assert page is not None
    assert (page["name"], page["avatar"] in AVATARS) == ("Kim", True)
    assert scripts.page(own(PIA), Random(1)) is None
