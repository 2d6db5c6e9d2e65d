"""Titles of questions written in parts, of which some are for some readers alone."""

from random import Random
from typing import Any
from uuid import UUID

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Member, OwnView
from parley_lab.kinds.questions.own_order import OrderDraws
from parley_lab.kinds.stages import read_stage
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

ADA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ada"))
TITLE = ["Which one?", {"text": "You are the buyer.", "for": "buyer"}]
TASKS = {"attributes": {"price": [1, 2], "colour": ["red", "green"]}, "tasks": 2}
OPTIONS = [{"id": "a", "text": "{{row.a}}"}, {"id": "b", "text": "{{row.b}}"}]
CHOOSE: dict[str, Any] = {"kind": "choice", "id": "choose", "title": TITLE, "options": OPTIONS}
DESCRIPTION = ["For all.", {"text": "For buyers.", "for": "buyer"}]


def survey(question: dict[str, Any], *, roles: list[str] | None, **fields: Any) -> SurveyStage:
    found = read_stage({"kind": "survey", "id": "page", "questions": [question], **fields}, roles=roles)
    assert isinstance(found, SurveyStage)
    return found


def view() -> OwnView:
    return own(ADA, draws=OrderDraws().draw([], {}, Random(3)))


def titles(stage: SurveyStage) -> list[str]:
    return [one.title for one in KIND.page(stage, view()).questions]


def test_a_page_shows_a_title_in_paragraphs_as_one_text() -> None:
    stage = survey({"kind": "text", "id": "why", "title": ["Why?", "In a few words."]}, roles=None)

    assert titles(stage) == ["Why?\n\nIn a few words."]


def test_tasks_of_profiles_keep_the_parts_of_their_reader() -> None:
    to_buyers, to_others = (survey(CHOOSE, roles=roles, rows=TASKS) for roles in (["buyer"], []))

    assert titles(to_buyers) == ["Which one?\n\nYou are the buyer."] * 2
    assert titles(to_others) == ["Which one?"] * 2


def test_an_agent_reads_its_part_in_the_tasks_of_profiles() -> None:
    stage = survey(CHOOSE, roles=["buyer"], rows=TASKS)

    prompt = KIND.prompt(stage, view(), Ask(ADA.id, PAGE, "page"))

    assert "".join(block.text for block in prompt).count("You are the buyer.") == 2


def test_tasks_of_profiles_without_a_reader_show_the_parts_for_all_and_keep_the_others() -> None:
    stage = survey(CHOOSE, roles=None, rows=TASKS, description=DESCRIPTION)

    made = stage.with_items([{"id": "1", "a": "x", "b": "y"}])

    assert [one.title for one in made.questions] == ["Which one?"]
    assert made.model_dump()["description"] == DESCRIPTION
    assert made.model_dump()["questions"] == stage.model_dump()["questions"]


def test_tasks_of_profiles_stay_those_of_a_reader() -> None:
    stage = survey(CHOOSE, roles=["buyer"], rows=TASKS).of_reader()

    assert stage.with_items([{"id": "1", "a": "x", "b": "y"}]).is_of_reader
