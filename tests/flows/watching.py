"""A study that all its readers watch at once: members, strangers, its owner, and the endpoint of the models.

Every secret is a unique word (see `Scene`): searching all bytes that each reader was given shows who knows it.
"""

import asyncio
import io
import json
import zipfile
from collections import Counter
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

from parley_lab.base.settings import ServerSettings
from parley_lab.bus.in_process import InProcessBus
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.prompt_builder.builder import PromptBuilder
from parley_lab.store import keys
from parley_lab.store.statements import Row
from parley_lab.talk.posting import post_message
from parley_lab.testing.fake_endpoint import FakeEndpoint
from parley_lab.testing.network import WITHOUT_TLS
from tests.flows.watched_studies import AGENTS, SHOWN_STUDY, STEPS_STUDY, STUDY, Data

PROVIDER_KEY: Final = "providerkeycanary"
LIBRARY_PERSONA: Final = "shelved"
"""A persona that the owner of the study keeps in the library."""
PATIENCE_SECONDS: Final = 20.0
TOGETHER_SECONDS: Final = 2.0
SOME: Final = 2


@dataclass
class Evidence:
    """Everything that any reader was given: (phase, who:what) -> bytes; facts of the study to look for in it."""

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
        for asked, canary in (("why", "answer"), ("told", "told"), ("guided", "guided")):
            if f'"{asked}"' in json.dumps(request.get("response_format", {})):
                return {asked: f"{canary}canary-{who}"}
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


@dataclass(frozen=True)
class Address:
    """What is read at an address, and the parameters in it."""

    kind: str
    values: tuple[str, ...]


class Watcher:
    """Acts for all readers over REST and stores what they were given."""

    def __init__(
        self, lab: EmbeddedLab, client: httpx2.AsyncClient, crawler: httpx2.AsyncClient, evidence: Evidence
    ) -> None:
        self.lab = lab
        self.client = client
        self.crawler = crawler
        self.evidence = evidence
        self.tokens: dict[str, str] = {}
        self.streams: dict[str, asyncio.Task[None]] = {}
        self._owners: dict[str, str] = {}
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
        self._owners[experiment_id] = owner
        started = await self.ask(owner, "POST", f"/v1/experiments/{experiment_id}/start")
        assert started.status_code == 200, started.text
        return experiment_id

    async def join(self, who: str, experiment_id: str, cohort: str | None = None) -> None:
        cohorts = await self.rows("SELECT id FROM cohorts WHERE name = :name", name=cohort) if cohort else []
        body = {"profile": {"name": who.title()}, **({"cohort_id": str(cohorts[0].id)} if cohorts else {})}
        joined = await self.ask(self._owners[experiment_id], "POST", f"/v1/experiments/{experiment_id}/join", json=body)
        assert joined.status_code == 201, joined.text
        self.tokens[who] = joined.json()["token"]
        self.evidence.facts[f"{who}_id"] = joined.json()["member_id"]

    async def answer(self, who: str, stage_id: str, answer: Data | None) -> None:
        body = {} if answer is None else {"answer": answer}
        advanced = await self.ask(who, "POST", f"/v1/me/stages/{stage_id}/advance", json=body)
        assert advanced.status_code == 200, advanced.text

    async def comes_to(self, who: str, stage_id: str) -> Data:
        """Wait until the stage is open for a member who is there; returns its page."""

        async def is_open() -> bool:
            page = await self.ask(who, "GET", f"/v1/me/stages/{stage_id}")
            return page.status_code == 200 and page.json()["state"] == "current"

        await until(is_open)
        page: Data = (await self.ask(who, "GET", f"/v1/me/stages/{stage_id}")).json()
        return page

    async def answer_ask(self, who: str, key: str, answer: Data) -> None:
        async def asks() -> list[Data]:
            found: list[Data] = (await self.ask(who, "GET", "/v1/me")).json()["asks"]
            return [one for one in found if one["key"] == key]

        async def is_asked() -> bool:
            return bool(await asks())

        await until(is_asked)
        (wanted,) = await asks()
        answered = await self.ask(who, "POST", f"/v1/me/asks/{wanted['id']}/answer", json={"answer": answer})
        assert answered.status_code == 200, answered.text

    async def goes_on(self, who: str, stage_id: str) -> None:
        """Go on from a page without questions, once the lab has worked out what is on it."""

        async def has_gone_on() -> bool:
            gone = await self.ask(who, "POST", f"/v1/me/stages/{stage_id}/advance", json={})
            return gone.status_code == 200

        await until(has_gone_on)

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
        """A message to some members only, as a kind could send it; written and announced in one transaction."""
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
                "SELECT 1 FROM members WHERE player = 'agent' AND kind = 'participant' AND position < 3"
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
        """Wait until this word has come on a member's stream."""

        async def has_come() -> bool:
            return word.encode() in self.evidence.given.get((phase, f"{who}:stream"), b"")

        await until(has_come)

    async def crawl(self, phase: str, readers: Mapping[str, str | None], *, every: bool = False) -> None:
        """Let all readers request everything that exists, with all ids in the lab.

        A reader whose token opens no address of a kind is refused before the ids are looked at, and not asked for it
        again in the same phase; only with `every` are some of them tried all the same.
        """
        paths = await self._paths()
        await asyncio.gather(*(self._crawl(phase, who, token, paths, every) for who, token in readers.items()))

    async def _crawl(self, phase: str, who: str, token: str | None, paths: Mapping[str, Address], every: bool) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        refused, most = Counter[str](), SOME if every else 1
        for path, address in paths.items():
            if refused[address.kind] >= most:
                continue
            response = await self.crawler.get(path, headers=headers)
            refused[address.kind] += response.status_code == httpx2.codes.UNAUTHORIZED
            self.evidence.answers.append((who, path, response.status_code))
            is_export = path.endswith("/export") and response.status_code == 200
            content = _plain(response)
            if response.status_code >= 400:
                # A refusal may repeat the request, which its sender knows.
                for one in address.values:
                    content = content.replace(one.encode(), b"")
            self.evidence.add(phase, f"{who}:{'export' if is_export else 'rest'}", content)
            self.evidence.add(phase, f"{who}:headers", json.dumps([*response.headers.items()]).encode())

    async def _paths(self) -> dict[str, Address]:
        """Every address that can be read."""
        described = (await self.crawler.get("/openapi.json")).json()["paths"]
        known = await self._known_ids()
        anything = known["member_id"][:1]
        found = {}
        for path, methods in described.items():
            if "get" not in methods or path.endswith("/stream"):
                continue
            names = [name.split("}")[0] for name in path.split("{")[1:]]
            query = _required_query(methods["get"], known)
            for values in product(*(known.get(name, anything) for name in names)):
                found[path.format(**dict(zip(names, values, strict=True))) + query] = Address(path, values)
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
            "stage_id": [stage["id"] for stage in (*STUDY["stages"], *STEPS_STUDY["stages"], *SHOWN_STUDY["stages"])],
            "draft_id": await ids("drafts"),
            "persona_id": [LIBRARY_PERSONA, *(one["id"] for one in STUDY["personas"])],
        }


