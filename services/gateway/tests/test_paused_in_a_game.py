"""A participant who is paused holds up no game and no interview: the others go on without them."""

from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

END: Final[dict[str, Any]] = {"id": "end", "kind": "info", "lines": ["Thank you."]}
CONTEST: Final[dict[str, Any]] = {"id": "game", "kind": "beauty_contest", "rounds": 2}
DILEMMA: Final[dict[str, Any]] = {"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 2}}
QUESTION: Final[dict[str, Any]] = {
    "role": "voter",
    "text": "Whom?",
    "options": {"type": "list", "values": ["Ann", "Bob"]},
}
INTERVIEW: Final[dict[str, Any]] = {
    "id": "game",
    "kind": "group_interview",
    "roles": [{"label": "voter"}, {"label": "other"}],
    "tasks": [
        {
            "id": f"t{number}",
            "type": "private_question",
            "variable": f"vote{number}",
            "questions": [QUESTION, {**QUESTION, "role": "other"}],
        }
        for number in (1, 2)
    ],
}


class Group:
    def __init__(self, api: Api, experiment_id: str, tokens: list[str]) -> None:
        self._api, self._id, self.tokens = api, experiment_id, tokens

    async def me(self, token: str) -> Any:
        return (await self._api.participant(token, "GET", "/v1/me")).json()

    async def act(self, token: str, act: str) -> None:
        member_id = (await self.me(token))["member_id"]
        done = await self._api.experimenter("POST", f"/v1/members/{member_id}/{act}", json={})
        assert done.status_code == 200, done.text
        await self._api.settle(self._id)

    async def answer(self, token: str) -> None:
        (ask,) = (await self.me(token))["asks"]
        page = (await self._api.participant(token, "GET", "/v1/me/stages/game")).json()
        (form,) = [one["form"] for one in page["forms"] if one["ask_id"] == ask["id"]]
        given = {name: _any_of(field) for name, field in form["properties"].items()}
        url = f"/v1/me/asks/{ask['id']}/answer"
        said = await self._api.participant(token, "POST", url, json={"answer": given})
        assert said.status_code == 200, said.text
        await self._api.settle(self._id)

    async def answers(self) -> list[tuple[str, str, bool]]:
        """Those of the game: path, key, and whether the lab passed for its member."""
        query = "SELECT m.path, a.key, a.passed FROM answers a JOIN members m ON m.id = a.member_id WHERE a.key <> ''"
        async with self._api.database.transaction() as session:
            return sorted(tuple(row) for row in await session.all(text(query)))


def _any_of(field: dict[str, Any]) -> Any:
    options = field.get("oneOf") or field.get("anyOf")
    return options[0]["const"] if options else field.get("minimum", 0) if field["type"] != "string" else "Ann"


async def playing(api: Api, stage: dict[str, Any], people: int) -> Group:
    file = {"stages": [stage, END], "cohorts": [{"seats": [{"open": True, "count": people}]}]}
    experiment_id = await api.running(**file)
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Ben", "Cleo")[:people]]
    await api.settle(experiment_id)
    return Group(api, experiment_id, tokens)


@pytest.mark.parametrize(
    ("stage", "people"), [(CONTEST, 3), (DILEMMA, 2), (INTERVIEW, 2)], ids=lambda one: str(one)[:40]
)
async def test_the_others_play_to_the_end_without_the_one_who_is_paused(api: Api, stage: Any, people: int) -> None:
    group = await playing(api, stage, people)
    paused, *others = group.tokens

    await group.act(paused, "pause")
    before = await group.answers()
    for _ in range(2):
        for one in others:
            await group.answer(one)
    ends = [await api.advance(one, "game") for one in others]
    await group.act(paused, "resume")
    back = await group.me(paused)

    assert before == []
    assert [one.json()["me"]["stage_id"] for one in ends] == ["end"] * len(others)
    assert [passed for path, _, passed in await group.answers() if path == "c1/m1"] == [True] * 2
    assert (back["status"], back["asks"]) == ("in_progress", [])
    assert (await api.advance(paused, "game")).json()["me"]["stage_id"] == "end"


async def test_who_goes_on_after_a_pause_is_asked_from_then_on(api: Api) -> None:
    group = await playing(api, CONTEST, 3)
    paused, *others = group.tokens
    await group.act(paused, "pause")
    for one in others:
        await group.answer(one)

    await group.act(paused, "resume")
    for one in (paused, *others):
        await group.answer(one)

    passed = [(key, passed) for path, key, passed in await group.answers() if path == "c1/m1"]
    assert [one for _, one in passed] == [True, False]
    assert {(await api.advance(one, "game")).status_code for one in group.tokens} == {200}


async def test_a_short_pause_in_which_others_still_think_takes_nothing_from_its_member(api: Api) -> None:
    group = await playing(api, CONTEST, 3)
    paused, ben, _ = group.tokens

    await group.act(paused, "pause")
    await group.answer(ben)
    await group.act(paused, "resume")

    assert len((await group.me(paused))["asks"]) == 1
    assert [path for path, _, _ in await group.answers()] == ["c1/m2"]


async def test_nothing_passes_while_everybody_is_paused(api: Api) -> None:
    group = await playing(api, CONTEST, 3)

    for one in group.tokens:
        await group.act(one, "pause")

    assert await group.answers() == []


async def test_a_game_begins_for_those_who_are_there_beside_one_who_is_paused(api: Api) -> None:
    welcome = {"id": "welcome", "kind": "info", "lines": ["Hi"]}
    file = {"stages": [welcome, DILEMMA, END], "cohorts": [{"seats": [{"open": True, "count": 2}]}]}
    experiment_id = await api.running(**file)
    group = Group(api, experiment_id, [await api.join(experiment_id, name) for name in ("Ada", "Ben")])
    ada, ben = group.tokens
    await group.act(ada, "pause")

    await api.advance(ben, "welcome")
    await api.settle(experiment_id)
    await group.answer(ben)
    await group.act(ada, "resume")
    await api.advance(ada, "welcome")
    await api.settle(experiment_id)

    for one in group.tokens:
        await group.answer(one)
    for one in group.tokens:
        await api.advance(one, "game")
    assert [(await group.me(one))["stage_id"] for one in group.tokens] == ["end", "end"]
