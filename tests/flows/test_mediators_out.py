"""A mediator who fails, is taken out or comes late, on every kind of stage that has a thread: the others go on."""

from typing import Any, Final
from uuid import UUID

import pytest
import yaml

from parley_lab.contracts.lives import OUTCOMES
from parley_lab.kinds.stages import kinds, parts_of
from parley_lab.testing.quick import quick_first
from tests.flows.one_lab import Json, Place
from tests.flows.test_ways_out import ANSWERS, LONG_SECONDS, QUIET, STAGE, document, end_all, place

__all__ = ["place"]

pytestmark = pytest.mark.postgres

WITH_THREADS: Final = [name for name, kind in sorted(kinds().items()) if parts_of(kind.example()).has_thread]
CHANGES: Final = [
    (kind, ("remove", "add")[(number + turn) % 2]) for turn in range(2) for number, kind in enumerate(WITH_THREADS)
]
"""Each kind with one way, then with the other."""
INTERVIEW: Final = """
parley: 1
name: An interview with an accountant
seed: 3
pace: {pace}
stages:
  - id: interview
    kind: group_interview
    roles: [{{label: Ana}}]
    special_roles: [{{label: Accountant}}]
    tasks:
      - id: give
        type: public_question
        variable: give
        questions: [{{role: Ana, text: "How much?"}}, {{role: Accountant, text: "What is in the pot?"}}]
      - {{id: fair, type: public_question, variable: fair, questions: [{{role: Ana, text: "Was it fair?"}}]}}
personas:
  - {{id: ana, profile: {{name: Ana}}}}
  - {{id: accountant, profile: {{name: Accountant}}, mock: {{failures: [{failure}]}}}}
cohorts: [{{seats: [{seat}], mediators: [accountant]}}]
"""


def interview(*, seat: str = "{persona: ana}", pace: str = "fast", failure: str = "") -> Json:
    return yaml.safe_load(INTERVIEW.format(seat=seat, pace=pace, failure=failure))


def test_an_interview_ends_without_a_mediator_whose_model_fails(place: Place) -> None:
    place.runner.run(_failing(place))


async def _failing(place: Place) -> None:
    stored = await place.ask("POST", "/v1/experiments", json=interview(failure="{status: bad_request}"))
    await place.ask("POST", f"/v1/experiments/{stored['id']}/start")

    found = {row.path: row.status for row in await members_of(place, stored["id"])}
    assert found == {"c1/m1": "completed", "c1/med1": "failed"}


def test_staff_take_the_mediator_out_of_an_interview_and_the_person_goes_on(place: Place) -> None:
    place.runner.run(_taken_out(place))


async def _taken_out(place: Place) -> None:
    stored = await place.ask("POST", "/v1/experiments", json=interview(seat="{open: true}", pace="live"))
    await place.ask("POST", f"/v1/experiments/{stored['id']}/start")
    seat = await place.ask("POST", f"/v1/experiments/{stored['id']}/join", json={})
    mediator = next(row for row in await members_of(place, stored["id"]) if row.path == "c1/med1")

    await place.ask("POST", f"/v1/members/{mediator.id}/remove", json={"reason": "does not answer"})
    for expected in ("How much?", "Was it fair?"):
        (ask,) = (await place.ask("GET", "/v1/me", token=seat["token"]))["asks"]
        assert expected in str(ask["form"])
        await place.ask(
            "POST", f"/v1/me/asks/{ask['id']}/answer", token=seat["token"], json={"answer": {"response": "5"}}
        )
    await place.ask("POST", "/v1/me/stages/interview/advance", token=seat["token"], json={})

    assert {row.path: row.status for row in await members_of(place, stored["id"])} == {
        "c1/m1": "completed",
        "c1/med1": "removed",
    }


def test_a_mediator_who_is_added_takes_over_the_role_of_one_who_is_out(place: Place) -> None:
    place.runner.run(_taken_over(place))


