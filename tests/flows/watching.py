"""A study that is watched by everybody at once: its members, strangers, its owner, and the endpoint of the models.

Every secret in it is a word that stands nowhere else (see `Scene`), so that who knows it can be found by searching all
bytes that each of them was given.
"""

import asyncio
import io
import json
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID, uuid4

import httpx2
from sqlalchemy import text

from parley.embedded import EmbeddedLab
from shared.acts.conversation import post_message
from shared.db import keys
from shared.db.session import Row
from shared.settings import ServerSettings
from shared.testing.fake_endpoint import FakeEndpoint

Data = dict[str, Any]

PEOPLE: Final = ("ada", "bea", "cid", "dan", "eve")
"""They join the cohort in this order. Cid comes to the conversation late, Dan leaves, Eve is removed, Bea goes on."""
AGENTS: Final = ("gus", "hal", "mia")
"""Mia is the mediator."""
PROVIDER_KEY: Final = "providerkeycanary"
LIBRARY_PERSONA: Final = "shelved"
"""A persona that the owner of the study keeps in the library."""
PATIENCE_SECONDS: Final = 20.0
TOGETHER_SECONDS: Final = 2.0


def persona(name: str) -> Data:
    return {
        "id": f"personacanary-{name}",
        "profile": {"name": name.title()},
        "text": f"textcanary-{name}",
        "role": f"rolecanary-{name}",
        "goal": f"goalcanary-{name}",
        "backstory": f"storycanary-{name}",
        "attributes": {"trait": f"traitcanary-{name}"},
        "pages": {"reading_words_per_minute": 0, "writing_words_per_minute": 0},
        "model": {"provider": "openai", "model": f"modelcanary-{name}", "max_attempts": 1},
    }


WHY: Final = [{"id": "why", "kind": "text", "title": "Why?"}]
STUDY: Final[Data] = {
    "parley": 1,
    "name": "A watched study",
    "seed": 0,
    "pace": "live",
    "model_mode": "real",
    "personas": [persona(name) for name in AGENTS],
    "stages": [
        {"id": "before", "kind": "survey", "questions": WHY},
        {"id": "talk", "kind": "group_chat", "max_agent_run": 1, "progress": {"wait_for_all": False}},
        {"id": "after", "kind": "survey", "questions": WHY},
    ],
    "cohorts": [
        {
            "id": "watched",
            "seats": [{"open": True, "count": 5}, *({"persona": f"personacanary-{name}"} for name in AGENTS[:2])],
            "mediators": ["personacanary-mia"],
        },
        {"id": "next-door", "seats": [{"open": True}]},
    ],
}
OTHER_STUDY: Final[Data] = {
    "parley": 1,
    "name": "Of somebody else",
    "seed": 0,
    "pace": "live",
    "stages": STUDY["stages"][1:2],
    "cohorts": [{"seats": [{"open": True}]}],
}


@dataclass
class Evidence:
    """Everything that was given to anybody: (phase, who:what) -> bytes; facts of the study to look for in it."""

    given: dict[tuple[str, str], bytearray] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    answers: list[tuple[str, str, int]] = field(default_factory=list)
    """Reader, path and status of every request of the crawl."""

    def add(self, phase: str, surface: str, content: bytes) -> None:
        self.given.setdefault((phase, surface), bytearray()).extend(content + b"\n")

    def knowing(self, secret: str, phase: str = "") -> set[str]:
        """The surfaces (`ada:stream`, `gus:prompt`, ...) on which this word was seen, in one phase or ever."""
        word = secret.encode()
        return {surface for (when, surface), content in self.given.items() if phase in ("", when) and word in content}

    def outsiders(self, secret: str, phase: str = "") -> set[str]:
        """As `knowing`, without the owner of the study, who may know all but keys and tokens."""
        return {surface for surface in self.knowing(secret, phase) if not surface.startswith("owner:")}

    def of(self, who: str) -> Iterator[bytes]:
        return (bytes(content) for (_, surface), content in self.given.items() if surface.startswith(f"{who}:"))


