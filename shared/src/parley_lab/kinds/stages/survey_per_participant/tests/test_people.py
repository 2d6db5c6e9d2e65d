"""Questions about each of the others."""

from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Blocked, Done, Member, OwnView, Question, Substitute, UnusableReply
from parley_lab.kinds.scripted import filled
from parley_lab.kinds.stages.survey_per_participant import KIND
from parley_lab.kinds.stages.survey_per_participant.asking import PeopleQuestions
from parley_lab.kinds.stages.survey_per_participant.config import SurveyPerParticipantStage
from parley_lab.kinds.stages.survey_per_participant.people import TAGS, PeopleDraws
from parley_lab.kinds.stages.survey_per_participant.reporting import PeopleData
from parley_lab.testing.views import lab, own


def member(number: int, name: str, player: Any = "agent") -> Member:
    return Member(UUID(int=number), f"c1/m{number}", "participant", player, Profile(name=name, avatar="🦊"))


ANA, BEN, CID = member(1, "Ana"), member(2, "Ben"), member(3, "Cid")
ALL = (ANA, BEN, CID)
DRAWS = {TAGS: {str(ANA.id): "p2", str(BEN.id): "p1", str(CID.id): "p3"}}
QUESTIONS = [
    {"id": "trust", "kind": "scale", "title": "Trust?", "lower": 0, "upper": 10},
    {"id": "again", "kind": "check", "title": "Again?"},
    {
        "id": "why",
        "kind": "text",
        "title": "Reason?",
        "show_if": {"question": "trust", "operator": "less_than", "value": 3},
    },
]
FITS = {"p1_trust": 0, "p1_again": False, "p1_why": "rude", "p3_trust": 7, "p3_again": True}


def stage(**fields: Any) -> SurveyPerParticipantStage:
    return SurveyPerParticipantStage.model_validate({"id": "others", "questions": QUESTIONS, **fields})


def view(*others: Member, me: Member = ANA, **fields: Any) -> OwnView:
    return own(me, *others, draws=DRAWS, **fields)


def question(asked: SurveyPerParticipantStage, seen: OwnView, key: str = PAGE) -> Question:
    found = PeopleQuestions(asked).question(seen, Ask(seen.me.id, key, "page"))
    assert found is not None
    return found


def test_zero_and_false_are_answers() -> None:
    assert question(stage(), view()).check(FITS) == FITS


