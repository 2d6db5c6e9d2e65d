"""What a person, an agent and a script are shown of earlier stages, and when."""

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import validate
from parley_lab.store.session import Database
from tests.flows.playing import a_cast, playing

pytestmark = pytest.mark.postgres

CHOICE = {"kind": "choice", "options": [{"id": "s", "text": "Sydney"}, {"id": "c", "text": "Canberra"}]}
QUIZ = {"id": "quiz", "kind": "survey", "questions": [{"id": "capital", "title": "Capital?", "correct": "c", **CHOICE}]}
VOTE = {
    "id": "vote",
    "kind": "ranking",
    "rank": "items",
    "items": [{"id": "bus", "text": "Buses"}, {"id": "tram", "text": "Trams"}],
}
OUT = {
    "id": "out",
    "kind": "reveal",
    "items": [
        {"stage": "quiz", "show": "scored"},
        {"stage": "quiz", "audience": "all"},
        {"stage": "vote", "show": "result"},
    ],
}
AFTER = {"id": "after", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]}


async def test_a_person_and_an_agent_are_shown_the_same_and_only_when_it_is_over(database: Database) -> None:
    cast = a_cast(people=2, scripts={"ranking": {"answers": {"ranking": ["tram", "bus"]}}})

    async with playing(database, stages=[QUIZ, VOTE, OUT, AFTER], **cast) as ana:
        eve = await ana.another("Eve")
        await ana.go_on("quiz", {"capital": "c"})
        await eve.go_on("quiz", {"capital": "s"})
        await ana.go_on("vote", {"ranking": ["tram", "bus"]})
        locked = await ana.page("out")
        assert (locked["state"], locked["view"]) == ("waiting", None)
        await eve.go_on("vote", {"ranking": ["tram", "bus"]})
        scored, everybody, result = (await ana.page("out"))["view"]["items"]
        of_eve = (await eve.page("out"))["view"]["items"][0]["answers"]
        await ana.go_on("out")
        await eve.go_on("out")
        for person in (ana, eve):
            await person.go_on("after", {"why": "So."})
        prompt = await ana.prompts("Bob", "after")
        again = (await ana.page("out"))["view"]["items"]
        statuses = await ana.statuses()

    assert set(statuses.values()) == {"completed"}
    own_words = {"label_words": None, "value_words": None}
    right = {"label": "Capital?", "value": "Canberra", "is_correct": True, **own_words}
    assert scored["answers"] == [{"name": None, "lines": [right]}]
    assert [line["is_correct"] for one in of_eve for line in one["lines"]] == [False]
    names = {one["name"]: [line["value"] for line in one["lines"]] for one in everybody["answers"]}
    assert (names[None], names["Eve"]) == (["Canberra"], ["Sydney"])
    assert [(line["label"], line["value"]) for line in result["result"]] == [("Elected", "Trams")]
    assert again == [scored, everybody, result]
    for line in ("Ana:\n- Capital?: Canberra", "Eve:\n- Capital?: Sydney", "- Elected: Trams"):
        assert line in prompt


@pytest.mark.parametrize(
    ("stages", "where"),
    [
        ([OUT, QUIZ, VOTE], ["stages[0].items[0].stage", "stages[0].items[1].stage", "stages[0].items[2].stage"]),
        ([VOTE, {**OUT, "items": [{"stage": "vote", "show": "scored"}]}], ["stages[1].items[0].stage"]),
        ([VOTE, {**OUT, "items": [{"stage": "vote", "columns": ["car"]}]}], ["stages[1].items[0].columns[0]"]),
    ],
)
def test_what_is_not_there_to_be_shown_is_an_error_of_the_file(stages: list[object], where: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        validate({"parley": 1, "name": "x", "stages": stages, **a_cast()})

    assert [problem.where for problem in refused.value.problems] == where


def test_a_treatment_that_leaves_out_what_is_read_is_refused() -> None:
    treatments = [{"id": "whole"}, {"id": "short", "leave_out": ["vote"]}]

    with pytest.raises(InvalidInput) as refused:
        validate({"parley": 1, "name": "x", "stages": [QUIZ, VOTE, OUT], "treatments": treatments, **a_cast()})

    (problem,) = refused.value.problems
    assert problem.where == "treatments[1]"
    assert "items[2].stage of the stage out" in problem.found
