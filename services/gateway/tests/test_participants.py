"""The way of people through an experiment, as the API tells it."""

import asyncio
from collections import Counter
from uuid import UUID, uuid4

import httpx2
import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import ANSWER, FILE, Api
from parley_lab.store.session import Database
from parley_lab.testing.statements import counted


async def _events(database: Database, kind: str) -> int:
    async with database.transaction() as session:
        row = await session.one(text("SELECT count(*) AS n FROM events WHERE type = :kind"), {"kind": kind})
    count: int = row.n
    return count


async def test_a_person_goes_through_info_and_survey(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)

    first = await api.participant(token, "GET", "/v1/me")
    page = await api.participant(token, "GET", "/v1/me/stages/welcome")
    second = await api.advance(token, "welcome")
    third = await api.advance(token, "before", ANSWER)

    assert [stage["state"] for stage in first.json()["stages"]] == ["current", "locked", "locked", "locked"]
    assert page.json()["view"]["lines"] == ["# Hello"]
    assert second.json()["page"]["stage_id"] == "before"
    assert second.json()["page"]["view"]["questions"][0]["id"] == "age"
    assert third.json()["page"]["state"] == "waiting"
    assert third.json()["page"]["lock"] == {
        "reason": "Waiting for others: 1 of 2 have arrived.",
        "arrived": 1,
        "expected": 2,
    }
    assert third.json()["page"]["view"] is None
    done = await api.participant(token, "GET", "/v1/me/stages/before")
    assert done.json()["answer"] == ANSWER


async def test_two_people_go_to_the_end(api: Api) -> None:
    experiment_id = await api.running()
    tokens = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]

    for token in tokens:
        assert (await api.advance(token, "talk")).status_code == 200
        await api.settle(experiment_id)
    first, last = [await api.advance(token, "after", {"again": "yes"}) for token in tokens]

    assert first.status_code == last.status_code == 200
    assert last.json()["page"] is None
    assert last.json()["me"]["status"] == "completed"
    assert last.json()["me"]["stage_id"] is None
    assert (await api.participant(tokens[0], "GET", "/v1/me")).json()["status"] == "completed"


async def test_a_rule_looks_back_at_an_earlier_stage(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True}]}])
    token = await api.join(experiment_id)
    await api.advance(token, "welcome")
    await api.advance(token, "before", {"age": 19, "why": "Curious"})
    await api.settle(experiment_id)
    await api.advance(token, "talk")
    await api.settle(experiment_id)

    page = await api.participant(token, "GET", "/v1/me/stages/after")
    refused = await api.advance(token, "after", {"again": "yes"})

    assert page.json()["view"]["questions"] == []
    assert refused.status_code == 422
    assert (await api.advance(token, "after")).json()["me"]["status"] == "completed"


async def test_advancing_twice_from_one_stage_is_advancing_once(api: Api) -> None:
    token = await api.join(await api.running())

    first = await api.advance(token, "welcome")
    second = await api.advance(token, "welcome")

    assert first.status_code == second.status_code == 200
    assert second.json()["page"]["stage_id"] == "before"
    assert await _events(api.database, "member.moved") == 1


async def test_advancing_twice_at_once_is_advancing_once(api: Api) -> None:
    token = await api.join(await api.running())

    answers = await asyncio.gather(*(api.advance(token, "welcome") for _ in range(8)))

    assert [answer.status_code for answer in answers] == [200] * 8
    assert {answer.json()["page"]["stage_id"] for answer in answers} == {"before"}
    assert await _events(api.database, "member.moved") == 1


async def test_a_locked_stage_cannot_be_left(api: Api) -> None:
    token = await api.to_the_talk(await api.running(), "Ada")

    refused = await api.advance(token, "talk")

    assert refused.status_code == 409
    assert refused.json()["reason"] == "stage_locked"