class Cast:
    """The models: who is asked is told by the persona in the prompt. Mia stays silent; Gus and Hal speak at once."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._calls = 0
        self._waiting: list[asyncio.Event] = []

    async def reply(self, request: Data) -> Data:
        self._calls += 1
        said = "\n".join(message["content"] for message in request["messages"])
        who = next(name for name in AGENTS if f"textcanary-{name}" in said)
        self._evidence.add("prompts", f"{who}:prompt", said.encode())
        if "why" in json.dumps(request.get("response_format", {})):
            return {"why": f"answercanary-{who}"}
        number = self._calls
        if who != "mia":
            await self._together()
        return {
            "explanation": f"explanationcanary-{who}-{number}",
            "shouldRespond": who != "mia",
            "response": f"wordcanary-{who}-{number}",
            "readyToEndChat": False,
        }

    async def _together(self) -> None:
        """Two who were asked about the same message answer at the same instant: one of them loses its claim."""
        mine = asyncio.Event()
        self._waiting.append(mine)
        if len(self._waiting) == 2:
            for waiting in self._waiting:
                waiting.set()
            self._waiting = []
        try:
            async with asyncio.timeout(TOGETHER_SECONDS):
                await mine.wait()
        except TimeoutError:
            self._waiting.remove(mine)


class Watcher:
    """Acts for everybody over REST and keeps what they were given."""

    def __init__(self, lab: EmbeddedLab, client: httpx2.AsyncClient, evidence: Evidence) -> None:
        self.lab = lab
        self.client = client
        self.evidence = evidence
        self.tokens: dict[str, str] = {}
        self.streams: dict[str, asyncio.Task[None]] = {}
        self._parameters: dict[str, list[str]] = {}

    async def ask(self, who: str, method: str, path: str, **request: Any) -> httpx2.Response:
        token = self.tokens.get(who)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        response = await self.client.request(method, path, headers=headers, **request)
        self.evidence.answers.append((who, path, response.status_code))
        return response

    async def create(self, owner: str, study: Data) -> str:
        created = await self.ask(owner, "POST", "/v1/experiments", json=study)
        assert created.status_code == 201, created.text
        experiment_id: str = created.json()["id"]
        started = await self.ask(owner, "POST", f"/v1/experiments/{experiment_id}/start")
        assert started.status_code == 200, started.text
        return experiment_id

    async def join(self, who: str, experiment_id: str, cohort: str | None = None) -> None:
        cohorts = await self.rows("SELECT id FROM cohorts WHERE name = :name", name=cohort) if cohort else []
        body = {"profile": {"name": who.title()}, **({"cohort_id": str(cohorts[0].id)} if cohorts else {})}
        joined = await self.client.post(f"/v1/experiments/{experiment_id}/join", json=body)
        assert joined.status_code == 201, joined.text
        self.tokens[who] = joined.json()["token"]
        self.evidence.facts[f"{who}_id"] = joined.json()["member_id"]

    async def answer(self, who: str, stage_id: str, answer: Data | None) -> None:
        body = {} if answer is None else {"answer": answer}
        advanced = await self.ask(who, "POST", f"/v1/me/stages/{stage_id}/advance", json=body)
        assert advanced.status_code == 200, advanced.text

    async def thread_of(self, who: str) -> str:
        async def is_open() -> bool:
            page = await self.ask(who, "GET", "/v1/me/stages/talk")
            return page.status_code == 200 and page.json()["thread"] is not None

        await until(is_open)
        thread_id: str = (await self.ask(who, "GET", "/v1/me/stages/talk")).json()["thread"]["id"]
        return thread_id

    async def say(self, who: str, words: str, reply_to: str | None = None) -> Data:
        body = {"text": words, "client_message_id": words, "reply_to": reply_to}
        said = await self.ask(who, "POST", f"/v1/me/threads/{await self.thread_of(who)}/messages", json=body)
        assert said.status_code == 201, said.text
        message: Data = said.json()
        return message

    async def whisper(self, who: str, words: str, to: str) -> str:
        """What a kind could do that addresses some of its members; written and told in one transaction."""
        facts = self.evidence.facts
        author, hearer = UUID(facts[f"{who}_id"]), UUID(facts[f"{to}_id"])
        thread_id = UUID(await self.thread_of(who))
        async with self.lab.database.transaction() as session:
            message = await post_message(session, thread_id, author, words, self.lab.clock.now(), client_key=words)
            values = {"id": UUID(message["id"]), "hearers": [hearer], "readers": [author, hearer]}
            await session.run(text("UPDATE messages SET audience = :hearers WHERE id = :id"), values)
            await session.run(text("UPDATE events SET audience = :readers WHERE subject_id = :id"), values)
        message_id: str = message["id"]
        return message_id

    async def agents_are_done(self) -> None:
        """Wait until no agent has anything left to do."""

        async def is_quiet() -> bool:
            busy = await self.rows("SELECT 1 FROM drafts WHERE state IN ('wanted', 'thinking', 'ready')")
            late = await self.rows(
                "SELECT 1 FROM members WHERE player = 'agent' AND kind = 'participant' AND position = 0"
            )
            return not busy and not late

        await until(is_quiet)

    async def rows(self, query: str, **values: Any) -> list[Row]:
        async with self.lab.database.transaction() as session:
            return list(await session.all(text(query), values))

    def follow(self, who: str, path: str = "/v1/me/stream", *, phase: str = "live") -> None:
        self.streams[f"{who}:{phase}"] = asyncio.create_task(self._follow(who, path, phase))

    async def _follow(self, who: str, path: str, phase: str) -> None:
        headers = {"Authorization": f"Bearer {self.tokens.get(who, 'nobody')}"}
        async with self.client.stream("GET", path, params={"after": "start"}, headers=headers, timeout=60) as response:
            self.evidence.answers.append((who, path, response.status_code))
            async for chunk in response.aiter_bytes():
                self.evidence.given.setdefault((phase, f"{who}:stream"), bytearray()).extend(chunk)

    async def hears(self, who: str, word: str, *, phase: str = "live") -> None:
        """Wait until this word has come on the stream of somebody."""

        async def has_come() -> bool:
            return word.encode() in self.evidence.given.get((phase, f"{who}:stream"), b"")

        await until(has_come)

    async def crawl(self, phase: str, readers: Mapping[str, str | None]) -> None:
        """Have everybody ask for everything that can be asked for, with whatever ids there are in the lab."""
        paths = await self._paths()
        await asyncio.gather(*(self._crawl(phase, who, token, paths) for who, token in readers.items()))

    async def _crawl(self, phase: str, who: str, token: str | None, paths: Mapping[str, tuple[str, ...]]) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        for path, asked in paths.items():
            response = await self.client.get(path, headers=headers)
            self.evidence.answers.append((who, path, response.status_code))
            is_export = path.endswith("/export") and response.status_code == 200
            content = _plain(response, is_export)
            if response.status_code >= 400:
                # A refusal may repeat what was asked for: that is known to whoever asked.
                for one in asked:
                    content = content.replace(one.encode(), b"")
            self.evidence.add(phase, f"{who}:{'export' if is_export else 'rest'}", content)
            self.evidence.add(phase, f"{who}:headers", json.dumps([*response.headers.items()]).encode())

    async def _paths(self) -> dict[str, tuple[str, ...]]:
        """Every address that can be read, with the parameters in it."""
        described = (await self.client.get("/openapi.json")).json()["paths"]
        known = await self._known_ids()
        anything = [ids[0] for ids in known.values() if ids]
        found = {}
        for path, methods in described.items():
            if "get" not in methods or path.endswith("/stream"):
                continue
            names = [name.split("}")[0] for name in path.split("{")[1:]]
            query = _required_query(methods["get"], known)
            for values in product(*(known.get(name, anything) for name in names)):
                found[path.format(**dict(zip(names, values, strict=True))) + query] = values
        return found

    async def _known_ids(self) -> dict[str, list[str]]:
        async def ids(table: str) -> list[str]:
            return [str(row.id) for row in await self.rows(f"SELECT id FROM {table}")]  # noqa: S608 - our own names

        return {
            "experiment_id": await ids("experiments"),
            "cohort_id": await ids("cohorts"),
            "thread_id": await ids("threads"),
            "member_id": await ids("members"),
            "message_id": await ids("messages"),
            "ask_id": await ids("asks"),
            "stage_id": ["before", "talk", "after"],
            "draft_id": await ids("drafts"),
            "persona_id": [LIBRARY_PERSONA, *(one["id"] for one in STUDY["personas"])],
        }


def _required_query(operation: Mapping[str, Any], known: Mapping[str, Sequence[str]]) -> str:
    """The query without which an address answers nobody, made of what there is."""
    needed = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query" and one["required"]]
    return "?" + urlencode({name: known[f"{name}_id"][0] for name in needed}) if needed else ""


def _plain(response: httpx2.Response, is_export: bool) -> bytes:
    if not is_export:
        return response.content
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        return b"\n".join(archive.read(name) for name in archive.namelist())


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a lab in real time, as its users do."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def watched_lab(servers: ServerSettings, folder: Path, evidence: Evidence) -> AsyncIterator[Watcher]:
    """A lab with models that play their parts, and somebody who watches it."""
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(FakeEndpoint(replies=Cast(evidence).reply))
        environ = {"OPENAI_API_KEY": PROVIDER_KEY, "OPENAI_BASE_URL": endpoint.base_url}
        lab = await stack.enter_async_context(EmbeddedLab(folder, servers=servers, environ=environ, port=0))
        assert lab.url is not None
        client = await stack.enter_async_context(httpx2.AsyncClient(base_url=lab.url, timeout=30))
        watcher = Watcher(lab, client, evidence)
        async with lab.database.transaction() as session:
            for owner in ("owner", "mallory"):
                watcher.tokens[owner] = await keys.create_key(session, f"{owner} {uuid4()}", lab.clock.now())
        try:
            yield watcher
        finally:
            for task in watcher.streams.values():
                task.cancel()
            await asyncio.gather(*watcher.streams.values(), return_exceptions=True)