def test_each_answers_about_all_others_and_about_oneself_where_the_stage_says_so() -> None:
    fields = [one.name for one in question(stage(), view(BEN, CID)).form().fields]
    with_self = [one.name for one in question(stage(include_self=True), view(BEN, CID)).form().fields]

    assert fields == ["p1_trust", "p1_again", "p1_why", "p3_trust", "p3_again", "p3_why"]
    assert [name for name in with_self if name not in fields] == ["p2_trust", "p2_again", "p2_why"]
    titles = [field.schema["title"] for field in question(stage(), view(BEN, CID)).form().fields]
    assert titles[0] == "Ben: Trust?"


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"p3_trust": 11}, "p3_trust"),
        ({"p3_trust": None}, "p3_trust"),
        ({"p3_why": "hidden"}, "p3_why"),
        ({"p1_why": None}, "p1_why"),
        ({"p2_trust": 5}, "p2_trust"),
        ({"p9_trust": 5}, "p9_trust"),
        ({"p1_mood": 5}, "p1_mood"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_person_and_question(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        question(stage(), view()).check({**FITS, **changes})

    assert where in {problem.where for problem in refused.value.problems}


def test_a_model_has_a_field_for_each_person_and_question_and_hidden_answers_do_not_count() -> None:
    asked = question(stage(), view(BEN, CID))
    schema = asked.reply_model().model_json_schema()
    reply = {**FITS, "p3_why": "never asked"}

    Draft202012Validator(schema).validate(reply)
    assert "About Ben" in schema["properties"]["p1_trust"]["description"]
    assert asked.check(asked.answer_from_reply(asked.reply_model().model_validate(reply))) == FITS


@pytest.mark.parametrize("how", ["sequential", "independent"])
def test_asked_about_each_alone_the_page_is_the_same(how: Any) -> None:
    asked, entries = stage(ask=how), dict[str, Any]()
    first = PeopleQuestions(asked).due(view())
    assert [one.key for one in first] == (["about:p1"] if how == "sequential" else ["about:p1", "about:p3"])
    while due := PeopleQuestions(asked).due(view(own=entries)):
        assert isinstance(KIND.completion(asked, view(own=entries)), Blocked)
        tag = due[0].key.removeprefix("about:")
        given = {name.removeprefix(f"{tag}_"): value for name, value in FITS.items() if name.startswith(tag)}
        prompt = KIND.prompt(asked, view(BEN, CID, own=entries), due[0])
        shows_earlier = any("Your answers about Ben" in block.text for block in prompt)
        assert shows_earlier is (how == "sequential" and bool(entries))
        entries[due[0].key] = question(asked, view(own=entries), due[0].key).check(given)

    assert KIND.completion(asked, view(own=entries)) == Done(FITS)
    lines = PeopleData(asked).answered(PAGE, FITS)
    assert PeopleData(asked).answered("about:p3", entries["about:p3"]) == lines[3:]


def test_what_fits_of_unusable_replies_is_person_by_person() -> None:
    parsed = {**FITS, "p3_trust": 99}

    found = question(stage(), view()).without_answer([UnusableReply("{}", parsed, "too large")])

    assert isinstance(found, Substitute)
    assert found.value == {**FITS, "p3_trust": None}
    assert set(found.missing or ()) == {"p3_trust"}
    assert question(stage(on_invalid="fail"), view()).without_answer([UnusableReply("{}", parsed, "x")]) == "drop"


def test_who_is_there_at_the_opening_is_asked_about_and_no_other() -> None:
    draws = PeopleDraws(stage())
    first = draws.draw([ANA, BEN], {}, Random(1))

    later = draws.draw([ANA, BEN, CID], first, Random(2))

    assert later == first
    assert sorted(first[TAGS].values()) == ["p1", "p2"]
    about = [one.tag for one in KIND.page(stage(), own(CID, ANA, BEN, draws=later)).people]
    assert about == ["p1", "p2"]


def test_who_is_alone_goes_on() -> None:
    alone = own(ANA, draws={TAGS: {str(ANA.id): "p1"}})

    assert KIND.completion(stage(), alone) == Done({})
    assert PeopleQuestions(stage()).due(alone) == []


def test_an_answer_about_someone_who_has_left_stays() -> None:
    gone = replace(BEN, present=False)
    given = {(ANA.id, PAGE): FITS}

    rows = PeopleData(stage()).table
    assert rows is not None
    found = rows.rows(lab(ANA, gone, CID, given=given, draws=DRAWS))

    assert {(row["participant"], row["about"]) for row in found} == {("c1/m1", "c1/m2"), ("c1/m1", "c1/m3")}
    assert [row["value"] for row in found] == [0, False, "rude", 7, True]
    assert "Your answers about Ben:" in KIND.prompt(stage(), view(gone, CID, own={PAGE: FITS}))[0].text


def test_a_stage_that_waits_for_no_one_is_refused() -> None:
    def problems(**progress: Any) -> list[str]:
        return [one.where for one in KIND.problems(stage(progress=progress), [])]

    assert problems(wait_for_all=False) == ["progress"]
    assert problems(wait_for_all=False, min_participants=3) == problems() == []


def test_a_script_says_the_same_about_everybody_and_draws_the_rest() -> None:
    scripts = KIND.parts(stage()).scripts
    assert scripts is not None
    me = replace(ANA, player="script", script={"others": {"answers": {"trust": 1, "why": "so"}}})

    page = scripts.page(view(me=me), Random(1))

    assert page is not None
    assert {page[name] for name in ("p1_trust", "p3_trust")} == {1}
    assert {page[name] for name in ("p1_why", "p3_why")} == {"so"}
    assert [one.where for one in scripts.problems({"answers": {"trust": 11, "x": 1}})] == ["answers.trust", "answers.x"]


@pytest.mark.parametrize("seed", range(20))
def test_a_form_of_all_is_taken_whatever_its_rules_say(seed: int) -> None:
    asked = question(stage(include_self=True), view(BEN, CID))

    given = filled(asked.form(), Random(seed))

    assert {name: value for name, value in asked.check(given).items() if name in given} == given
