"""A running study of two cohorts between which participants are moved."""

from typing import Any, Final

from sqlalchemy import text

from parley_lab.gateway.testing import Api

STAGES: Final[list[dict[str, Any]]] = [
    {"id": "one", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why"}]},
    {"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}},
    {"id": "after", "kind": "info", "lines": ["Bye"]},
]
TWO: Final[dict[str, Any]] = {"stages": STAGES, "cohorts": [{"seats": [{"open": True, "count": 2}], "count": 2}]}


class Study:
    """A running study of two cohorts with two people each."""

    def __init__(self, api: Api, experiment_id: str) -> None:
        self.api, self.id = api, experiment_id
        self.tokens: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.cohorts: dict[str, str] = {}

    async def fill(self, names: dict[str, str]) -> None:
        listed = await self.api.experimenter("GET", f"/v1/experiments/{self.id}/cohorts")
        self.cohorts = {one["path"]: one["id"] for one in listed.json()["cohorts"]}
        for name, path in names.items():
            body = {"cohort_id": self.cohorts[path], "profile": {"name": name}}
            joined = (await self.api.take_seat(self.id, **body)).json()
            self.tokens[name], self.ids[name] = joined["token"], joined["member_id"]
        await self.api.settle(self.id)

    async def offer(self, name: str, path: str, **more: Any) -> Any:
        body = {"cohort_id": self.cohorts[path], **more}
        return await self.api.experimenter("POST", f"/v1/members/{self.ids[name]}/transfer", json=body)

    async def answer(self, name: str, *, accept: bool = True) -> Any:
        answered = await self.api.participant(self.tokens[name], "POST", "/v1/me/transfer", json={"accept": accept})
        await self.api.settle(self.id)
        return answered

    async def move(self, name: str, path: str) -> None:
        assert (await self.offer(name, path)).status_code == 200
        assert (await self.answer(name)).status_code == 200

    async def go_on(self, name: str, stage_id: str, answer: Any = None) -> None:
        advanced = await self.api.advance(self.tokens[name], stage_id, answer)
        assert advanced.status_code == 200, advanced.text
        await self.api.settle(self.id)

    async def guess(self, name: str, value: Any = 10) -> None:
        """Answer what the stage called game asks of this player."""
        (ask,) = (await self.me(name))["asks"]
        page = (await self.api.participant(self.tokens[name], "GET", "/v1/me/stages/game")).json()
        answer = dict.fromkeys(page["forms"][0]["form"]["properties"], value)
        url = f"/v1/me/asks/{ask['id']}/answer"
        given = await self.api.participant(self.tokens[name], "POST", url, json={"answer": answer})
        assert given.status_code == 200, given.text
        await self.api.settle(self.id)

    async def thread(self, name: str) -> str | None:
        page = (await self.api.participant(self.tokens[name], "GET", "/v1/me/stages/talk")).json()
        return page["thread"] and str(page["thread"]["id"])

    async def say(self, name: str, words: str) -> None:
        thread_id = await self.thread(name)
        body = {"text": words, "client_message_id": words}
        said = await self.api.participant(self.tokens[name], "POST", f"/v1/me/threads/{thread_id}/messages", json=body)
        assert said.status_code == 201, said.text

    async def heard(self, name: str) -> list[str]:
        thread_id = await self.thread(name)
        url = f"/v1/me/threads/{thread_id}/messages"
        found = (await self.api.participant(self.tokens[name], "GET", url)).json()["messages"]
        return [one["text"] for one in found if one["author"] is not None]

    async def me(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.api.participant(self.tokens[name], "GET", "/v1/me")).json()
        return found

    async def rows(self, query: str) -> list[Any]:
        async with self.api.database.transaction() as session:
            return list(await session.all(text(query)))


async def a_study(api: Api, **changes: Any) -> Study:
    study = Study(api, await api.running(**{**TWO, **changes}))
    await study.fill({"Ada": "c1", "Ann": "c1", "Bob": "c2"})
    return study


async def in_the_talk(api: Api) -> Study:
    study = await a_study(api)
    for name in ("Ada", "Ann", "Bob"):
        await study.go_on(name, "one", {"why": f"{name} says so"})
    return study
