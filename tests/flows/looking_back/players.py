"""Who plays the story: a model for the agents, and a person over the API."""

import json
import re
from collections.abc import Collection
from typing import Any
from uuid import uuid4

import httpx2
import orjson

from parley_lab.contracts.models import HINT_SPEAKER_NAME, ModelReply, ModelRequest
from tests.flows.drain import DrainLab
from tests.flows.looking_back.cast import PROFILES, Cast, Json, Reader, secret, word
from tests.flows.looking_back.evidence import Evidence, Shown
from tests.flows.looking_back.row import Row
from tests.flows.looking_back.way import Stage


class Teller:
    """A model that says the word of each speaker once in each conversation, and gives a secret as its reason."""

    def __init__(self, cast: Cast, evidence: Evidence) -> None:
        self._cast = cast
        self._evidence = evidence
        self._stages = {stage.id: stage for stage in evidence.way}

    async def reply(self, request: ModelRequest) -> ModelReply:
        stage = self._stages[request.stage_id]
        author = str(request.hints[HINT_SPEAKER_NAME]).lower()
        reader = reader_of(self._cast, author, stage, _seat_in(request.path, stage.id))
        text = "\n\n".join(message.content for message in request.messages)
        self._evidence.shown.append(Shown(reader, stage, text, f"prompt {request.path}"))
        own = word(author, stage.id, to=reader.partner or "")
        known = stage.row.known(reader, stage.id)
        values = {
            "explanation": secret(author),
            "reasoning": secret(author),
            "action": "C",
            "guess": 50,
            "name": PROFILES[author]["name"],
            "avatar": "",
            "pronouns": PROFILES[author].get("pronouns", ""),
            "ranking": ["a", "b"],
            "share": 60,
            "shouldRespond": own not in text,
            "readyToEndChat": all(said in text for said in known),
        }
        fields = {name: values.get(name, own) for name in request.reply_schema["properties"]}
        return ModelReply(status="ok", parsed=fields, raw=orjson.dumps(fields).decode())

    async def aclose(self) -> None:
        """Nothing is open."""


def _seat_in(path: str, stage_id: str) -> int | None:
    """Whose private conversation a draft is of, by the number of the seat."""
    found = re.search(rf"/{stage_id}/m(\d+)/", path)
    return int(found[1]) if found else None


def reader_of(cast: Cast, name: str, stage: Stage, seat: int | None = None) -> Reader:
    """The reader of an agent that is asked something on this stage."""
    is_alone = stage.kind == "private_chat" and name in cast.mediators
    return Reader(name, cast, cast.participants[(seat or 1) - 1] if is_alone else None)


class Ana:
    """The person, in front of her page."""

    def __init__(self, client: httpx2.AsyncClient, lab: DrainLab, token: str, cast: Cast) -> None:
        self._client = client
        self._lab = lab
        self._headers = {"Authorization": f"Bearer {token}"}
        self.reader = Reader("ana", cast)

    async def get(self, path: str, status: int = 200) -> Json:
        return await self._asked("GET", path, status)

    async def post(self, path: str, body: Json, status: int = 200) -> Json:
        # Words that members who have left must not hear come later.
        self._lab.clock.advance(1.0)
        answer = await self._asked("POST", path, status, json=body)
        await self._lab.drain()
        return answer

    async def _asked(self, method: str, path: str, status: int, **request: Any) -> Json:
        answer = await self._client.request(method, path, headers=self._headers, **request)
        assert answer.status_code == status, (path, answer.text)
        return answer.json()

    async def answer_asks(self, row: Row, stage_id: str) -> None:
        while asks := (await self.get("/v1/me"))["asks"]:
            await self.post(f"/v1/me/asks/{asks[0]['id']}/answer", {"answer": row.answer(asks[0]["key"], stage_id)})

    async def thread(self, stage_id: str) -> str:
        thread_id: str = (await self.get(f"/v1/me/stages/{stage_id}"))["thread"]["id"]
        return thread_id

    async def say(self, thread_id: str, said: str, *, until: Collection[str] = ()) -> None:
        """Say it once, and again until all these words are there: a message has one reply."""
        heard = ""
        for _ in range(4):
            body = {"text": said, "client_message_id": str(uuid4())}
            await self.post(f"/v1/me/threads/{thread_id}/messages", body, 201)
            heard = json.dumps(await self.heard(thread_id))
            if all(words in heard for words in until):
                return
        raise AssertionError(f"not all of {until} was said in {heard}")

    async def heard(self, thread_id: str) -> Json:
        return await self.get(f"/v1/me/threads/{thread_id}/messages")

    async def sees(self, stage: Stage) -> tuple[Json, str]:
        """The page of a stage, and everything that it gives, messages included."""
        page = await self.get(f"/v1/me/stages/{stage.id}")
        heard = await self.heard(page["thread"]["id"]) if page["thread"] else None
        return page, json.dumps([page, heard])
