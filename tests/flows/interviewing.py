"""Workbooks in a lab: short ones and the demo, a model and people whose replies can be traced, and who heard which."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import orjson

from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.design import Experiment
from parley_lab.formats.testing.workbooks import Values, base_values, sheets_of, task_row, with_setting
from parley_lab.formats.workbook import compile_workbook, read
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

DEMO = Path(__file__).parents[2] / "demos" / "public_goods.xlsx"
PLAYERS = ["A", "B", "C"]


def document(experiment: Experiment) -> str:
    return experiment.model_copy(update={"model_mode": "mock"}).model_dump_json()


def small(*, people: tuple[str, ...] = ()) -> str:
    """One session of A, B and C with a summarizer and a task of every type."""
    values: Values = with_setting(base_values(), max_conversation_length=1000)
    values["agent_roles"].append(["Summarizer", "You sum up."])
    in_private = "{'C': 'c?', 'A': 'a?', 'Summarizer': 'sum?', 'B': 'b?'}"
    values["interview_prompts"][2:] = [
        task_row("talk", type="discussion", task_order=1, llm_text="Let us talk."),
        task_row("open", type="public_question", task_order=2, llm_text="{'B': 'open?', 'A': 'open?'}"),
        task_row("closed", task_order=3, llm_text=in_private),
        task_row("news", type="context", task_order=4, llm_text="It has begun to rain."),
        task_row("last", task_order=5, llm_text="And now?"),
    ]
    (experiment,) = compile_workbook(read(sheets_of(values)), people=people, sessions=1)
    return document(experiment)


class Telling:
    """A model whose replies tell where they were given, so that prompts show what their readers heard."""

    def __init__(self, say: Callable[[str, int], Any] | None = None) -> None:
        self.requests: list[ModelRequest] = []
        self._say = say or (lambda path, _: f"<{path.removesuffix('/draft')}>")

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        path = request.path.partition("/call")[0]
        attempt = sum(path == one.path.partition("/call")[0] for one in self.requests)
        fields = dict.fromkeys(request.reply_schema["properties"], "because")
        parsed = {**fields, "response": self._say(path, attempt)}
        if "speculation_score" in parsed:
            parsed["speculation_score"] = 10
        return ModelReply(status="ok", parsed=parsed, raw=orjson.dumps(parsed).decode())

    async def aclose(self) -> None:
        """Nothing is open."""


class Person:
    """A person who takes the open seat and does over REST what the page asks."""

    def __init__(self, lab: DrainLab, client: httpx2.AsyncClient) -> None:
        self._lab = lab
        self._client = client
        self.pages: dict[str, dict[str, Any]] = {}
        self._token = ""

    async def join(self, experiment_id: UUID) -> None:
        _, self._token = await self._lab.join(experiment_id, Profile(name="Zoe"))
        await self._lab.drain()

    async def answer_everything(self) -> None:
        """Every answer tells where it was given, as those of the model do; then the page is left."""
        while (page := await self._page())["asks"]:
            for ask in page["asks"]:
                self.pages[ask["key"].removeprefix("task:")] = page["view"]
                told = {"answer": await self.says(ask["key"])}
                answered = await self._request("POST", f"/v1/me/asks/{ask['id']}/answer", told)
                assert answered.status_code == 200, answered.text
            await self._lab.drain()
        left = await self._request("POST", "/v1/me/stages/interview/advance", {})
        assert left.status_code == 200, left.text
        await self._lab.drain()

    async def says(self, key: str) -> Any:
        return f"<{await self._path()}/interview/{key}>"

    async def _page(self) -> dict[str, Any]:
        page: dict[str, Any] = (await self._request("GET", "/v1/me/stages/interview")).json()
        return page

    async def _path(self) -> str:
        (row,) = await self._lab.rows("SELECT path FROM members WHERE player = 'person'")
        return str(row.path)

    async def _request(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self._token}"}
        return await self._client.request(method, path, headers=headers, json=body)


async def run(database: Database, text: str, model: Telling) -> DrainLab:
    lab = DrainLab(database, models={"mock": model})
    await lab.start(text)
    await lab.drain()
    return lab


async def roles(lab: DrainLab) -> dict[str, str]:
    """The role of every member, by path."""
    rows = await lab.rows("SELECT path, profile ->> 'name' AS name FROM members")
    return {row.path: row.name for row in rows}


async def heard(lab: DrainLab) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """For each reply (role, task): whose replies (role, task) its prompt showed."""
    names = await roles(lab)
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for row in await lab.calls():
        member, task = member_and_task(row.path)
        shown = row.prompt[1]["content"]
        others = {
            (names[one.path], one.key.removeprefix("task:"))
            for one in await lab.rows("SELECT m.path, k.key FROM asks k JOIN members m ON m.id = k.member_id")
            if f"<{one.path}/interview/{one.key}>" in shown
        }
        found[names[member], task] = others
    return found


def member_and_task(path: str) -> tuple[str, str]:
    member, _, rest = path.partition("/interview/task:")
    return member, rest.partition("/")[0]


def all_of(task: str, *names: str) -> set[tuple[str, str]]:
    return {(name, task) for name in names}


async def kept(lab: DrainLab) -> list[Any]:
    return [
        tuple(row)
        for row in await lab.rows(
            "SELECT m.path, a.key, a.value, a.valid FROM answers a JOIN members m ON m.id = a.member_id ORDER BY 1, 2"
        )
    ]


async def statuses(lab: DrainLab) -> set[str]:
    return {row.status for row in await lab.rows("SELECT status FROM members WHERE kind = 'participant'")}
