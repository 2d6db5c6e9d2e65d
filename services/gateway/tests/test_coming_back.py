"""Joining under an external id, coming back, locks and capacity, and what the end of a part is worth."""

import asyncio
import csv
import io
import json
import zipfile
from collections import Counter
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import ANSWER, Api, following, served

pytestmark = pytest.mark.postgres

SECRET: Final = "prolific5f2bcanary"


async def rows(api: Api, query: str) -> list[Any]:
    async with api.database.transaction() as session:
        return list(await session.all(text(query)))


async def test_the_same_external_id_gives_the_place_back_and_ends_the_old_token(api: Api) -> None:
    experiment_id = await api.running()
    first = (await api.take_seat(experiment_id, external_id=SECRET, profile={"name": "Ada"})).json()
    await api.advance(first["token"], "welcome")

    again = await api.take_seat(experiment_id, external_id=SECRET)

    old = await api.participant(first["token"], "GET", "/v1/me")
    new = await api.participant(again.json()["token"], "GET", "/v1/me")
    assert (again.status_code, again.json()["member_id"]) == (201, first["member_id"])
    assert (old.status_code, new.json()["stage_id"], new.json()["profile"]["name"]) == (401, "before", "Ada")
    assert [row.n for row in await rows(api, "SELECT count(*) AS n FROM events WHERE type = 'member.rejoined'")] == [1]
    alerts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts")).json()["alerts"]
    assert [(one["type"], one["member"]) for one in alerts] == [("rejoined", "c1/m1")]
    assert SECRET not in str(alerts)


async def test_the_stream_of_the_old_token_ends_and_that_of_the_new_one_goes_on(api: Api, address: str) -> None:
    experiment_id = await api.running()
    first = await api.token_of(experiment_id, external_id=SECRET)

    async with following(address, first) as events:
        again = await api.token_of(experiment_id, external_id=SECRET)
        assert [event["type"] async for event in events if event["type"].startswith("member.")] == []
    await api.advance(again, "welcome")

    async with following(address, again) as events:
        async for event in events:
            if event["type"] == "member.moved":
                break
        else:
            pytest.fail("the new stream has ended")


async def test_the_stream_of_the_old_token_ends_without_waiting_for_other_news(api: Api) -> None:
    settings = GatewaySettings(stream_ping_seconds=15)
    app = create_app(api.database, InProcessBus(), api.clock, settings, environ={})
    experiment_id = await api.running()
    first = await api.token_of(experiment_id, external_id=SECRET)

    async with app.router.lifespan_context(app), served(app) as address, following(address, first) as events:
        await api.token_of(experiment_id, external_id=SECRET)
        assert [event["type"] async for event in events if event["type"].startswith("member.")] == []


async def test_where_the_file_demands_the_old_token_an_external_id_alone_brings_no_one_back(api: Api) -> None:
    experiment_id = await api.running(rejoin="token")
    first = (await api.take_seat(experiment_id, external_id=SECRET)).json()

    refused = [await api.take_seat(experiment_id, external_id=SECRET, **more) for more in ({}, {"token": "wrong"})]
    back = await api.take_seat(experiment_id, external_id=SECRET, token=first["token"])

    assert [(one.status_code, one.json()["reason"]) for one in refused] == [(409, "token_needed")] * 2
    assert back.json()["member_id"] == first["member_id"]


async def test_ten_who_join_at_once_for_one_seat_get_it_once(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True, "count": 4}]}])
    for name in ("Ada", "Ben", "Cyd"):
        await api.join(experiment_id, name)

    answers = await asyncio.gather(*(api.take_seat(experiment_id, external_id=f"id{number}") for number in range(10)))

    assert Counter(one.status_code for one in answers) == {201: 1, 409: 9}
    assert {one.json()["reason"] for one in answers if one.status_code == 409} == {"full"}
    assert (await rows(api, "SELECT count(*) AS n FROM members WHERE status = 'in_progress'"))[0].n == 4