async def test_a_stage_that_was_not_reached_is_neither_shown_nor_left(api: Api) -> None:
    token = await api.join(await api.running())

    shown = await api.participant(token, "GET", "/v1/me/stages/after")
    left = await api.advance(token, "after", {})
    unknown = await api.advance(token, "nowhere")

    assert (shown.status_code, shown.json()["reason"]) == (409, "stage_not_reached")
    assert (left.status_code, left.json()["reason"]) == (409, "stage_not_reached")
    assert unknown.status_code == 404


async def test_an_answer_with_problems_tells_all_of_them_and_moves_no_one(api: Api) -> None:
    token = await api.join(await api.running())
    await api.advance(token, "welcome")

    refused = await api.advance(token, "before", {"age": 7, "why": None, "shoe": 43})

    assert refused.status_code == 422
    assert {problem["where"] for problem in refused.json()["problems"]} == {"age", "why", "shoe"}
    assert (await api.participant(token, "GET", "/v1/me")).json()["stage_id"] == "before"


@pytest.mark.parametrize(
    "value", ['"\\u0000"', '"\\ud800"', "NaN", "1e999", "1" + "0" * 30, "[" * 60 + "]" * 60, '{"\\u0000": 1}']
)
async def test_an_answer_that_cannot_be_stored_is_refused(api: Api, value: str) -> None:
    token = await api.join(await api.running())
    await api.advance(token, "welcome")

    refused = await api.participant(
        token,
        "POST",
        "/v1/me/stages/before/advance",
        content=f'{{"answer": {{"why": {value}}}}}',
        headers={"Content-Type": "application/json"},
    )

    assert refused.status_code == 422
    assert refused.json()["problems"]


async def test_what_is_said_once_is_stored_once(api: Api) -> None:
    experiment_id = await api.running()
    ada, bo = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]
    address = f"/v1/me/threads/{await api.thread(ada)}/messages"

    first = await api.participant(ada, "POST", address, json={"text": "Hello", "client_message_id": "m-1"})
    again = await api.participant(ada, "POST", address, json={"text": "Hello", "client_message_id": "m-1"})
    answer = await api.participant(
        bo, "POST", address, json={"text": "Hi Ada", "client_message_id": "m-1", "reply_to": first.json()["id"]}
    )
    listed = await api.participant(bo, "GET", address)
    later = await api.participant(bo, "GET", address, params={"after_seq": 1, "limit": 1})

    assert first.status_code == again.status_code == answer.status_code == 201
    assert first.json() == again.json()
    assert [(one["seq"], one["author"]["profile"]["name"], one["text"]) for one in listed.json()["messages"]] == [
        (1, "Ada", "Hello"),
        (2, "Bo", "Hi Ada"),
    ]
    assert listed.json()["messages"][0] == first.json()
    assert [one["seq"] for one in later.json()["messages"]] == [2]
    assert "explanation" not in listed.text


async def test_saying_the_same_twice_at_once_says_it_once(api: Api) -> None:
    experiment_id = await api.running()
    ada, _ = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]
    address = f"/v1/me/threads/{await api.thread(ada)}/messages"

    answers = await asyncio.gather(
        *(api.participant(ada, "POST", address, json={"text": "Hello", "client_message_id": "m-1"}) for _ in range(6))
    )

    assert Counter(answer.status_code for answer in answers) == {201: 6}
    assert len({answer.json()["id"] for answer in answers}) == 1


async def test_another_text_under_a_used_id_is_refused(api: Api) -> None:
    experiment_id = await api.running()
    ada, _ = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]
    address = f"/v1/me/threads/{await api.thread(ada)}/messages"

    async def say(text: str) -> httpx2.Response:
        return await api.participant(ada, "POST", address, json={"text": text, "client_message_id": "m-1"})

    first = await say("Hello")
    other = await say("Hello again")
    again = await say("Hello")
    listed = await api.participant(ada, "GET", address)

    assert (other.status_code, other.json()["reason"]) == (409, "id_used")
    assert "client_message_id" in other.json()["detail"]
    assert (again.status_code, again.json()) == (201, first.json())
    assert [one["text"] for one in listed.json()["messages"]] == ["Hello"]


