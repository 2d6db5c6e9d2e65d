"""A creating request under an Idempotency-Key is done once."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import FILE, Api

pytestmark = pytest.mark.postgres


async def created(api: Api, key: str, *, name: str = "Buses") -> httpx2.Response:
    return await api.experimenter(
        "POST", "/v1/experiments", json={**FILE, "name": name}, headers={"Idempotency-Key": key}
    )


async def count(api: Api, table: str) -> int:
    async with api.database.transaction() as session:
        row = await session.one(text(f"SELECT count(*) AS n FROM {table}"))  # noqa: S608 - a name of these tests
    return int(row.n)


def new_key() -> str:
    return uuid4().hex


async def test_the_same_request_under_the_same_key_gets_the_first_answer_again(api: Api) -> None:
    key = new_key()

    first, again, other = await created(api, key), await created(api, key), await created(api, new_key())

    assert [one.status_code for one in (first, again, other)] == [201] * 3
    assert first.json() == again.json() != other.json()
    assert await count(api, "experiments") == 2


async def test_of_many_at_once_one_is_done_and_all_get_its_answer(api: Api) -> None:
    key = new_key()

    answers = await asyncio.gather(*(created(api, key) for _ in range(5)))

    assert len({answer.json()["id"] for answer in answers}) == 1
    assert await count(api, "experiments") == 1


async def test_another_request_under_the_same_key_is_refused(api: Api) -> None:
    key = new_key()
    await created(api, key)

    other = await created(api, key, name="Trams")

    assert (other.status_code, other.json()["reason"]) == (409, "id_used")


async def test_a_request_that_was_refused_leaves_its_key_free(api: Api) -> None:
    key = new_key()
    wrong = await created(api, key, name="")

    right = await created(api, key)

    assert (wrong.status_code, right.status_code) == (422, 201)


async def test_a_key_belongs_to_who_asks_and_where(api: Api) -> None:
    key = new_key()
    experiment_id = (await created(api, key)).json()["id"]

    forked = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/fork", headers={"Idempotency-Key": key})
    stranger = await api.client.post("/v1/experiments", json=FILE, headers={"Idempotency-Key": key})

    assert (forked.status_code, stranger.status_code) == (201, 401)


async def test_who_may_not_ask_any_more_gets_no_answer_from_before(api: Api) -> None:
    key = new_key()
    made = (await api.experimenter("POST", "/v1/keys", json={"label": "pilot"})).json()["key"]
    experiment_id = await api.running()
    headers = {"Authorization": f"Bearer {made}", "Idempotency-Key": key}
    first = await api.client.post(f"/v1/experiments/{experiment_id}/join", headers=headers)
    (pilot,) = [one for one in (await api.experimenter("GET", "/v1/keys")).json()["keys"] if one["label"] == "pilot"]

    await api.experimenter("DELETE", f"/v1/keys/{pilot['id']}")
    again = await api.client.post(f"/v1/experiments/{experiment_id}/join", headers=headers)

    assert (first.status_code, again.status_code) == (201, 401)
    assert first.json()["token"] not in again.text


async def test_after_a_day_a_key_is_free_again(api: Api) -> None:
    key = new_key()
    first = await created(api, key)

    api.clock.advance(24 * 3600)
    later = await created(api, key, name="Trams")

    assert (first.status_code, later.status_code) == (201, 201)
    assert await count(api, "kept_answers") == 1


async def test_joining_again_gives_the_same_token_and_takes_no_second_seat(api: Api) -> None:
    experiment_id = await api.running()

    async def joined(key: str) -> Any:
        headers = {"Authorization": f"Bearer {api.key}", "Idempotency-Key": key}
        answer = await api.client.post(f"/v1/experiments/{experiment_id}/join", json={}, headers=headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    key = new_key()
    first, again, other = await joined(key), await joined(key), await joined(new_key())

    assert first == again
    assert first["member_id"] != other["member_id"]


async def test_help_that_is_asked_for_again_is_one_alert(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    key = new_key()

    async def asked(text: str, key: str) -> int:
        headers = {"Idempotency-Key": key}
        answer = await api.participant(token, "POST", "/v1/me/help", json={"text": text}, headers=headers)
        return answer.status_code

    answers = [await asked("One", key), await asked("One", key), await asked("One", new_key()), await asked("Two", key)]
    alerts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts")).json()["alerts"]

    assert answers == [204, 204, 204, 409]
    assert [one["text"] for one in alerts] == ["One", "One"]


async def test_a_word_to_a_participant_that_is_said_again_is_one_notice(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    member_id = (await api.participant(token, "GET", "/v1/me")).json()["member_id"]
    key = new_key()

    async def said(text: str, key: str) -> int:
        headers = {"Idempotency-Key": key}
        path = f"/v1/members/{member_id}/message"
        return (await api.experimenter("POST", path, json={"text": text}, headers=headers)).status_code

    answers = [await said("One", key), await said("One", key), await said("One", new_key()), await said("Two", key)]
    notices = (await api.participant(token, "GET", "/v1/me")).json()["notices"]

    assert answers == [200, 200, 200, 409]
    assert [one["text"] for one in notices] == ["One", "One"]


async def test_a_key_that_is_made_again_is_one_key_and_cannot_be_read_in_the_tables(api: Api) -> None:
    async def made(key: str) -> httpx2.Response:
        return await api.experimenter("POST", "/v1/keys", json={"label": "pilot"}, headers={"Idempotency-Key": key})

    key = new_key()
    first, again, other = await made(key), await made(key), await made(new_key())
    async with api.database.transaction() as session:
        kept = [bytes(row.answer) for row in await session.all(text("SELECT answer FROM kept_answers"))]

    assert [one.status_code for one in (first, again, other)] == [201] * 3
    assert first.json() == again.json() != other.json()
    pilots = [one for one in (await api.experimenter("GET", "/v1/keys")).json()["keys"] if one["label"] == "pilot"]
    assert len(pilots) == 2
    assert len(kept) == 2
    assert not [answer for answer in kept if first.json()["key"].encode() in answer]


async def test_no_token_and_no_word_of_an_answer_can_be_read_in_the_tables(api: Api) -> None:
    answer = await created(api, new_key(), name="Secret buses")
    async with api.database.transaction() as session:
        (row,) = await session.all(text("SELECT answer FROM kept_answers"))

    assert b"Secret" not in row.answer
    assert answer.json()["id"].encode() not in row.answer


async def test_a_key_that_can_be_guessed_is_refused(api: Api) -> None:
    answer = await created(api, "1")

    assert answer.status_code == 422
    assert answer.json()["problems"][0]["where"] == "idempotency-key"
