"""A stage as one seat is shown it: every kind, as a person and as an agent, after stages that the mock has answered."""

from typing import Any, Final
from uuid import UUID

import orjson
import pytest

from parley_lab.base.errors import NotFound
from parley_lab.contracts.prompts import SeatQuestion, Seen
from parley_lab.design import draft_of, validate
from parley_lab.kinds.stages import kinds, parts_of
from parley_lab.prompt_builder.seeing import seen

ID: Final = UUID(int=5)
STUDY: Final[dict[str, Any]] = {
    "parley": 1,
    "name": "Streets",
    "seed": 3,
    "variables": {"town": "Altmere"},
    "personas": [{"id": "ann", "profile": {"name": "Ann"}, "text": "You live in {{town}} by the river."}],
    "stages": [
        {
            "id": "before",
            "kind": "survey",
            "info": "Think of your own street.",
            "questions": [{"id": "why", "kind": "text", "title": "Why do you say so?"}],
        },
        {"id": "talk", "kind": "group_chat", "description": "Talk about {{town}} now."},
    ],
    "treatments": [{"id": "cold", "variables": {"town": "Frost"}}, {"id": "warm"}],
    "cohorts": [{"seats": [{"open": True}, {"persona": "ann"}], "count": 2}],
}

EARLIER: Final[dict[str, Any]] = {
    "kind": "survey",
    "questions": [
        {"id": "willing", "kind": "check", "title": "I am willing."},
        {
            "id": "capital",
            "kind": "choice",
            "title": "Which one is the capital?",
            "options": [{"id": "bern", "text": "Bern"}, {"id": "chur", "text": "Chur"}],
            "correct": "bern",
        },
    ],
}
"""What some kinds read of."""


def see(study: dict[str, Any], **asked: str) -> Seen:
    document = orjson.loads(draft_of(validate(study)).document)
    return seen(SeatQuestion(document=document, experiment_id=ID, **asked))


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_kind_is_seen_by_a_person_and_an_agent_and_once_it_is_over(kind: str) -> None:
    stage = kinds()[kind].example()
    parts = parts_of(stage)
    earlier = [{**EARLIER, "id": one.stage} for one in parts.reads]
    study = {
        "parley": 1,
        "name": "One of each",
        "personas": [{"id": "ann"}, {"id": "guide"}],
        "stages": [
            *earlier,
            {**stage.model_dump(mode="json"), "id": stage.id, "kind": kind},
            {"id": "bye", "kind": "info", "lines": ["Good bye."]},
        ],
        "cohorts": [
            {
                "seats": [{"open": True}, {"persona": "ann", "count": max(1, parts.players[0] - 1)}],
                "mediators": ["guide"],
            }
        ],
    }
    for path in ("c1/m1", "c1/m2"):
        found = see(study, stage_id=stage.id, seat=path)
        after = see(study, stage_id="bye", seat=path)

        assert found.view["kind"] == kind
        assert (found.prompt is None) == (found.why_no_prompt is not None)
        assert after.made_up == (*(one["id"] for one in earlier), stage.id)


def test_texts_say_who_reads_them() -> None:
    found = see(STUDY, stage_id="before", seat="c1/m2", treatment_id="cold")

    read = {one.text: (one.in_page, one.in_prompt) for one in found.texts}
    assert read["Why do you say so?"] == (True, True)
    assert read["You live in Frost by the river."] == (False, True)


def test_a_page_that_asks_nothing_is_read_by_people_alone() -> None:
    found = see({**STUDY, "stages": [{"id": "hello", "kind": "info", "lines": ["Please read this."]}]})

    assert found.why_no_prompt == "Nothing is asked of a model here."
    assert ("Please read this.", True, False) in [(one.text, one.in_page, one.in_prompt) for one in found.texts]


def test_the_mock_has_answered_the_stages_before() -> None:
    found = see(STUDY, stage_id="talk", seat="c1/m2")

    assert found.prompt is not None
    assert "Why do you say so?" in found.prompt.messages[1].content
    assert (found.stage_id, found.made_up, found.has_thread) == ("talk", ("before",), True)


def test_an_earlier_conversation_has_the_mediators_who_sat_there() -> None:
    personas = [
        *STUDY["personas"],
        {"id": "guide", "profile": {"name": "Guide"}, "mediates_in": ["alone"]},
        {"id": "host", "profile": {"name": "Host"}, "mediates_in": ["talk"]},
        {"id": "aide", "profile": {"name": "Aide"}},
    ]
    cohorts = [{"seats": [{"open": True}, {"persona": "ann"}], "mediators": ["guide", "host", "aide"]}]
    stages = [{"id": "alone", "kind": "private_chat"}, {"id": "talk", "kind": "group_chat"}]

    found = see({**STUDY, "personas": personas, "cohorts": cohorts, "stages": stages}, stage_id="talk", seat="c1/m2")

    assert found.prompt is not None
    alone, _, talk = found.prompt.messages[1].content.partition("talk")
    told = [[name for name in ("Guide", "Host", "Aide") if name in part] for part in (alone, talk)]
    assert told == [["Guide", "Aide"], ["Host", "Aide"]]


def test_an_open_seat_is_shown_to_an_agent_too_and_seats_of_each_arm_are_listed_once() -> None:
    found = see(STUDY, stage_id="before")

    assert found.prompt is not None
    assert [(one.path, one.player, one.persona) for one in found.seats] == [
        ("c1/m1", "person", None),
        ("c1/m2", "agent", "ann"),
    ]
    assert found.treatments == ("cold", "warm")


@pytest.mark.parametrize("asked", [{"stage_id": "nowhere"}, {"seat": "c9/m9"}, {"treatment_id": "hot"}])
def test_a_stage_seat_or_arm_that_does_not_exist_is_named(asked: dict[str, str]) -> None:
    with pytest.raises(NotFound, match=next(iter(asked.values()))):
        see(STUDY, **asked)


@pytest.mark.parametrize("stage_id", ["guesses", "flats"])
def test_drawn_rows_are_those_of_the_seat_on_the_page_and_in_the_prompt(stage_id: str) -> None:
    items = [{"id": f"r{number}", "what": f"thing {number}", "low": number, "high": 99} for number in range(6)]
    drawn = {"items": items, "shuffle": True, "take": 4, "levels": {"anchor": ["low", "high"]}}
    guess = {"id": "guess", "kind": "number", "title": "Is {{row.what}} over {{row.anchor}}?"}
    options = [{"id": letter, "text": f"{{{{row.{letter}}}}}"} for letter in "ab"]
    flats = {"attributes": {"price": [1, 2, 3], "colour": ["red", "blue"]}, "tasks": 3, "shuffle": True}
    stages = [
        {"id": "guesses", "kind": "survey", "rows": drawn, "questions": [guess]},
        {
            "id": "flats",
            "kind": "survey",
            "rows": flats,
            "questions": [{"id": "choose", "kind": "choice", "title": "Which flat?", "options": options}],
        },
    ]
    shown = {}
    for seat in ("c1/m1", "c1/m2"):
        found = see({**STUDY, "treatments": [], "stages": stages}, stage_id=stage_id, seat=seat)
        assert found.prompt is not None
        asked = [
            (one["title"], *(option["text"] for option in one.get("options", ()))) for one in found.view["questions"]
        ]
        shown[seat] = asked
        lines = found.prompt.messages[-1].content.splitlines()
        assert all(any(all(text in line for text in texts) for line in lines) for texts in asked)

    assert shown["c1/m1"] != shown["c1/m2"]