def _required_query(operation: Mapping[str, Any], known: Mapping[str, Sequence[str]]) -> str:
    """The required query of an address, made of known values."""
    needed = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query" and one["required"]]
    return "?" + urlencode({name: known[f"{name}_id"][0] for name in needed}) if needed else ""


def _plain(response: httpx2.Response) -> bytes:
    if not response.headers.get("Content-Type", "").startswith("application/zip"):
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
    """A lab with models that play their parts, and its watcher."""
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(FakeEndpoint(replies=Cast(evidence).reply))
        environ = {"OPENAI_API_KEY": PROVIDER_KEY, "OPENAI_BASE_URL": endpoint.base_url}
        lab = await stack.enter_async_context(EmbeddedLab(folder, servers=servers, environ=environ, port=0))
        assert lab.url is not None
        # The lab closes connections that rest for five seconds; one that it is closing is not used again.
        limits = httpx2.Limits(keepalive_expiry=1)
        client = await stack.enter_async_context(
            httpx2.AsyncClient(base_url=lab.url, timeout=30, limits=limits, verify=WITHOUT_TLS)
        )
        # Thousands of reads need no socket: another gateway of the same lab answers them.
        gateway = create_app(
            lab.database,
            InProcessBus(),
            lab.clock,
            GatewaySettings(),
            environ=environ,
            prompt_builder=PromptBuilder(lab.database),
        )
        stack.push_async_callback(gateway.state.context.tables.close)
        crawler = await stack.enter_async_context(
            httpx2.AsyncClient(transport=httpx2.ASGITransport(gateway), base_url="http://gateway")
        )
        watcher = Watcher(lab, client, crawler, evidence)
        async with lab.database.transaction() as session:
            for owner in ("owner", "mallory"):
                watcher.tokens[owner] = await keys.create_key(session, f"{owner} {uuid4()}", lab.clock.now())
        try:
            yield watcher
        finally:
            for task in watcher.streams.values():
                task.cancel()
            await asyncio.gather(*watcher.streams.values(), return_exceptions=True)
