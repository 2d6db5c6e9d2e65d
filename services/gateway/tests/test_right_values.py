"""What the data files say of people who are made up, who did not come, and who have moved to another arm."""

import csv
from io import BytesIO, StringIO
from typing import Any, Final
from zipfile import ZipFile

import pytest

from parley_lab.gateway.testing import Api
from parley_lab.gateway.testing.moves import Study, a_study

pytestmark = pytest.mark.postgres

ASK: Final[dict[str, Any]] = {
    "id": "ask",
    "kind": "survey",
    "questions": [
        {"id": "why", "kind": "text", "title": "Why?"},
        {
            "id": "goals",
            "kind": "choices",
            "title": "What for?",
            "options": [{"id": "safe", "text": "Safe"}, {"id": "cheap", "text": "Cheap"}],
        },
    ],
}
BYE: Final[dict[str, Any]] = {"id": "bye", "kind": "info", "lines": ["Bye."]}
ANSWER: Final = {"why": "Because", "goals": ["cheap"]}


async def tables(api: Api, experiment_id: str) -> dict[str, list[dict[str, str]]]:
    exported = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export?format=csv")
    with ZipFile(BytesIO(exported.content)) as archive:
        return {
            one.rpartition("/")[2]: list(csv.DictReader(StringIO(archive.read(one).decode())))
            for one in archive.namelist()
            if one.endswith(".csv")
        }


async def test_people_of_a_rehearsal_and_empty_seats_are_marked(api: Api) -> None:
    guide = {"id": "guide", "profile": {"name": "Guide"}}
    cohorts = [{"seats": [{"open": True, "count": 2}], "mediators": ["guide"]}]
    talk = {"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}}
    experiment_id = await api.running(stages=[ASK, talk], personas=[guide], cohorts=cohorts)
    experiment = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()
    body = {"join_key": "rehearsal-0-1", "is_rehearsal": True}
    joined = await api.participant("none", "POST", f"/v1/join/{experiment['join_code']}", json=body)
    await api.advance(joined.json()["token"], "ask", ANSWER)

    found = await tables(api, experiment_id)

    first, second = found["participants.csv"]
    assert (first["player"], first["made_up"], first["analysed"]) == ("rehearsed", "people", "true")
    assert (second["excluded_because"], second["analysed"]) == ("nobody_came", "false")
    assert [(row["path"], row["role"], row["player"]) for row in found["members.csv"]] == [
        ("c1/m1", "participant", "rehearsed"), ("c1/m2", "participant", "person"), ("c1/med1", "mediator", "agent"),
    ]  # fmt: skip
    values = [(row["field"], row["value"], row["status"], row["player"]) for row in found["answers.csv"]]
    assert values == [
        ("why", "Because", "valid", "rehearsed"),
        ("goals.safe", "false", "valid", "rehearsed"),
        ("goals.cheap", "true", "valid", "rehearsed"),
    ]


async def test_an_answer_keeps_the_arm_in_which_it_was_given_after_a_move(api: Api) -> None:
    arms = [{"id": "loss"}, {"id": "gain"}]
    cohorts = [{"treatment": arm["id"], "seats": [{"open": True, "count": 3}]} for arm in arms]
    study = await a_study(api, stages=[ASK, BYE], treatments=arms, cohorts=cohorts)
    await study.api.advance(study.tokens["Ada"], "ask", ANSWER)
    api.clock.advance(1)

    await study.move("Ada", "c2")

    found = await tables(api, study.id)
    (ada,) = [row for row in found["participants.csv"] if row["name"] == "Ada"]
    assert (ada["treatment"], ada["assigned_arm"], ada["cohort_path"]) == ("gain", "loss", "c2")
    answers = [row for row in found["answers.csv"] if row["participant_id"] == ada["participant_id"]]
    assert {(row["treatment"], row["cohort_path"]) for row in answers} == {("loss", "c1")}
    assert ada["ask.why"] == "Because"


async def test_each_attempt_at_a_check_keeps_the_arm_in_which_it_was_made(api: Api) -> None:
    options = [{"id": one, "text": one} for one in ("red", "blue")]
    question = {"id": "tone", "kind": "choice", "title": "?", "correct": "blue", "options": options}
    check = {"id": "check", "kind": "comprehension", "questions": [question]}
    arms = [{"id": "loss"}, {"id": "gain"}]
    cohorts = [{"treatment": arm["id"], "seats": [{"open": True, "count": 3}]} for arm in arms]
    study = await a_study(api, stages=[check, BYE], treatments=arms, cohorts=cohorts)
    await _attempt(study, "Ada", "red")

    await study.move("Ada", "c2")
    api.clock.advance(1)
    await _attempt(study, "Ada", "blue")

    rows = (await tables(api, study.id))["attempts.csv"]
    assert [(row["attempt"], row["value"], row["cohort_path"], row["treatment"]) for row in rows] == [
        ("1", "red", "c1", "loss"), ("2", "blue", "c2", "gain"),
    ]  # fmt: skip


async def _attempt(study: Study, name: str, value: str) -> None:
    (ask,) = (await study.me(name))["asks"]
    body = {"answer": {"tone": value}}
    url = f"/v1/me/asks/{ask['id']}/answer"
    assert (await study.api.participant(study.tokens[name], "POST", url, json=body)).status_code == 200
    study.api.clock.advance(1)
    await study.api.settle(study.id)
