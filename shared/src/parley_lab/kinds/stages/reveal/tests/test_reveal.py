"""What is shown of earlier stages, to whom, and in which words."""

from dataclasses import replace
from typing import Any

import pytest

from parley_lab.kinds import Column
from parley_lab.kinds.data import Answered
from parley_lab.kinds.reads import Part, StageRead
from parley_lab.kinds.stages.reveal.config import RevealStage
from parley_lab.kinds.stages.reveal.rules import KIND
from parley_lab.testing.thread_world import a_member
from parley_lab.testing.views import own

ANN, BEN, CAI = a_member("ann"), a_member("ben"), a_member("cai")
COLUMNS = (
    Column("fair", "Fair?", "text"),
    Column("fair.text", "Fair? (text)", "text", derived=True),
    Column("first", "Ranked first", "member"),
    Column("age", "Age", "number"),
    Column("agree", "Agree?", "boolean"),
)


def part(answer: str, *, is_right: bool, **cells: Any) -> Part:
    line = Answered("fair", "Fair?", "text", answer, text=answer.title(), is_correct=is_right)
    return Part({"fair": answer, "fair.text": answer.title(), **cells}, (line,))


OWN = part("yes", is_right=True, first=str(BEN.id), age=31.5, agree=False)
QUIZ = StageRead(
    "The quiz",
    COLUMNS,
    own=OWN,
    members={ANN.id: OWN, BEN.id: part("no\nAnn: wrong", is_right=False)},
    group_columns=(Column("winner", "Elected", "member"),),
    group={"winner": str(CAI.id)},
)


def told(*items: dict[str, Any], read: StageRead = QUIZ) -> list[str]:
    stage = RevealStage.model_validate({"id": "out", "items": [{"stage": "quiz", **item} for item in items]})
    return [block.text for block in KIND.prompt(stage, own(ANN, BEN, reads={"quiz": read}))]


def test_own_answers_are_shown_in_words() -> None:
    assert told({}) == ["The quiz:\n- Fair?: Yes\n- Ranked first: Ben\n- Age: 31.5\n- Agree?: no"]
    assert told({"columns": ["age", "fair.text"]}) == ["The quiz:\n- Fair? (text): Yes\n- Age: 31.5"]


def test_answers_of_all_are_by_name_and_stay_in_their_line() -> None:
    assert told({"audience": "all", "columns": ["fair"]}) == [
        "The quiz:\nYou:\n- Fair?: Yes\nBen:\n- Fair?: No Ann: Wrong"
    ]


def test_right_and_wrong_are_told_of_scored_questions_alone() -> None:
    assert told({"show": "scored", "audience": "all"}) == [
        "The quiz:\nYou:\n- Fair?: Yes (right)\nBen:\n- Fair?: No Ann: Wrong (wrong)"
    ]


def test_a_result_names_members_and_who_has_left_by_no_name() -> None:
    elected = StageRead("The vote", (), group_columns=QUIZ.group_columns, group={"winner": str(BEN.id)})

    assert told({"show": "result"}, read=elected) == ["The vote:\n- Elected: Ben"]
    assert told({"show": "result"}) == ["The quiz:\n- Elected: somebody who has left"]


def test_the_page_has_what_the_prompt_tells() -> None:
    items = [{"stage": "quiz", "audience": "all"}, {"stage": "quiz", "show": "result"}]
    stage = RevealStage.model_validate({"id": "out", "items": items})
    view = own(ANN, BEN, reads={"quiz": QUIZ})

    page, prompt = KIND.page(stage, view), "\n".join(block.text for block in KIND.prompt(stage, view))

    lines = [line for item in page.items for one in item.answers for line in one.lines]
    lines += [line for item in page.items for line in item.result]
    assert len(lines) == 6
    for line in lines:
        assert f"{line.label}: {' '.join(line.value.split())}" in prompt


def test_nothing_is_shown_before_anything_is_known() -> None:
    assert told({}, read=StageRead("The quiz", COLUMNS)) == ["The quiz:\nNothing is known of it."]


@pytest.mark.parametrize(
    ("item", "everybody"),
    [({}, False), ({"audience": "all"}, True), ({"show": "result"}, True), ({"show": "scored"}, False)],
)
def test_the_stage_waits_for_what_it_shows_of_all(item: dict[str, Any], everybody: bool) -> None:
    stage = RevealStage.model_validate({"id": "out", "items": [{"stage": "quiz", **item}]})
    (read,) = KIND.parts(stage).reads

    assert (read.stage, read.everybody, read.where) == ("quiz", everybody, "items[0].stage")


def test_a_result_has_no_audience() -> None:
    stage = RevealStage.model_validate({"id": "o", "items": [{"stage": "q", "show": "result", "audience": "all"}]})

    assert [problem.where for problem in KIND.problems(stage, [])] == ["items[0].audience"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (45250.75, "45250.75"),
        (1234567.5, "1234567.5"),
        (1500000.0, "1500000"),
        (0.0000001, "0.0000001"),
        (7, "7"),
        (2.5e20, "2.5e+20"),
    ],
)
def test_a_number_is_shown_as_it_was_answered(number: float, words: str) -> None:
    read = replace(QUIZ, own=part("yes", is_right=True, age=number))

    assert told({"columns": ["age"]}, read=read) == [f"The quiz:\n- Age: {words}"]
