"""Input that cannot be stored or understood is refused with its place (422), and is never a server error."""

import json
from typing import Any
from uuid import UUID

import pytest

from parley_lab.gateway.testing import FILE, Api

HUGE = 10**30
_PERSONA = {"id": "ann"}
_TALK = {"id": "talk", "kind": "group_chat"}


def _survey(**fields: Any) -> list[dict[str, Any]]:
    return [{"id": "s", "kind": "survey", "questions": [{"id": "q", "title": "Well?", "kind": "number", **fields}]}]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"personas": [{**_PERSONA, "attributes": {"age": HUGE}}]}, "personas[0].attributes.age"),
        ({"personas": [{**_PERSONA, "model": {"extra_body": {"a": [HUGE]}}}]}, "personas[0].model.extra_body.a[0]"),
        ({"personas": [{**_PERSONA, "chat": {"max_responses": HUGE}}]}, "personas[0].chat.max_responses"),
        ({"personas": [{**_PERSONA, "chat": {"max_responses": 1e30}}]}, "personas[0].chat.max_responses"),
        ({"treatments": [{"id": "t", "variables": {"a": {"b": -HUGE}}}]}, "treatments[0].variables.a.b"),
        ({"treatments": [{"id": "t", "variables": {"a": "\x00"}}]}, "treatments[0].variables.a"),
        ({"variables": {"a": "\ud800"}}, "variables.a"),
        ({"stages": [{**_TALK, "max_agent_run": HUGE}]}, "stages[0].max_agent_run"),
        ({"stages": [{**_TALK, "max_agent_run": 1e30}]}, "stages[0].max_agent_run"),
        ({"stages": [{**_TALK, "time_limit_seconds": 30 * 86_400 + 1}]}, "stages[0].time_limit_seconds"),
        ({"stages": [{**_TALK, "progress": {"min_participants": HUGE}}]}, "stages[0].progress.min_participants"),
        ({"stages": _survey(minimum=HUGE)}, "stages[0].questions[0].minimum"),
        ({"stages": _survey(maximum=-HUGE)}, "stages[0].questions[0].maximum"),
        ({"stages": _survey(maximum=1e300, integer=True)}, "stages[0].questions[0].maximum"),
    ],
)
async def test_a_file_that_cannot_be_stored_says_where(api: Api, changes: dict[str, Any], where: str) -> None:
    content = json.dumps({**FILE, **changes}).encode()

    refused = await api.experimenter(
        "POST", "/v1/experiments", content=content, headers={"content-type": "application/json"}
    )

    assert refused.status_code == 422, refused.text
    assert where in [problem["where"] for problem in refused.json()["problems"]]


async def test_a_talk_may_last_thirty_days(api: Api) -> None:
    stored = await api.experimenter(
        "POST", "/v1/experiments", json={**FILE, "stages": [{**_TALK, "time_limit_seconds": 30 * 86_400}]}
    )

    assert stored.status_code == 201, stored.text


@pytest.mark.parametrize(
    "answer",
    [
        {"age": 1e308, "why": "x"},
        {"age": HUGE, "why": "x"},
        {"age": 2.0**63, "why": "x"},
        {"age": 33, "why": "\x00"},
        {"age": 33, "why": "\ud800"},
        {"age": 33, "why": HUGE},
        [HUGE],
    ],
)
async def test_an_answer_that_cannot_be_stored_is_refused(api: Api, answer: Any) -> None:
    token = await api.join(await api.running())
    await api.advance(token, "welcome")

    # Broken characters travel as escapes.
    refused = await api.participant(
        token,
        "POST",
        "/v1/me/stages/before/advance",
        content=json.dumps({"answer": answer}).encode(),
        headers={"content-type": "application/json"},
    )

    assert refused.status_code == 422, refused.text
    assert refused.json()["problems"]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/experiments", "GET, POST"),
        ("/v1/experiments/validate", "POST"),
        ("/v1/experiments/import", "POST"),
        (f"/v1/experiments/{UUID(int=1)}", "DELETE, GET, PATCH"),
        ("/v1/personas/ann", "DELETE, GET, PUT"),
        ("/v1/me", "GET"),
    ],
)
async def test_another_method_is_refused_with_all_that_there_are(api: Api, path: str, allowed: str) -> None:
    for method in {"GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - set(allowed.split(", ")):
        refused = await api.experimenter(method, path)

        assert (method, refused.status_code, refused.headers.get("allow")) == (method, 405, allowed)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"/v1/me/threads/{UUID(int=1)}/typing", {"is_typing": 0}),
        ("/v1/me/transfer", {"accept": "yes"}),
        (f"/v1/members/{UUID(int=1)}/view", {"seconds": "60"}),
        (f"/v1/members/{UUID(int=1)}/view", {"seconds": True}),
        (f"/v1/members/{UUID(int=1)}/transfer", {"cohort_id": str(UUID(int=1)), "seconds": "60"}),
        (f"/v1/experiments/{UUID(int=1)}/fork", {"seed": "1"}),
        (f"/v1/experiments/{UUID(int=1)}/fork", {"seed": True}),
        (f"/v1/experiments/{UUID(int=1)}/max-calls", {"calls": "5"}),
        ("/v1/keys", {"expires_at": 4_000_000_000}),
        ("/v1/keys", {"expires_at": "4000000000"}),
        ("/v1/keys", {"expires_at": "2096-10-02T07:06:40"}),
    ],
)
async def test_a_value_of_another_type_than_declared_is_refused(api: Api, path: str, body: dict[str, Any]) -> None:
    method = "PUT" if path.endswith("max-calls") else "POST"

    refused = await api.experimenter(method, path, json=body)

    assert refused.status_code == 422, refused.text
    assert [problem["where"] for problem in refused.json()["problems"]] == [list(body)[-1]]


@pytest.mark.parametrize("before", ["0.5", "1700000000", "2026-01-01", "2026-01-01T00:00:00"])
async def test_a_time_is_written_out_with_its_zone(api: Api, before: str) -> None:
    refused = await api.experimenter("GET", "/v1/deeds", params={"before": before})
    taken = await api.experimenter("GET", "/v1/deeds", params={"before": "2026-01-01T00:00:00Z"})

    assert (refused.status_code, taken.status_code) == (422, 200), refused.text


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00", "0000-01-01T00:00:00Z"])
async def test_a_time_outside_the_years_that_can_be_stored_is_refused(api: Api, at: str) -> None:
    made = await api.experimenter("POST", "/v1/keys", json={"expires_at": at})
    read = await api.experimenter("GET", "/v1/deeds", params={"before": at})
    listed = await api.experimenter("GET", "/v1/keys")

    assert (made.status_code, read.status_code, listed.status_code) == (422, 422, 200), made.text + read.text


async def test_a_key_may_end_with_the_last_second_that_can_be_stored(api: Api) -> None:
    made = await api.experimenter("POST", "/v1/keys", json={"expires_at": "9999-12-31T18:59:59-05:00"})
    listed = await api.client.get("/v1/keys", headers={"Authorization": f"Bearer {made.json()['key']}"})

    assert (made.status_code, listed.status_code) == (201, 200), made.text + listed.text
    assert made.json()["expires_at"] == "9999-12-31T23:59:59Z"
