"""Open asks of a person and their answers: final, and shown to no other member."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api
from parley_lab.kinds.stages import kinds
from parley_lab.testing.rounds import RoundQuestions, rounds_for_info

GAME: dict[str, Any] = {
    "stages": [{"id": "game", "kind": "info", "lines": ["2"], "progress": {"wait_for_all": True}}],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


@pytest.fixture(autouse=True)
def _game() -> Iterator[None]:
    with rounds_for_info():
        yield


async def two_players(api: Api) -> tuple[str, str, str]:
    """The experiment and the tokens of two people who are asked for their first number."""
    experiment_id = await api.running(**GAME)
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Bob")]
    return experiment_id, tokens[0], tokens[1]


async def asked(api: Api, token: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.participant(token, "GET", "/v1/me")).json()["asks"]
    return found


async def answer(api: Api, token: str, ask_id: str, value: Any) -> Any:
    return await api.participant(token, "POST", f"/v1/me/asks/{ask_id}/answer", json={"answer": value})


async def test_what_is_wanted_now_is_in_the_shell_and_on_the_page(api: Api) -> None:
    _, ada, _ = await two_players(api)

    (ask,) = await asked(api, ada)
    page = (await api.participant(ada, "GET", "/v1/me/stages/game")).json()

    assert (ask["stage_id"], ask["key"], ask["purpose"]) == ("game", "round:1/number", "number")
    assert page["asks"] == [ask]
    assert page["blocked_by"] == ["The game goes on."]


async def test_a_kind_is_not_asked_how_an_answer_is_shown_that_is_not_there(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(questions: RoundQuestions, answer: Any) -> Any:
        assert answer is not None
        return answer

    monkeypatch.setattr(RoundQuestions, "shown", shown)
    _, ada, _ = await two_players(api)

    page = await api.participant(ada, "GET", "/v1/me/stages/game")

    assert page.status_code == 200, page.text
    assert page.json()["answer"] is None


async def test_an_answer_is_final_and_the_same_one_again_gives_what_is_stored(api: Api) -> None:
    _, ada, _ = await two_players(api)
    (ask,) = await asked(api, ada)

    first = await answer(api, ada, ask["id"], 4)
    again = await answer(api, ada, ask["id"], 4)
    other = await answer(api, ada, ask["id"], 5)

    assert first.status_code == 200, first.text
    assert first.json() == {"ask_id": ask["id"], "stage_id": "game", "key": "round:1/number", "answer": 4}
    assert again.json() == first.json()
    assert (other.status_code, other.json()["reason"]) == (409, "ask_closed")
    assert await asked(api, ada) == []


async def test_an_answer_that_does_not_fit_is_refused_with_its_problems_and_the_ask_stays_open(api: Api) -> None:
    _, ada, _ = await two_players(api)
    (ask,) = await asked(api, ada)

    refused = await answer(api, ada, ask["id"], "many")

    assert refused.status_code == 422
    assert refused.json()["problems"][0]["expected"] == "0 to 99"
    assert await asked(api, ada) == [ask]


async def test_of_many_different_answers_at_the_same_time_exactly_one_counts(api: Api) -> None:
    _, ada, _ = await two_players(api)
    (ask,) = await asked(api, ada)

    responses = await asyncio.gather(*(answer(api, ada, ask["id"], value) for value in range(8)))

    assert sorted(response.status_code for response in responses) == [200, *[409] * 7]


async def test_an_ask_of_someone_else_is_one_that_there_is_not(api: Api) -> None:
    _, ada, bob = await two_players(api)
    (ask,) = await asked(api, ada)

    assert (await answer(api, bob, ask["id"], 4)).status_code == 404
    assert (await answer(api, ada, str(uuid4()), 4)).status_code == 404
    assert (await api.client.post(f"/v1/me/asks/{ask['id']}/answer", json={"answer": 4})).status_code == 401


async def test_what_another_answered_is_in_no_response_before_the_round_is_complete(api: Api) -> None:
    experiment_id, ada, bob = await two_players(api)
    (of_ada,), (of_bob,) = await asked(api, ada), await asked(api, bob)
    await answer(api, ada, of_ada["id"], 77)
    await api.settle(experiment_id)

    before = await api.participant(bob, "GET", "/v1/me/stages/game")
    await answer(api, bob, of_bob["id"], 5)
    await api.settle(experiment_id)
    after = await api.participant(bob, "GET", "/v1/me/stages/game")

    assert "77" not in before.text.replace(of_ada["id"], "").replace(of_bob["id"], "")
    assert [sorted(named.values()) for named in map(json.loads, after.json()["view"]["lines"])] == [[5, 77]]
    assert [ask["key"] for ask in after.json()["asks"]] == ["round:2/number"]


async def test_the_stream_tells_each_player_of_their_own_asks_and_no_one_of_an_answer(api: Api) -> None:
    experiment_id, ada, bob = await two_players(api)
    (of_ada,) = await asked(api, ada)
    await answer(api, ada, of_ada["id"], 77)
    await api.settle(experiment_id)

    async with api.database.transaction() as session:
        rows = await session.all(
            text("SELECT type, audience, subject_id, public FROM events WHERE type LIKE 'ask.%' ORDER BY stream_seq")
        )

    assert [row.type for row in rows] == ["ask.opened", "ask.opened", "ask.answered"]
    assert all(row.audience == [row.subject_id] for row in rows)
    assert rows[-1].public == {"stage_id": "game", "key": "round:1/number"}
    assert bob


async def test_after_the_last_round_a_player_goes_on_with_the_page_that_the_game_comes_to(api: Api) -> None:
    experiment_id, ada, bob = await two_players(api)
    early = await api.advance(ada, "game")
    for value in (3, 4):
        for token in (ada, bob):
            (ask,) = await asked(api, token)
            await answer(api, token, ask["id"], value)
        await api.settle(experiment_id)

    gone_on = await api.advance(ada, "game")

    assert early.status_code in (409, 422)
    assert gone_on.status_code == 200, gone_on.text
    assert gone_on.json()["me"]["status"] == "completed"
    page = await api.participant(ada, "GET", "/v1/me/stages/game")
    assert page.json()["answer"] == {"sum": 7}


async def test_who_has_left_answers_nothing_more(api: Api) -> None:
    _, ada, _ = await two_players(api)
    (ask,) = await asked(api, ada)
    await api.participant(ada, "POST", "/v1/me/leave")

    refused = await answer(api, ada, ask["id"], 4)

    assert (refused.status_code, refused.json()["reason"]) == (409, "ask_closed")


@pytest.mark.parametrize("kind", ["matrix_game", "group_interview", "beauty_contest"])
@pytest.mark.parametrize("body", [{}, {"answer": {}}, {"answer": None}])
async def test_going_on_without_an_answer_skips_nothing_that_the_lab_asks(
    api: Api, kind: str, body: dict[str, Any]
) -> None:
    stage = kinds()[kind].example().model_dump(mode="json")
    experiment_id = await api.running(stages=[{**stage, "id": "game"}], cohorts=GAME["cohorts"])
    ada, bob = [await api.join(experiment_id, name) for name in ("Ada", "Bob")]

    refused = [await api.participant(one, "POST", "/v1/me/stages/game/advance", json=body) for one in (ada, bob)]

    assert [one.status_code for one in refused] == [409, 409]
    assert {one.json()["code"] for one in refused} == {"conflict"}
    statuses = [(await api.participant(one, "GET", "/v1/me")).json()["status"] for one in (ada, bob)]
    assert statuses == ["in_progress", "in_progress"]