async def test_ten_joins_under_one_external_id_are_one_place(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True, "count": 4}]}])

    answers = await asyncio.gather(*(api.take_seat(experiment_id, external_id=SECRET) for _ in range(10)))
    tokens = [(await api.participant(one.json()["token"], "GET", "/v1/me")).status_code for one in answers]

    assert {one.status_code for one in answers} == {201}
    assert len({one.json()["member_id"] for one in answers}) == 1
    assert Counter(tokens) == {401: 9, 200: 1}


async def test_no_one_joins_a_locked_cohort_and_who_is_in_it_stays(api: Api) -> None:
    experiment_id = await api.running()
    (cohort,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    first = (await api.take_seat(experiment_id, external_id=SECRET)).json()

    locked = [await api.experimenter("POST", f"/v1/cohorts/{cohort['id']}/lock") for _ in range(2)]
    named = await api.take_seat(experiment_id, cohort_id=cohort["id"])
    anywhere = await api.take_seat(experiment_id)
    back = await api.take_seat(experiment_id, external_id=SECRET)
    await api.experimenter("POST", f"/v1/cohorts/{cohort['id']}/unlock")
    taken = await api.take_seat(experiment_id)

    assert [one.json()["locked"] for one in locked] == [True, True]
    assert (named.status_code, named.json()["reason"]) == (409, "locked")
    assert not {"member_id", "token"} & named.json().keys()
    assert (anywhere.status_code, anywhere.json()["reason"]) == (409, "full")
    assert (back.json()["member_id"], taken.status_code) == (first["member_id"], 201)
    told = await rows(api, "SELECT type, actor FROM events WHERE type LIKE 'cohort.%locked' ORDER BY seq")
    assert [tuple(row) for row in told] == [("cohort.locked", "Ellen"), ("cohort.unlocked", "Ellen")]


async def test_who_joined_before_a_lock_counts_and_no_one_after_it(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True, "count": 10}]}])
    (cohort,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]

    async def lock() -> int:
        await api.experimenter("POST", f"/v1/cohorts/{cohort['id']}/lock")
        found: int = (await rows(api, "SELECT count(*) AS n FROM members WHERE status = 'in_progress'"))[0].n
        return found

    known, *_ = await asyncio.gather(lock(), *(api.take_seat(experiment_id) for _ in range(10)))

    assert (await rows(api, "SELECT count(*) AS n FROM members WHERE status = 'in_progress'"))[0].n == known


@pytest.mark.parametrize(("how", "status", "code"), [("through", "completed", "GOOD"), ("leave", "left", "")])
async def test_the_end_of_a_part_has_the_code_and_the_link_of_its_outcome(
    api: Api, how: str, status: str, code: str
) -> None:
    completion = {"completed": {"code": "GOOD", "redirect": "https://example.org/done?cc=GOOD"}}
    stages = [{"id": "page", "kind": "info", "lines": ["Hello"]}]
    experiment_id = await api.running(completion=completion, stages=stages)
    token = (await api.take_seat(experiment_id, external_id=SECRET)).json()["token"]
    before = (await api.participant(token, "GET", "/v1/me")).json()

    if how == "leave":
        await api.participant(token, "POST", "/v1/me/leave")
    else:
        await api.advance(token, "page")
    me = (await api.participant(token, "GET", "/v1/me")).json()

    assert before["completion"] is None
    assert me["status"] == status
    assert me["completion"] == (completion["completed"] if code else None)


