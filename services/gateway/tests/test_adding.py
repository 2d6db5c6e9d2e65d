"""Lab staff add agents and mediators to a cohort that runs, and take them out again."""

import asyncio
from typing import Any, Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api, following
from parley_lab.store import keys

pytestmark = pytest.mark.postgres

PERSONAS: Final[list[dict[str, Any]]] = [
    {"id": "sam", "text": "Likes {{topic}}.", "profile": {"name": "Sam"}},
    {"id": "guide", "text": "A guide", "chat": {"initial_message": "Welcome."}},
    {"id": "tool", "player": "script", "text": "A script"},
]
STAGES: Final[list[dict[str, Any]]] = [
    {"id": "welcome", "kind": "info", "lines": ["# Hello"]},
    {"id": "talk", "kind": "group_chat"},
    {"id": "later", "kind": "group_chat"},
]
FILE: Final[dict[str, Any]] = {
    "personas": PERSONAS,
    "variables": {"topic": "trams"},
    "assigned": [{"id": "turn", "kind": "balanced", "values": ["first", "second", "third"]}],
    "stages": STAGES,
}


async def rows(api: Api, query: str) -> list[Any]:
    async with api.database.transaction() as session:
        return list(await session.all(text(query)))


async def cohort(api: Api, experiment_id: str) -> str:
    (found,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    return str(found["id"])


async def add(api: Api, cohort_id: str, persona: Any = "sam", **more: Any) -> Any:
    headers = more.pop("headers", {})
    body = {"persona": persona, **more}
    return await api.experimenter("POST", f"/v1/cohorts/{cohort_id}/members", json=body, headers=headers)


async def in_the_talk(api: Api) -> tuple[str, str, str, str]:
    """The experiment, its cohort, and the tokens of Ada and Ben, who talk."""
    experiment_id = await api.running(**FILE)
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Ben")]
    for token in tokens:
        await api.advance(token, "welcome")
    await api.settle(experiment_id)
    return experiment_id, await cohort(api, experiment_id), tokens[0], tokens[1]


async def heard(api: Api, token: str) -> list[str]:
    url = f"/v1/me/threads/{await api.thread(token)}/messages"
    return [one["text"] for one in (await api.participant(token, "GET", url)).json()["messages"]]


async def test_an_agent_gets_a_seat_of_its_own_and_the_data_say_who_added_it(api: Api) -> None:
    experiment_id, cohort_id, *_ = await in_the_talk(api)

    added = await add(api, cohort_id, stage_id="talk")
    listed = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]

    assert added.status_code == 201, added.text
    found = added.json()
    assert (found["path"], found["player"], found["added_by"]) == ("c1/m3", "agent", "Ellen")
    assert (found["status"], found["stage_id"]) == ("in_progress", "talk")
    assert found["agent"]["text"] == "Likes trams."
    assert [one["added_by"] for one in listed] == [None, None, "Ellen"]
    (row,) = await rows(api, "SELECT assigned -> 'turn' ->> 'value' AS turn FROM members WHERE path = 'c1/m3'")
    assert row.turn == "third", "it is the third to arrive"
    (event,) = await rows(api, "SELECT actor, cause, subject, public, audience FROM events WHERE type = 'member.added'")
    assert event == ("Ellen", "request", "c1/m3", None, [])
    (hint,) = await rows(api, f"SELECT type FROM outbox WHERE subject_id = '{found['id']}'")  # noqa: S608 - an id
    assert hint.type == "member.changed"


async def test_the_others_are_not_told_that_someone_was_added_and_see_one_more(api: Api, address: str) -> None:
    experiment_id, cohort_id, ada, ben = await in_the_talk(api)

    await add(api, cohort_id, stage_id="talk")
    await api.settle(experiment_id)
    shown = (await api.participant(ada, "GET", "/v1/me/stages/talk")).json()["view"]
    await api.participant(ben, "POST", "/v1/me/leave")
    types = []
    async with following(address, ada) as events:
        async for event in events:
            types.append(event["type"])
            if event["type"] == "member.left":
                break

    assert "Sam" in str(shown), shown
    assert "member.added" not in types