async def test_of_two_texts_under_one_id_at_once_one_is_stored(api: Api) -> None:
    experiment_id = await api.running()
    ada, _ = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]
    address = f"/v1/me/threads/{await api.thread(ada)}/messages"

    answers = await asyncio.gather(
        *(
            api.participant(ada, "POST", address, json={"text": text, "client_message_id": "m-1"})
            for text in ("Yes", "No") * 3
        )
    )
    listed = await api.participant(ada, "GET", address)

    (remains,) = [one["text"] for one in listed.json()["messages"]]
    assert Counter(answer.status_code for answer in answers) == {201: 3, 409: 3}
    assert {answer.json()["text"] for answer in answers if answer.status_code == 201} == {remains}


@pytest.mark.parametrize("said", ["", "   \n", "x" * 10_001, "a\u0000b"])
async def test_a_message_is_neither_blank_nor_endless(api: Api, said: str) -> None:
    experiment_id = await api.running()
    ada, _ = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]

    refused = await api.participant(
        ada,
        "POST",
        f"/v1/me/threads/{await api.thread(ada)}/messages",
        json={"text": said, "client_message_id": "m-1"},
    )

    assert refused.status_code == 422
    assert refused.json()["problems"][0]["where"] == "text"


async def test_no_one_speaks_where_they_are_not(api: Api) -> None:
    experiment_id = await api.running()
    ada, bo = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]
    address = f"/v1/me/threads/{await api.thread(ada)}/messages"
    message = {"text": "Hello", "client_message_id": "m-1"}
    await api.advance(ada, "talk")
    stranger = await api.join(await api.running())

    gone = await api.participant(ada, "POST", address, json=message)
    other = await api.participant(stranger, "POST", address, json=message)
    nowhere = await api.participant(bo, "POST", f"/v1/me/threads/{uuid4()}/messages", json=message)
    peeping = await api.participant(stranger, "GET", address)
    wrong = await api.participant(bo, "POST", address, json={**message, "reply_to": str(uuid4())})

    assert gone.status_code == 409
    assert other.status_code == nowhere.status_code == peeping.status_code == 404
    assert wrong.status_code == 422