async def test_external_ids_stand_in_the_payments_and_in_no_other_file(api: Api) -> None:
    completion = {"completed": {"code": "GOOD"}, "left": {"code": "PARTLY"}}
    experiment_id = await api.running(completion=completion)
    ada = (await api.take_seat(experiment_id, external_id=SECRET)).json()["token"]
    ben = (await api.take_seat(experiment_id, external_id=f"{SECRET}2")).json()["token"]
    await api.take_seat(experiment_id, external_id=SECRET)
    await api.advance(ben, "welcome")
    await api.advance(ben, "before", ANSWER)
    await api.participant(ben, "POST", "/v1/me/leave")

    exported = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        files = {name: archive.read(name).decode("utf-8-sig") for name in archive.namelist()}

    assert [name for name, content in files.items() if SECRET in content] == ["payments.csv"]
    header, *lines = files["payments.csv"].splitlines()
    columns = header.split(",")
    found = [dict(zip(columns, line.split(","), strict=True)) for line in lines]
    assert [(one["external_id"], one["code"], one["outcome"]) for one in found] == [
        (SECRET, "", "in_progress"),
        (f"{SECRET}2", "PARTLY", "left"),
    ]
    assert not {"path", "participant_id"} & set(columns)
    members = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")
    assert SECRET not in members.text
    assert ada not in members.text


async def test_payments_have_what_was_paid_in_all_and_for_what(api: Api) -> None:
    question = {"id": "why", "kind": "text", "title": "Why"}
    items = [{"id": "come", "stage": "quiz", "base": 2.5}]
    stages = [
        {"id": "quiz", "kind": "survey", "questions": [question]},
        {"id": "payment", "kind": "payout", "currency": "EUR", "items": items},
    ]
    experiment_id = await api.running(stages=stages, completion={"completed": {"code": "GOOD"}})
    ada = (await api.take_seat(experiment_id, external_id="ada")).json()["token"]
    await api.take_seat(experiment_id, external_id="ben")
    await api.settle(experiment_id)
    await api.advance(ada, "quiz", {"why": "So"})
    await api.settle(experiment_id)
    assert (await api.advance(ada, "payment")).status_code == 200

    exported = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        table = archive.read("payments.csv").decode("utf-8-sig")

    paid, unpaid = csv.DictReader(io.StringIO(table))
    assert (paid["external_id"], paid["code"], paid["outcome"]) == ("ada", "GOOD", "completed")
    assert (paid["currency"], Decimal(paid["amount"])) == ("EUR", Decimal("2.5"))
    assert [part["stage"] for part in json.loads(paid["parts"])] == ["payment"]
    assert (unpaid["external_id"], unpaid["outcome"], unpaid["amount"], unpaid["parts"]) == (
        "ben", "in_progress", "", "",
    )  # fmt: skip


@pytest.mark.parametrize("deletes", [True, False])
async def test_a_person_who_has_declined_gets_the_same_end_again_and_no_second_seat(api: Api, deletes: bool) -> None:
    terms = {"id": "terms", "kind": "terms_of_service", "lines": ["Be kind."], "delete_when_declined": deletes}
    completion = {"declined": {"code": "NOCONS"}}
    experiment_id = await api.running(
        stages=[terms, {"id": "last", "kind": "info", "lines": ["Bye"]}], completion=completion
    )
    code = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()["join_code"]
    joined = (await api.take_seat(experiment_id, external_id="prolific-7")).json()
    await api.settle(experiment_id)

    declined = (await api.advance(joined["token"], "terms", {"accepted": False})).json()["me"]
    again = [await api.take_seat(experiment_id, external_id="prolific-7") for _ in range(2)]
    for key in ("the-phone", "the-phone", "the-tablet"):
        by_link = {"join_key": key, "external_id": "prolific-7"}
        again.append(await api.client.post(f"/v1/join/{code}", json=by_link))
        me = (await api.participant(again[-1].json()["token"], "GET", "/v1/me")).json()
        assert (me["status"], me["completion"]) == ("declined", declined["completion"])
    other = await api.take_seat(experiment_id, external_id="prolific-8")

    assert declined["completion"]["code"] == "NOCONS"
    assert [(one.status_code, one.json()["member_id"]) for one in again] == [(201, joined["member_id"])] * 5
    assert other.status_code == 201
    if not deletes:
        return
    async with api.database.transaction() as session:
        stored = str(list(await session.all(text("SELECT * FROM members"))))
    assert ("prolific-7" in stored, "prolific-8" in stored) == (False, True)
    # Everyone who has the list of a service's ids could make this hash of each.
    assert sha256(f"{experiment_id}/prolific-7".encode()).hexdigest() not in stored