async def test_a_mediator_comes_into_the_talk_that_goes_on_and_leaves_it_again(api: Api) -> None:
    experiment_id, cohort_id, ada, ben = await in_the_talk(api)
    for token in (ada, ben):
        await api.advance(token, "talk")
    await api.settle(experiment_id)

    added = (await add(api, cohort_id, "guide", kind="mediator")).json()
    removed = await api.experimenter("POST", f"/v1/members/{added['id']}/remove", json={"reason": "enough"})
    await api.settle(experiment_id)
    page = (await api.participant(ada, "GET", "/v1/me/stages/later")).json()
    url = f"/v1/me/threads/{page['thread']['id']}/messages"
    said = [one["text"] for one in (await api.participant(ada, "GET", url)).json()["messages"]]

    assert (added["path"], added["kind"], added["stage_ids"]) == ("c1/med1", "mediator", ["talk", "later"])
    assert removed.json()["status"] == "removed"
    assert said == ["Welcome.", "Mediator 1 has left the chat."]
    (event,) = await rows(api, "SELECT actor FROM events WHERE type = 'member.removed'")
    assert event.actor == "Ellen"


async def test_an_agent_added_at_the_beginning_is_waited_for_and_no_more_once_it_is_removed(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    cohort_id = await cohort(api, experiment_id)
    ada, ben = [await api.join(experiment_id, name) for name in ("Ada", "Ben")]

    added = (await add(api, cohort_id)).json()
    for token in (ada, ben):
        await api.advance(token, "welcome")
    await api.settle(experiment_id)
    waiting = (await api.participant(ada, "GET", "/v1/me/stages/talk")).json()["state"]
    await api.experimenter("POST", f"/v1/members/{added['id']}/remove", json={"reason": "enough"})
    await api.settle(experiment_id)
    opened = (await api.participant(ada, "GET", "/v1/me/stages/talk")).json()["state"]

    assert (added["stage_id"], waiting, opened) == ("welcome", "waiting", "current")


async def test_an_agent_comes_with_a_new_text_and_the_file_stays_as_it_was(api: Api) -> None:
    experiment_id, cohort_id, *_ = await in_the_talk(api)
    kim = {"id": "kim", "profile": {"name": "Kim"}, "text": "Likes {{topic}} and bicycles."}
    before = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/file")).json()

    added = await add(api, cohort_id, kim, stage_id="talk")
    again = await add(api, cohort_id, {**kim, "text": "Likes rain."}, kind="mediator")

    assert added.status_code == 201, added.text
    found = added.json()
    assert (found["path"], found["profile"]["name"], found["added_by"]) == ("c1/m3", "Kim", "Ellen")
    assert (found["agent"]["persona_id"], found["agent"]["text"]) == ("kim", "Likes trams and bicycles.")
    assert (again.json()["path"], again.json()["agent"]["text"]) == ("c1/med1", "Likes rain.")
    assert (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/file")).json() == before
    (event,) = await rows(api, "SELECT payload FROM events WHERE subject = 'c1/m3' AND type = 'member.added'")
    assert event.payload["persona"] == "kim"


@pytest.mark.parametrize(
    ("persona", "where"),
    [
        ({"id": "sam", "text": "Another Sam"}, "persona.id"),
        ({"id": "kim", "text": "Likes {{nothing_known}}."}, "persona.text"),
        ({"id": "kim", "text": "Answered {{answers.talk.ten}}."}, "persona.text"),
        ({"id": "kim", "player": "script"}, "persona"),
        ({"id": "kim", "by_stage": {"nowhere": {}}}, "persona.by_stage.nowhere"),
    ],
)
async def test_a_new_persona_that_does_not_fit_the_experiment_is_refused(
    api: Api, persona: dict[str, Any], where: str
) -> None:
    _, cohort_id, *_ = await in_the_talk(api)

    refused = await add(api, cohort_id, persona)

    assert refused.status_code == 422, refused.text
    assert [one["where"] for one in refused.json()["problems"]] == [where]
    assert len(await rows(api, "SELECT 1 FROM members")) == 2


async def test_two_who_are_added_at_once_get_two_seats(api: Api) -> None:
    _, cohort_id, *_ = await in_the_talk(api)

    added = await asyncio.gather(*(add(api, cohort_id, stage_id="talk") for _ in range(5)))

    assert sorted(one.json()["path"] for one in added) == [f"c1/m{number}" for number in range(3, 8)]


async def test_who_is_no_agent_of_the_experiment_and_where_no_stage_is_are_told(api: Api) -> None:
    experiment_id, cohort_id, *_ = await in_the_talk(api)
    async with api.database.transaction() as session:
        stranger = await keys.create_key(session, "Stranger", api.clock.now())

    wrong = [
        await add(api, cohort_id, "nobody"),
        await add(api, cohort_id, "tool"),
        await add(api, cohort_id, stage_id="nowhere"),
        await add(api, cohort_id, "guide", kind="mediator", stage_id="talk"),
    ]
    missing = [
        await add(api, str(UUID(int=7))),
        await add(api, cohort_id, headers={"Authorization": f"Bearer {stranger}"}),
    ]
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    paused = await add(api, cohort_id)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    over = await add(api, cohort_id)

    assert [(one.status_code, one.json()["problems"][0]["where"]) for one in wrong] == [
        (422, "persona"), (422, "persona"), (422, "stage_id"), (422, "stage_id"),
    ]  # fmt: skip
    assert [one.status_code for one in missing] == [404, 404]
    assert [(one.status_code, one.json()["reason"]) for one in (paused, over)] == [
        (409, "paused"), (409, "cohort_ended"),
    ]  # fmt: skip
    assert len(await rows(api, "SELECT 1 FROM members")) == 2


async def test_a_game_that_has_begun_or_is_full_takes_no_one(api: Api) -> None:
    contest = {"id": "contest", "kind": "beauty_contest", "rounds": 1}
    last = {"id": "last", "kind": "info", "lines": ["Bye"]}
    experiment_id = await api.running(**{**FILE, "personas": PERSONAS[:2], "stages": [STAGES[0], contest, last]})
    cohort_id = await cohort(api, experiment_id)

    before = await add(api, cohort_id)
    await api.experimenter("POST", f"/v1/members/{before.json()['id']}/remove", json={"reason": "enough"})
    for name in ("Ada", "Ben"):
        await api.advance(await api.join(experiment_id, name), "welcome")
        await api.settle(experiment_id)
    begun = await add(api, cohort_id)
    behind = await add(api, cohort_id, stage_id="last")

    assert (before.status_code, behind.status_code) == (201, 201)
    assert (begun.status_code, begun.json()["reason"]) == (409, "in_a_game")


async def test_a_page_on_which_each_is_alone_takes_everybody(api: Api) -> None:
    question = {"id": "ten", "kind": "text", "title": "How many?", "correct": "ten"}
    check = {"id": "check", "kind": "comprehension", "questions": [question]}
    experiment_id = await api.running(**{**FILE, "personas": PERSONAS[:2], "stages": [check]})
    await api.join(experiment_id, "Ada")
    await api.settle(experiment_id)

    added = await add(api, await cohort(api, experiment_id))

    assert added.status_code == 201, added.text


async def test_a_game_for_two_takes_no_third(api: Api) -> None:
    game = {"id": "game", "kind": "matrix_game"}
    experiment_id = await api.running(**{**FILE, "personas": PERSONAS[:2], "stages": [STAGES[0], game]})

    refused = await add(api, await cohort(api, experiment_id))

    assert (refused.status_code, refused.json()["reason"]) == (409, "full")
