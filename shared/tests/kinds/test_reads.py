"""What a stage reads of earlier ones: whose part a view holds, and what a file may name."""

from typing import Any
from uuid import UUID, uuid5

import pytest

from parley_lab.contracts.experiment import Profile, StageConfig
from parley_lab.design import sequences
from parley_lab.kinds import PAGE, Column, Data, Json, Parts
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.reads import Read, Use
from parley_lab.kinds.stages import parts_of, read_stage
from parley_lab.views import builder as views
from parley_lab.views.builder import Facts, People, lab_view, own_view, resulted

SPACE = UUID(int=9)
WAY = ("quiz", "vote", "sum")
OPTIONS = [{"id": "yes", "text": "Yes"}, {"id": "no", "text": "No"}]
QUIZ = read_stage(
    {
        "kind": "survey",
        "id": "quiz",
        "questions": [
            {"kind": "choice", "id": "right", "title": "Is it?", "options": OPTIONS, "correct": "yes"},
            {"kind": "number", "id": "age", "title": "How old?"},
        ],
    }
)
VOTE = read_stage({"kind": "info", "id": "vote", "lines": ["Vote."]})
SUM = read_stage({"kind": "info", "id": "sum", "lines": ["Sum."]})


class Elected(Data):
    def group_columns(self) -> list[Column]:
        return [Column("winner", "Who won", "member")]


@pytest.fixture(autouse=True)
def a_stage_that_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {
        "vote": Parts(data=Elected(), result=lambda view: {"winner": str(max(view.answers)), "of": len(view.answers)}),
        "sum": Parts(
            reads=(
                Read("quiz", where="quiz", uses=(Use("right", "of", "scored"),)),
                Read("vote", everybody=True, where="vote", uses=(Use("winner", "who", "member"),)),
            )
        ),
    }

    def parts(stage: StageConfig) -> Parts:
        return made.get(stage.id) or parts_of(stage)

    monkeypatch.setattr(views, "parts_of", parts)
    monkeypatch.setattr(sequences, "parts_of", parts)


def row(name: str, kind: str = "participant") -> Attendee:
    return Attendee(
        id=uuid5(SPACE, name),
        path=f"c1/{name}",
        kind=kind,
        player="agent",
        status="in_progress",
        stage_ids=WAY,
        position=2,
        profile=Profile(name=name).model_dump(),
    )


ANA, BEN, MO = row("ana"), row("ben"), row("mo", "mediator")


def facts(**changes: Any) -> Facts:
    pages: dict[str, dict[UUID, dict[str, Json]]] = {
        "quiz": {BEN.id: {PAGE: {"right": "no"}}, ANA.id: {PAGE: {"right": "yes", "age": None}}},
        "vote": {BEN.id: {PAGE: {}}, ANA.id: {PAGE: {}}},
    }
    known: dict[str, Any] = {
        "people": People((ANA, BEN, MO)),
        "answers": pages,
        "stages": {one.id: one for one in (QUIZ, VOTE, SUM)},
        "results": {"vote": {"winner": str(BEN.id), "of": 2}},
        "whole": WAY,
    }
    return Facts(**{**known, **changes})


def test_a_reader_has_its_own_part_and_no_others() -> None:
    read = own_view(facts(), SUM, ANA.id).reads["quiz"]

    assert read.own is not None
    assert (read.own.cells["right"], read.own.cells["right.correct"]) == ("yes", True)
    assert "age" not in read.own.cells
    assert (read.members, read.group, read.label("right"), read.is_completed) == ({}, {}, "Is it?", True)


def test_a_reader_of_everybody_has_all_parts_by_seat_and_the_result() -> None:
    read = own_view(facts(), SUM, ANA.id).reads["vote"]

    assert list(read.members) == [ANA.id, BEN.id]
    assert read.group == {"winner": str(BEN.id)}


def test_a_stage_that_does_not_read_knows_no_result() -> None:
    assert own_view(facts(), VOTE, ANA.id).reads == {}
    assert not hasattr(own_view(facts(), VOTE, ANA.id), "result")


def test_a_mediator_reads_no_parts() -> None:
    assert own_view(facts(), SUM, MO.id).reads == {}


def test_who_has_no_page_has_no_part() -> None:
    read = own_view(facts(answers={}, results={}), SUM, ANA.id).reads

    assert (read["quiz"].own, read["vote"].members, read["vote"].group) == (None, {}, {})


def test_the_lab_reads_everybody_and_makes_the_result_of_all_answers() -> None:
    assert list(lab_view(facts(), SUM).reads["quiz"].members) == [ANA.id, BEN.id]
    assert resulted(VOTE, lab_view(facts(), VOTE)) == {"winner": str(max(ANA.id, BEN.id)), "of": 2}
    assert resulted(QUIZ, lab_view(facts(), QUIZ)) is None


@pytest.mark.parametrize(
    ("earlier", "where"),
    [((QUIZ, VOTE), set()), ((VOTE,), {"quiz"}), ((QUIZ,), {"vote"}), ((), {"quiz", "vote"})],
)
def test_a_stage_that_is_not_earlier_cannot_be_read(earlier: tuple[StageConfig, ...], where: set[str]) -> None:
    assert {problem.where for problem in sequences._bad_reads(SUM, earlier)} == where


def test_a_column_that_is_not_there_is_told_at_its_place() -> None:
    quiz = QUIZ.model_copy(update={"questions": QUIZ.model_dump()["questions"][1:]})
    again = read_stage(quiz.model_dump(mode="json", warnings=False))

    (found,) = sequences._bad_reads(SUM, (again, VOTE))

    assert (found.where, found.found) == ("of", "'right'")
    assert "a question with a right answer, of which this stage has none" in found.expected
