"""The board of an experiment, and its stream: rows move as the list of members says, and no text passes."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from parley_lab.base.errors import Unavailable
from parley_lab.experiments import board as boards
from parley_lab.gateway.resources.board import BoardResource
from parley_lab.gateway.testing import ANSWER, Api
from parley_lab.gateway.testing.streams import Sent, listening, until
from parley_lab.gateway.watching import BoardTicks, Followed
from parley_lab.store.session import Database
from parley_lab.talk import streams
from parley_lab.testing.statements import counted

pytestmark = pytest.mark.postgres

SOLO = {
    "stages": [{"id": "page", "kind": "info", "lines": ["Hello."]}, {"id": "after", "kind": "info", "lines": ["End."]}],
    "cohorts": [{"made": "on_arrival", "count": 3, "seats": [{"open": True}]}],
}


async def board_of(api: Api, experiment_id: str) -> dict[str, Any]:
    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/board")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    BoardResource.model_validate(found)
    return found


def rows(board: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The members by path, with the names of their fields."""
    found = [dict(zip(board["columns"], row, strict=True)) for row in board["members"]]
    return {one["path"]: one for one in found}


def places(board: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    """The state and the stage of each member."""
    stages = [one["id"] for one in board["stages"]]
    found = {}
    for row in rows(board).values():
        way = board["ways"][row["way"]]
        found[row["id"]] = (row["status"], stages[way[row["position"]]] if row["position"] < len(way) else None)
    return found


async def places_of_members(api: Api, experiment_id: str) -> dict[str, tuple[str, str | None]]:
    found = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    return {one["id"]: (one["status"], one["stage_id"]) for one in found}


def moved(places: dict[str, tuple[str, str | None]], seqs: dict[str, int], events: list[Sent]) -> None:
    """Apply events to the places as a console does: each once, those that the board knows not at all."""
    for one in events:
        told = one.data
        if told.get("stream_seq", 0) <= seqs.get(told.get("cohort_id"), 0):
            continue
        seqs[told["cohort_id"]] = told["stream_seq"]
        member = told["subject_id"]
        if one.type in ("member.joined", "member.moved"):
            stage = told["data"].get("to_stage_id") if one.type == "member.moved" else places[member][1]
            places[member] = ("in_progress" if stage else "completed", stage)
        if one.type == "member.left":
            places[member] = ("left", places[member][1])


async def test_the_board_says_of_each_member_what_the_list_of_members_says(api: Api) -> None:
    experiment_id = await api.running()
    await api.to_the_talk(experiment_id, "Ada")
    await api.join(experiment_id, "Bo")

    board = await board_of(api, experiment_id)

    assert places(board) == await places_of_members(api, experiment_id)
    ada, bo = rows(board).values()
    assert (ada["name"], bo["name"], ada["cohort"], ada["gone_at"], ada["draft"]) == ("Ada", "Bo", 0, None, None)
    (cohort,) = [dict(zip(board["cohort_columns"], row, strict=True)) for row in board["cohorts"]]
    assert cohort["unlocked"] == [0, 1, 3]
    assert [one["wait_for_all"] for one in board["stages"]] == [False, False, True, False]
    assert board["experiment"]["counts"]["waiting"] == 1


async def test_a_board_is_read_by_the_same_few_statements_for_any_number_of_groups(api: Api) -> None:
    counts = []
    for count in (1, 4):
        experiment_id = await api.running(cohorts=[{"count": count, "seats": [{"open": True, "count": 2}]}])
        with counted() as statements:
            await board_of(api, experiment_id)
        counts.append(len(statements))

    assert counts[0] == counts[1] <= 8


async def test_the_board_of_another_is_not_there_and_a_draft_has_an_empty_one(api: Api) -> None:
    created = await api.experimenter("POST", "/v1/experiments", json={"parley": 1, "name": "Draft", **SOLO})

    board = await board_of(api, created.json()["id"])
    missing = await api.experimenter("GET", f"/v1/experiments/{UUID(int=1)}/board")

    assert (board["members"], board["cohorts"], [one["id"] for one in board["stages"]]) == ([], [], ["page", "after"])
    assert missing.status_code == 404


async def test_rows_move_as_the_list_says_also_after_a_cut(api: Api, address: str) -> None:
    experiment_id = await api.running()
    ada, bo = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Bo")
    board = await board_of(api, experiment_id)
    known, seqs = places(board), {row[0]: row[board["cohort_columns"].index("stream_seq")] for row in board["cohorts"]}
    path = f"/v1/experiments/{experiment_id}/stream?of=board"

    async with listening(address, f"{path}&after={board['cursor']}", api.key) as events:
        await api.advance(ada, "welcome")
        seen = await until(events, "member.moved")
    await api.advance(ada, "before", ANSWER)
    await api.advance(bo, "welcome")
    async with listening(address, f"{path}&after={seen[-1].cursor}", api.key) as events:
        await api.participant(bo, "POST", "/v1/me/leave", json={})
        seen += await until(events, "member.left")
    moved(known, seqs, seen)

    found = await places_of_members(api, experiment_id)
    assert known.items() <= found.items()
    # No event tells of a seat that is free again: the board is read again when a person is out.
    assert [found[one] for one in found.keys() - known.keys()] == [("expected", "welcome")]
    assert places(await board_of(api, experiment_id)) == found


async def test_the_stream_of_a_board_has_no_text_and_tells_of_new_groups_alerts_and_the_end(
    api: Api, address: str
) -> None:
    experiment_id = await api.running(**SOLO)
    path = f"/v1/experiments/{experiment_id}"

    async with listening(address, f"{path}/stream?of=board", api.key) as events:
        token = await api.token_of(experiment_id, profile={"name": "Ada"})
        joined = (await until(events, "member.joined"))[-1].data
        await api.participant(token, "POST", "/v1/me/help", json={"text": "I see nothing"})
        raised = await until(events, "alert.raised")
        alert = raised[-1].data["data"]["alert"]
        await api.experimenter("POST", f"/v1/alerts/{alert['id']}/resolve")
        resolved = (await until(events, "alert.resolved"))[-1].data
        await api.experimenter("POST", f"{path}/pause")
        paused = await until(events, "experiment.changed")
        await api.experimenter("POST", f"{path}/end")
        ended = await until(events, "experiment.changed")

    assert joined["data"]["profile"]["name"] == "Ada"
    assert alert["text"] == "I see nothing"
    assert "I see nothing" not in json.dumps([one.data for one in raised if one.type.startswith("member")])
    assert resolved["data"]["alert"]["resolved_by"] == "Ellen"
    assert paused[-1].data["data"]["status"] == "paused"
    assert "experiment.paused" not in [one.type for one in paused]
    assert ended[-1].data["data"]["status"] == "ended"


async def test_a_hint_is_told_later_when_its_alert_could_not_be_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment_id = await api.running(**SOLO)
    token = await api.join(experiment_id)
    context = api.app.state.context
    async with context.database.read() as session:
        ticks = BoardTicks(context, UUID(experiment_id), await boards.hints(session, UUID(experiment_id)))
    await api.participant(token, "POST", "/v1/me/help", json={"text": "I see nothing"})
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")

    async def away(*_: Any) -> Any:
        raise Unavailable("The database is away.")

    with monkeypatch.context() as outage:
        outage.setattr("parley_lab.gateway.watching.alerts.some", away)
        missed = await ticks.tell()
    told = await ticks.tell()
    again = await ticks.tell()

    assert (missed, again) == (b"", b"")
    assert [name in told for name in (b"alert.raised", b"I see nothing", b"experiment.changed")] == [True] * 3


async def test_what_was_said_is_not_in_the_stream_of_a_board(api: Api, address: str) -> None:
    experiment_id = await api.running()
    ada, bo = await api.to_the_talk(experiment_id, "Ada"), await api.to_the_talk(experiment_id, "Bo")
    await api.settle(experiment_id)
    thread_id = await api.thread(ada)
    path = f"/v1/experiments/{experiment_id}/stream"

    async with (
        listening(address, f"{path}?of=board", api.key) as board,
        listening(address, path, api.key) as everything,
    ):
        said = {"text": "Nobody knows", "client_message_id": "1"}
        await api.participant(ada, "POST", f"/v1/me/threads/{thread_id}/messages", json=said)
        (seen, all_seen) = (await until(board, "message.created"))[-1], (await until(everything, "message.created"))[-1]

    me = (await api.participant(ada, "GET", "/v1/me")).json()["member_id"]
    assert seen.data["data"] == {"stage_id": "talk", "thread_id": thread_id, "seq": 1, "member_id": me}
    assert all_seen.data["data"]["text"] == "Nobody knows"
    assert bo


async def test_a_cursor_is_short_at_any_number_of_groups_and_misses_nothing(
    api: Api, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley_lab.gateway.watching._MOST_EXACT", 1)
    experiment_id = await api.running(cohorts=[{"count": 3, "seats": [{"open": True}]}], stages=SOLO["stages"])
    api.clock.advance(61)
    board = await board_of(api, experiment_id)
    path = f"/v1/experiments/{experiment_id}/stream?of=board"

    await api.join(experiment_id)
    async with listening(address, f"{path}&after={board['cursor']}", api.key) as events:
        first = await until(events, "member.joined")
    await api.join(experiment_id)
    async with listening(address, f"{path}&after={first[-1].cursor}", api.key) as events:
        second = await until(events, "member.joined")
        second += await until(events, "member.joined")

    assert board["cursor"].startswith("s")
    assert len(board["cursor"]) <= 20
    assert len({one.data["subject_id"] for one in [*first, *second] if one.type == "member.joined"}) == 2


async def test_a_number_of_the_lab_is_safe_only_up_to_what_was_sent_and_is_no_more_in_flight(
    api: Api, database: Database
) -> None:
    experiment_id = await api.running(cohorts=[{"count": 2, "seats": [{"open": True}]}], stages=SOLO["stages"])
    async with database.read() as session:
        ids = await streams.cohorts_of(session, UUID(experiment_id))
        began = api.clock.now()
        newest = await streams.last_of(session, ids)
        in_flight = await streams.safe_seq(session, newest, began)
    api.clock.advance(61)
    await api.join(experiment_id)
    async with database.read() as session:
        behind = await streams.safe_seq(session, newest, api.clock.now())
        now = await streams.safe_seq(session, await streams.last_of(session, ids), api.clock.now())
        at_behind = await streams.positions_at(session, ids, behind)
        at_start = await streams.positions_at(session, ids, 0)

    assert in_flight == 0
    assert 0 < behind <= now
    assert at_behind == newest
    assert at_start == dict.fromkeys(ids, 0)


def test_the_exact_cursor_of_few_groups_is_kept_and_that_of_many_is_a_number() -> None:
    few = Followed({UUID(int=one): 7 for one in range(60)}, 12)
    long = Followed({UUID(int=one): 10**9 for one in range(60)}, 12)
    many = Followed({UUID(int=one): 7 for one in range(10_000)}, 12)

    assert few.cursor == ".".join(["7"] * 60)
    assert (long.cursor, many.cursor) == ("s12", "s12")


@pytest.mark.parametrize("cursor", ["s", "sx", "s-1", "1.2.3"])
async def test_a_strange_cursor_of_an_experiment_is_refused(api: Api, cursor: str) -> None:
    experiment_id = await api.running()

    refused = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/stream", params={"after": cursor})

    assert refused.status_code == 422


async def raw(api: Api, path: str, token: str, **headers: str) -> tuple[httpx2.Headers, bytes]:
    async with api.client.stream("GET", path, headers={"Authorization": f"Bearer {token}", **headers}) as answer:
        return answer.headers, b"".join([part async for part in _raw(answer)])


def _raw(answer: httpx2.Response) -> AsyncIterator[bytes]:
    return answer.aiter_raw()


async def test_long_answers_to_experimenters_are_compressed_and_no_others(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    wants = {"Accept-Encoding": "gzip"}
    address = f"/v1/experiments/{experiment_id}"

    packed, body = await raw(api, f"{address}/board", api.key, **wants)
    plain, plain_body = await raw(api, f"{address}/board", api.key, **{"Accept-Encoding": "identity"})
    short, _ = await raw(api, f"{address}/alerts", api.key, **wants)
    participants, _ = await raw(api, "/v1/me", token, **wants)

    assert (packed["content-encoding"], packed["vary"]) == ("gzip", "Accept-Encoding")
    assert int(packed["content-length"]) == len(body) < len(plain_body)
    assert json.loads(gzip.decompress(body)) == json.loads(plain_body)
    assert not any("content-encoding" in one for one in (plain, short, participants))


async def test_a_stream_is_not_compressed(api: Api, address: str) -> None:
    path = f"/v1/experiments/{await api.running()}/stream"
    headers = {"Authorization": f"Bearer {api.key}", "Accept-Encoding": "gzip"}

    async with (
        asyncio.timeout(10),
        httpx2.AsyncClient(base_url=address) as client,
        client.stream("GET", path, headers=headers) as answer,
    ):
        assert "content-encoding" not in answer.headers
