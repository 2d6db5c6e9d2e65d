"""What people have begun to answer is kept for them alone, until the answer is given."""

import asyncio
import io
import zipfile
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import ANSWER, Api
from parley_lab.testing.rounds import rounds_for_info

pytestmark = pytest.mark.postgres

SECRET = "half a thought"
GAME: dict[str, Any] = {
    "stages": [{"id": "game", "kind": "info", "lines": ["2"], "progress": {"wait_for_all": True}}],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


async def on_the_survey(api: Api) -> tuple[str, str]:
    """The experiment, and the token of a participant on its survey."""
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    await api.advance(token, "welcome")
    await api.settle(experiment_id)
    return experiment_id, token


async def save(api: Api, token: str, address: str, answer: Any) -> tuple[int, str | None]:
    """The status, and the reason of a refusal."""
    saved = await api.participant(token, "PUT", f"/v1/me/{address}/answer", json={"answer": answer})
    return saved.status_code, saved.json().get("reason") if saved.content else None


async def saved(api: Api, token: str, address: str) -> Any:
    found = await api.participant(token, "GET", f"/v1/me/{address}/answer")
    assert found.status_code == 200, found.text
    return found.json()["answer"]


async def kept_rows(api: Api) -> int:
    async with api.database.transaction() as session:
        row = await session.one(text("SELECT count(*) AS n FROM partial_answers"))
    return int(row.n)


async def test_the_page_gives_back_what_was_saved_last_and_checks_none_of_it(api: Api) -> None:
    _, token = await on_the_survey(api)
    before = await saved(api, token, "stages/before")

    first = await save(api, token, "stages/before", {"age": 7})
    second = await save(api, token, "stages/before", {"age": "seven", "no_such": [1]})

    assert (before, first, second) == (None, (204, None), (204, None))
    page = (await api.participant(token, "GET", "/v1/me/stages/before")).json()
    assert page["forms"][0]["saved"] == await saved(api, token, "stages/before") == {"age": "seven", "no_such": [1]}
    assert page["answer"] is None


async def test_what_was_saved_is_deleted_with_the_answer_and_nothing_is_saved_afterwards(api: Api) -> None:
    _, token = await on_the_survey(api)
    await save(api, token, "stages/before", {"why": SECRET})

    await api.advance(token, "before", ANSWER)

    assert await kept_rows(api) == 0
    assert await save(api, token, "stages/before", {"why": SECRET}) == (409, "ask_closed")


@pytest.mark.parametrize("stage_id", ["welcome", "talk", "nowhere"])
async def test_nothing_is_saved_where_the_participant_is_not(api: Api, stage_id: str) -> None:
    _, token = await on_the_survey(api)

    assert await save(api, token, f"stages/{stage_id}", {}) == (409, "ask_closed")
    assert await kept_rows(api) == 0


async def test_nothing_is_saved_on_a_stage_that_is_not_open(api: Api) -> None:
    experiment_id = await api.running(**GAME)
    token = await api.join(experiment_id)

    assert await save(api, token, "stages/game", {}) == (409, "ask_closed")


async def test_of_saving_and_answering_at_once_nothing_is_left(api: Api) -> None:
    _, token = await on_the_survey(api)

    answers = await asyncio.gather(
        *(save(api, token, "stages/before", {"why": str(number)}) for number in range(6)),
        api.advance(token, "before", ANSWER),
        *(save(api, token, "stages/before", {"why": str(number)}) for number in range(6)),
    )

    assert {one for one in answers if isinstance(one, tuple)} <= {(204, None), (409, "ask_closed")}
    assert await kept_rows(api) == 0


async def test_what_is_begun_for_an_ask_belongs_to_the_one_who_is_asked(api: Api) -> None:
    with rounds_for_info():
        experiment_id = await api.running(**GAME)
        ada, bob = [await api.join(experiment_id, name) for name in ("Ada", "Bob")]
        (ask,) = (await api.participant(ada, "GET", "/v1/me")).json()["asks"]
        address = f"asks/{ask['id']}"

        assert await save(api, ada, address, SECRET) == (204, None)

        page = await api.participant(ada, "GET", "/v1/me/stages/game")
        assert [form["saved"] for form in page.json()["forms"]] == [SECRET]
        assert await save(api, bob, address, 1) == (404, None)
        assert await save(api, ada, f"asks/{uuid4()}", 1) == (404, None)
        for path in ("/v1/me", "/v1/me/stages/game"):
            assert SECRET not in (await api.participant(bob, "GET", path)).text
        await api.participant(ada, "POST", f"/v1/me/{address}/answer", json={"answer": 4})
        assert await save(api, ada, address, 5) == (409, "ask_closed")
        assert await kept_rows(api) == 0


async def test_it_is_in_no_data_file_and_no_event_and_goes_with_who_leaves(api: Api) -> None:
    experiment_id, token = await on_the_survey(api)
    await save(api, token, "stages/before", {"why": SECRET})

    export = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    async with api.database.transaction() as session:
        events = await session.all(text("SELECT CAST(payload AS text) FROM events"))
    await api.participant(token, "POST", "/v1/me/leave")

    with zipfile.ZipFile(io.BytesIO(export.content)) as files:
        assert not any(SECRET.encode() in files.read(name) for name in files.namelist())
    assert SECRET not in str(events)
    assert await kept_rows(api) == 0


async def test_a_deleted_experiment_keeps_nothing_of_it(api: Api) -> None:
    experiment_id, token = await on_the_survey(api)
    await save(api, token, "stages/before", {"why": SECRET})

    deleted = await api.experimenter("DELETE", f"/v1/experiments/{experiment_id}")

    assert deleted.status_code == 204, deleted.text
    assert await kept_rows(api) == 0


async def test_without_a_token_and_with_too_much_nothing_is_saved(api: Api) -> None:
    _, token = await on_the_survey(api)

    unknown = await save(api, "nonsense", "stages/before", {})
    large = await save(api, token, "stages/before", {"why": "a" * 300_000})

    assert (unknown[0], large[0]) == (401, 413)
    assert await kept_rows(api) == 0
