"""What there is to be asked for in a lab under test: studies, people in each of their stages, messages, keys, files."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, sleep
from typing import Any, Final
from uuid import uuid4

import httpx2

from parley_lab.cli.lab_for_tests import ParleyLab

_SURVEY: Final = {
    "id": "before",
    "kind": "survey",
    "questions": [
        {"id": "age", "kind": "number", "title": "How old are you?", "minimum": 18, "integer": True},
        {"id": "why", "kind": "text", "title": "Why are you here?"},
    ],
}
_STAGES: Final = [
    {"id": "welcome", "kind": "info", "lines": ["# Hello"]},
    _SURVEY,
    {"id": "talk", "kind": "group_chat", "replies_and_reactions": True, "progress": {"wait_for_all": False}},
]
_TALK: Final = {
    "parley": 1,
    "name": "A talk",
    "pace": "live",
    "personas": [{"id": "guide", "text": "You say little.", "model": {"provider": "mock"}}],
    "stages": _STAGES,
    "cohorts": [{"seats": [{"open": True, "count": 12}, {"persona": "guide"}], "count": 3}],
}
_GAME: Final = {
    "parley": 1,
    "name": "A game",
    "pace": "live",
    "stages": [{"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 50}}],
    "cohorts": [{"seats": [{"open": True, "count": 2}], "count": 4}],
}
_PATIENCE_SECONDS: Final = 30
_DOOMED: Final = 12
_LEAVING: Final = 24
_PNG: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f6"
    "45400000000049454e44ae426082"
)


@dataclass
class World:
    """Ids by the name of the parameter that takes them, and tokens by what their bearers can do."""

    ids: dict[str, list[str]] = field(default_factory=dict)
    tokens: dict[str, list[str]] = field(default_factory=dict)
    key: str = ""
    """The API key that requests come with."""
    key_id: str = ""

    def add(self, name: str, *values: str) -> None:
        self.ids.setdefault(name, []).extend(values)

    def give(self, name: str, token: str) -> None:
        self.tokens.setdefault(name, []).append(token)


def make_world(lab: ParleyLab) -> World:
    """Studies of this lab in which something goes on; each call makes new ones."""
    return _Maker(lab.client).make()


class _Maker:
    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        self._world = World()

    def make(self) -> World:
        world = self._world
        world.key = self._client.headers["authorization"].removeprefix("Bearer ")
        world.key_id = next(one["id"] for one in self._get("/v1/keys")["keys"] if world.key.startswith(one["prefix"]))
        self._personas()
        talk = self._running(_TALK)
        self._people_of_the_talk(talk)
        game = self._running(_GAME)
        self._players(game)
        world.add("experiment_id", talk, game, self._draft(_TALK))
        for _ in range(_DOOMED):
            world.add("doomed_experiment_id", self._running(_TALK), self._draft(_TALK))
            world.add("doomed_key_id", self._key())
        doomed = self._running(_TALK)
        self._join(doomed)
        world.add("doomed_member_id", *(one["id"] for one in self._members(doomed)))
        world.add("doomed_cohort_id", *self._cohorts(doomed))
        world.add("doomed_persona_id", "doomed")
        world.add("code", self._get(f"/v1/experiments/{talk}")["join_code"])
        world.add("name", self._post("/v1/files", content=_PNG, headers=_as("application/octet-stream"))["file"])
        world.add("alert_id", *(one["id"] for one in self._get(f"/v1/experiments/{talk}/alerts")["alerts"]))
        return world

    def _personas(self) -> None:
        persona = {"text": "You say little.", "model": {"provider": "mock"}}
        for name in ("ana", "ben", "doomed"):
            self._ask("PUT", f"/v1/personas/{name}", json=persona)
        self._post("/v1/personas/ana/chat", json={"text": "Hello", "client_message_id": uuid4().hex})
        self._world.add("persona_id", "ana", "ben")
        self._world.add("persona", "guide")

    def _people_of_the_talk(self, experiment_id: str) -> None:
        world = self._world
        for number in range(4):
            token = self._join(experiment_id)
            if number == 0:
                self._as_member(token, "PUT", "/v1/me/stages/welcome/answer", json={"answer": {}})
            world.give("any", token)
            for stage_id, answer in (("welcome", None), ("before", {"age": 33, "why": "Curious"}))[:number]:
                self._as_member(token, "POST", f"/v1/me/stages/{stage_id}/advance", json={"answer": answer})
            if number > 1:
                self._in_the_talk(token)
        for _ in range(_LEAVING):
            world.give("leaving", self._join(experiment_id))
        self._staff(experiment_id, world.tokens["any"][0])
        world.add("stage_id", "welcome", "before", "talk", "game")
        world.add("stage", "welcome", "before", "talk")
        world.add("cohort_id", *self._cohorts(experiment_id))
        world.add("member_id", *(one["id"] for one in self._members(experiment_id)[:4]))

    def _in_the_talk(self, token: str) -> None:
        # The orchestrator opens it a moment after the first participant has come.
        thread_id = _wait_for(lambda: self._as_member(token, "GET", "/v1/me/stages/talk").json()["thread"])["id"]
        body = {"text": "Hello", "client_message_id": uuid4().hex}
        said = self._as_member(token, "POST", f"/v1/me/threads/{thread_id}/messages", json=body).json()
        self._world.give("talking", token)
        self._world.add("thread_id", thread_id)
        self._world.add("message_id", said["id"])
        self._world.add("reaction", "like")

    def _staff(self, experiment_id: str, token: str) -> None:
        member_id = self._as_member(token, "GET", "/v1/me").json()["member_id"]
        self._post(f"/v1/members/{member_id}/message", json={"text": "Are you well?"})
        self._as_member(token, "POST", "/v1/me/help", json={"text": "Help"})
        for one in self._as_member(token, "GET", "/v1/me").json()["notices"]:
            self._world.add("notice_id", one["id"])

    def _players(self, experiment_id: str) -> None:
        tokens = [self._join(experiment_id) for _ in range(2)]
        for token in tokens:
            self._world.give("asked", token)
            self._world.add("ask_id", *(ask["id"] for ask in _wait_for(partial(self._asks, token))))

    def _asks(self, token: str) -> Any:
        return self._as_member(token, "GET", "/v1/me").json()["asks"]

    def _running(self, file: dict[str, Any]) -> str:
        experiment_id = self._draft(file)
        self._post(f"/v1/experiments/{experiment_id}/start")
        return experiment_id

    def _draft(self, file: dict[str, Any]) -> str:
        return str(self._post("/v1/experiments", json=file)["id"])

    def _key(self) -> str:
        label = uuid4().hex
        self._post("/v1/keys", json={"scopes": ["read"], "label": label})
        return str(next(one["id"] for one in self._get("/v1/keys")["keys"] if one["label"] == label))

    def _cohorts(self, experiment_id: str) -> list[str]:
        return [one["id"] for one in self._get(f"/v1/experiments/{experiment_id}/cohorts")["cohorts"]]

    def _members(self, experiment_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._get(f"/v1/experiments/{experiment_id}/members")["members"]
        return found

    def _join(self, experiment_id: str) -> str:
        return str(self._post(f"/v1/experiments/{experiment_id}/join", json={"profile": {"name": "Ada"}})["token"])

    def _as_member(self, token: str, method: str, address: str, **request: Any) -> httpx2.Response:
        return self._ask(method, address, headers={"Authorization": f"Bearer {token}"}, **request)

    def _get(self, address: str) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("GET", address).json()
        return found

    def _post(self, address: str, **request: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("POST", address, **request).json()
        return found

    def _ask(self, method: str, address: str, **request: Any) -> httpx2.Response:
        answer = self._client.request(method, address, **request)
        assert answer.is_success, f"{method} {address}: {answer.text}"
        return answer


def _as(media_type: str) -> dict[str, str]:
    return {"Content-Type": media_type}


def _wait_for(look: Callable[[], Any]) -> Any:
    until = monotonic() + _PATIENCE_SECONDS
    while not (found := look()):
        assert monotonic() < until, "nothing came of the study that was made"
        sleep(0.05)
    return found
