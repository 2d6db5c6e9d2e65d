"""Ways into a stage besides going on: an agent that is added, a move to another cohort, a seat that is given again.

Rules of stages and a member's own order of a block hold on each of them.
"""

from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api
from parley_lab.gateway.testing.moves import a_study

pytestmark = pytest.mark.postgres

INFO: Final[dict[str, Any]] = {"kind": "info", "lines": ["Read."]}
BLOCK: Final = [{**INFO, "id": one, "block": "cases"} for one in "abc"]
ORDER: Final = {"id": "order", "kind": "permutation", "values": ["a", "b", "c"], "order": "latin", "block": "cases"}
START: Final = {**INFO, "id": "start"}
END: Final = {**INFO, "id": "end"}
SAM: Final = {"id": "sam", "profile": {"name": "Sam"}}
ASKED: Final[dict[str, Any]] = {
    "id": "asked",
    "kind": "survey",
    "questions": [
        {
            "id": "more",
            "kind": "choice",
            "title": "More?",
            "options": [{"id": "yes", "text": "Yes"}, {"id": "no", "text": "No"}],
        }
    ],
}
FOR_YES: Final = {**INFO, "id": "extra", "show_if": {"stage": "asked", "question": "more", "value": "yes"}}
TWO_EACH: Final = [{"seats": [{"open": True, "count": 2}], "count": 2}]


async def ways(api: Api) -> dict[str, list[str]]:
    async with api.database.transaction() as session:
        rows = await session.all(text("SELECT path, stage_ids, position FROM members"))
    return {row.path: row.stage_ids[row.position :] for row in rows}


async def add(api: Api, experiment_id: str, **more: str) -> Any:
    (found,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    return await api.experimenter("POST", f"/v1/cohorts/{found['id']}/members", json={"persona": "sam", **more})


async def test_an_agent_that_is_added_at_a_stage_that_its_rules_leave_out_begins_at_the_next(api: Api) -> None:
    experiment_id = await api.running(stages=[ASKED, FOR_YES, END], personas=[SAM])
    await api.join(experiment_id, "Ada")

    added = await add(api, experiment_id, stage_id="extra")

    assert added.json()["stage_id"] == "end"
    assert (await ways(api))["c1/m3"] == ["end"]


async def test_an_agent_whose_rules_leave_out_all_that_is_ahead_is_refused(api: Api) -> None:
    experiment_id = await api.running(stages=[ASKED, FOR_YES], personas=[SAM])
    await api.join(experiment_id, "Ada")

    refused = await add(api, experiment_id, stage_id="extra")

    assert (refused.status_code, refused.json()["reason"]) == (409, "no_such_stage")


async def test_an_agent_that_is_added_within_a_block_has_the_rest_of_its_own_order_ahead(api: Api) -> None:
    experiment_id = await api.running(stages=[START, *BLOCK, END], assigned=[ORDER], personas=[SAM])
    await api.join(experiment_id, "Ada")

    added = (await add(api, experiment_id, stage_id="b")).json()

    async with api.database.transaction() as session:
        found = text("SELECT assigned FROM members WHERE path = 'c1/m3'")
        assigned = (await session.one(found)).assigned
    order = [assigned[f"order_{place}"]["value"] for place in (1, 2, 3)]
    assert added["stage_id"] == "b"
    assert (await ways(api))["c1/m3"] == [*order[order.index("b") :], "end"]


async def test_a_member_who_moves_within_a_block_keeps_their_own_order(api: Api) -> None:
    study = await a_study(api, stages=[START, *BLOCK, END], assigned=[ORDER], cohorts=TWO_EACH)
    for name in ("Ada", "Ann"):
        await study.go_on(name, "start")
    before = await ways(api)

    for name in ("Ada", "Ann"):
        await study.move(name, "c2")

    assert before["c1/m1"] != before["c1/m2"]
    assert await ways(api) == before


async def test_a_stage_that_is_ahead_in_the_other_arm_is_not_left_out_because_it_was_in_the_first(api: Api) -> None:
    rule = {"any": [{"treatment": "late"}, FOR_YES["show_if"]]}
    extra = {**FOR_YES, "block": "order", "show_if": rule}
    talk = {**INFO, "id": "talk", "block": "order"}
    arms = [
        {"id": "early", "order": {"order": ["extra", "talk"]}},
        {"id": "late", "order": {"order": ["talk", "extra"]}},
    ]
    cohorts = [{"seats": [{"open": True, "count": 2}], "treatment": one["id"]} for one in arms]
    study = await a_study(api, stages=[ASKED, extra, talk, END], treatments=arms, cohorts=cohorts)
    await study.go_on("Ada", "asked", {"more": "no"})
    before = (await ways(api))["c1/m1"]

    await study.move("Ada", "c2")
    await study.go_on("Ada", "talk")

    assert before == ["talk", "end"]
    assert (await ways(api))["c1/m1"] == ["extra", "end"]


async def test_the_next_person_on_a_seat_has_all_stages_of_its_arm(api: Api) -> None:
    one_seat = [{"seats": [{"open": True}], "count": 1}]
    again = [{"left_before": "end"}]
    experiment_id = await api.running(stages=[ASKED, FOR_YES, START, END], cohorts=one_seat, seat_again=again)
    first = await api.join(experiment_id, "Ada")
    await api.advance(first, "asked", {"more": "no"})
    await api.participant(first, "POST", "/v1/me/leave")

    await api.join(experiment_id, "Ben")

    found = await ways(api)
    assert found["c1/m1"] == ["start", "end"]
    assert found["c1/m1.2"] == ["asked", "extra", "start", "end"]