async def test_who_has_not_come_to_the_talk_cannot_read_it(api: Api) -> None:
    stages = [
        {"id": "welcome", "kind": "info", "lines": ["# Hello"]},
        {"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}},
    ]
    experiment_id = await api.running(stages=stages)
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    await api.advance(ada, "welcome")
    await api.settle(experiment_id)
    address = f"/v1/me/threads/{await api.thread(ada)}/messages"
    message = {"text": "Hello", "client_message_id": "m-1"}

    reading = await api.participant(bo, "GET", address)
    speaking = await api.participant(bo, "POST", address, json=message)

    assert reading.status_code == 404
    assert (speaking.status_code, speaking.json()["reason"]) == (409, "not_in_thread")


async def test_who_leaves_is_out_for_good(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)

    first = await api.participant(token, "POST", "/v1/me/leave")
    second = await api.participant(token, "POST", "/v1/me/leave")
    advanced = await api.advance(token, "welcome")

    assert first.json()["status"] == second.json()["status"] == "left"
    assert (advanced.status_code, advanced.json()["reason"]) == (409, "not_in_progress")
    assert await _events(api.database, "member.left") == 1


async def test_seats_are_taken_once_however_many_come_at_once(api: Api) -> None:
    experiment_id = await api.running()

    answers = await asyncio.gather(*(api.take_seat(experiment_id) for _ in range(5)))

    assert Counter(answer.status_code for answer in answers) == {201: 2, 409: 3}
    assert {answer.json().get("reason") for answer in answers if answer.status_code == 409} == {"full"}


async def test_no_one_joins_a_draft_or_nothing(api: Api) -> None:
    created = await api.experimenter("POST", "/v1/experiments", json={**FILE, "name": "Draft"})

    early = await api.take_seat(created.json()["id"])
    lost = await api.take_seat(str(uuid4()))

    assert (early.status_code, early.json()["reason"]) == (409, "not_running")
    assert lost.status_code == 404


async def test_participants_see_nothing_of_who_is_an_agent(api: Api) -> None:
    stages = [{"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}}]
    personas = [{"id": "ann", "profile": {"name": "Ann"}, "text": "A secret past", "chat": {"initial_message": "Hi"}}]
    seats = [{"open": True}, {"persona": "ann"}]
    experiment_id = await api.running(stages=stages, personas=personas, cohorts=[{"seats": seats}])
    token = await api.join(experiment_id)

    page = await api.participant(token, "GET", "/v1/me/stages/talk")
    messages = await api.participant(token, "GET", f"/v1/me/threads/{await api.thread(token)}/messages")

    assert {person["profile"]["name"] for person in page.json()["view"]["people"]} == {"Ada", "Ann"}
    for shown in (page, messages):
        assert "agent" not in shown.text
        assert "secret" not in shown.text


async def test_statements_of_the_hot_paths_stay_few(api: Api) -> None:
    experiment_id = await api.running()
    ada, _ = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]
    address = f"/v1/me/threads/{await api.thread(ada)}/messages"
    other = await api.join(await api.running())

    with counted() as page:
        await api.advance(other, "welcome")
    with counted() as message:
        await api.participant(ada, "POST", address, json={"text": "Hello", "client_message_id": "m-1"})

    assert len(page) <= 8, page
    assert len(message) <= 6, message


async def test_requests_are_answered_while_no_one_takes_the_outbox(api: Api) -> None:
    token = await api.join(await api.running())

    answered = await api.advance(token, "welcome")

    async with api.database.transaction() as session:
        left = await session.one(text("SELECT count(*) AS n FROM outbox"))
    assert answered.status_code == 200
    assert left.n > 0


async def test_the_cursor_of_a_page_belongs_to_the_cohort(api: Api) -> None:
    token = await api.join(await api.running())

    shown = await api.participant(token, "GET", "/v1/me")

    cohort, _, number = shown.json()["cursor"].partition(":")
    assert UUID(cohort) == UUID(shown.json()["cohort_id"])
    assert int(number) >= 2


async def test_how_someone_came_to_an_arm_is_told_to_the_experimenter_only(api: Api) -> None:
    stages = [{"id": "welcome", "kind": "info", "lines": ["Hello"]}]
    arms = {"treatments": [{"id": "a"}, {"id": "b"}], "cohorts": [{"seats": [{"open": True}], "count": 4}]}
    experiment_id = await api.running(stages=stages, **arms)
    first, second, third = [await api.join(experiment_id, name) for name in ("Ada", "Bo", "Cy")]
    cohorts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    free = next(cohort["id"] for cohort in cohorts if cohort["open_seats"])
    await api.take_seat(experiment_id, cohort_id=free)

    members = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    shown = await api.participant(first, "GET", "/v1/me")

    drawn = sorted((one for one in members if one["joining"]["draw"]), key=lambda one: one["joining"]["draw"])
    assert [one["joining"] for one in drawn] == [
        {"rule": "drawn", "draw": 1, "block": 1, "probability": 0.5},
        {"rule": "drawn", "draw": 2, "block": 1, "probability": 1.0},
        {"rule": "drawn", "draw": 3, "block": 2, "probability": 0.5},
    ]
    assert {drawn[0]["treatment_id"], drawn[1]["treatment_id"]} == {"a", "b"}
    assert [one["joining"]["rule"] for one in members].count("named") == 1
    assert "joining" not in shown.text
    assert len({first, second, third}) == 3