async def _taken_over(place: Place) -> None:
    file = interview(seat="{open: true}", pace="live")
    file["stages"][0]["tasks"][1]["questions"].append({"role": "Accountant", "text": "And you?"})
    stored = await place.ask("POST", "/v1/experiments", json=file)
    await place.ask("POST", f"/v1/experiments/{stored['id']}/start")
    seat = await place.ask("POST", f"/v1/experiments/{stored['id']}/join", json={})
    mediator = next(row for row in await members_of(place, stored["id"]) if row.path == "c1/med1")
    await place.ask("POST", f"/v1/members/{mediator.id}/remove", json={"reason": "does not answer"})
    (cohort,) = (await place.ask("GET", f"/v1/experiments/{stored['id']}/cohorts"))["cohorts"]
    added = {"persona": "accountant", "kind": "mediator"}
    added = await place.ask("POST", f"/v1/cohorts/{cohort['id']}/members", json=added)
    for _ in range(2):
        (ask,) = (await place.ask("GET", "/v1/me", token=seat["token"]))["asks"]
        await place.ask(
            "POST", f"/v1/me/asks/{ask['id']}/answer", token=seat["token"], json={"answer": {"response": "5"}}
        )

    where = {"id": UUID(stored["id"])}
    said = """
        SELECT g.author_name FROM messages g JOIN threads t ON t.id = g.thread_id JOIN cohorts c ON c.id = t.cohort_id
        WHERE c.experiment_id = :id ORDER BY g.seq
    """
    rows = await place.lab.rows(said, **where)
    assert [row.author_name for row in rows if row.author_name] == ["Ana", "Accountant", "Ana", "Accountant"]


@pytest.mark.parametrize(("kind", "way"), quick_first(CHANGES, len(WITH_THREADS)))
def test_a_mediator_goes_or_comes_on_every_kind_and_the_others_go_on(place: Place, kind: str, way: str) -> None:
    place.runner.run(_goes_or_comes(place, kind, way))


async def _goes_or_comes(place: Place, kind: str, way: str) -> None:
    file = document(kind)
    label = next(iter(file["stages"][-2].get("special_roles") or [{"label": "Mo"}]))["label"]
    file["personas"].append({"id": "mo", "profile": {"name": label}, **QUIET})
    file["cohorts"] = [{**file["cohorts"][1], "mediators": ["mo"]}]
    experiment_id = (await place.ask("POST", "/v1/experiments", json=file))["id"]
    await place.ask("POST", f"/v1/experiments/{experiment_id}/start")
    seat = await place.ask("POST", f"/v1/experiments/{experiment_id}/join", json={})
    for stage, answer in ANSWERS.items() if parts_of(kinds()[kind].example()).reads else ():
        await place.ask("POST", f"/v1/me/stages/{stage}/advance", token=seat["token"], json={"answer": answer})
    mediator = next(row for row in await members_of(place, experiment_id) if "/med" in row.path)

    await place.ask("POST", f"/v1/members/{mediator.id}/remove", json={"reason": "a test"})
    if way == "add":
        (cohort,) = (await place.ask("GET", f"/v1/experiments/{experiment_id}/cohorts"))["cohorts"]
        added = {"persona": "mo", "kind": "mediator"}
        await place.ask("POST", f"/v1/cohorts/{cohort['id']}/members", json=added)
    page = await place.ask("GET", f"/v1/me/stages/{STAGE}", token=seat["token"])
    assert page["state"] in ("current", "waiting")
    place.lab.clock.advance(LONG_SECONDS + 1)
    await place.lab.fire_timers()
    await end_all(place, experiment_id)

    found = await members_of(place, experiment_id)
    assert [(row.path, row.status) for row in found if row.status not in OUTCOMES] == []
    assert {row.status for row in found if row.path.endswith("/med1")} == {"removed"}


async def members_of(place: Place, experiment_id: str) -> list[Any]:
    where = {"id": UUID(experiment_id)}
    return list(await place.lab.rows("SELECT * FROM members WHERE experiment_id = :id ORDER BY path", **where))
