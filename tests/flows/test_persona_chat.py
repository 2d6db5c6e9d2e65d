"""Test chats with personas of the library: every message gets one reply, or an error in words."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import httpx2
import pytest

from parley_lab.agent_worker.models import Model, build_models
from parley_lab.base.settings import ServerSettings
from parley_lab.bus.in_process import InProcessBus
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.contracts.experiment import Persona
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.contracts.models import ModelReply, ModelRequest, ModelStatus
from parley_lab.experiments.pausing import pause
from parley_lab.experiments.persona_chats import find
from parley_lab.formats.arena import first_agents, read_agent
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.kinds.stages import manner_of
from parley_lab.store import keys
from parley_lab.store.session import Database, ReadSession
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.network import WITHOUT_TLS
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

ADA = {
    "profile": {"name": "Ada"},
    "role": "Taxi driver",
    "goal": "keep the fares up",
    "backstory": "Twenty years of nights.",
    "text": "You fear for your income.",
    "chat": {"max_responses": 1, "min_messages_before_responding": 50, "initial_message": "Hello there."},
}


class FailingModel:
    """Fails with `status` as long as there is one, and says what it was shown last."""

    def __init__(self, status: ModelStatus | None) -> None:
        self.status = status
        self.prompts: list[str] = []

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.prompts.append("\n".join(message.content for message in request.messages))
        if self.status is not None:
            return ModelReply(status=self.status, raw='{"error": "secret"}', error="bad", can_retry=False)
        said = {"explanation": "So.", "response": "I drive.", "readyToEndChat": True}
        return ModelReply(status="ok", parsed=said, raw=str(said))

    async def aclose(self) -> None:
        return None


@dataclass
class Talk:
    """A lab whose hints are drained by hand, and its API in the hands of one experimenter."""

    lab: DrainLab
    client: httpx2.AsyncClient

    async def say(self, text: str, key: str, **more: Any) -> httpx2.Response:
        body = {"text": text, "client_message_id": key, **more}
        return await self.client.post("/v1/personas/ada/chat", json=body)

    async def chat(self, **query: Any) -> dict[str, Any]:
        answer = await self.client.get("/v1/personas/ada/chat", params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def put(self, persona: dict[str, Any]) -> None:
        answer = await self.client.put("/v1/personas/ada", json=persona)
        assert answer.status_code == 200, answer.text

    async def said(self) -> list[tuple[str, str]]:
        return [(one["author"], one["text"]) for one in (await self.chat())["messages"]]


Make = Callable[..., Awaitable[Talk]]


@pytest.fixture
async def make(database: Database) -> AsyncIterator[Make]:
    """Makes such a lab; the persona is in its library."""
    clients: list[httpx2.AsyncClient] = []

    async def made(model: Model | None = None, **more: Any) -> Talk:
        models = {**build_models({}), **({"mock": model} if model else {})}
        lab = DrainLab(database, models=models, **more)
        app = create_app(database, InProcessBus(), lab.clock, GatewaySettings(), environ={}, served_providers=["mock"])
        async with database.transaction() as session:
            key = await keys.create_key(session, "Ellen", lab.clock.now())
        headers = {"Authorization": f"Bearer {key}"}
        client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://lab", headers=headers)
        clients.append(client)
        talk = Talk(lab, client)
        await talk.put(ADA)
        return talk

    yield made
    for client in clients:
        await client.aclose()


class Interrupted:
    """A session between whose statements something else happens: `work`, after statement `number`."""

    def __init__(self, session: ReadSession, number: int, work: Callable[[], Awaitable[object]]) -> None:
        self._session = session
        self._left = number
        self._work = work

    async def first(self, *statement: Any) -> Any:
        found = await self._session.first(*statement)
        await self._interrupt()
        return found

    async def all(self, *statement: Any) -> Any:
        found = await self._session.all(*statement)
        await self._interrupt()
        return found

    async def _interrupt(self) -> None:
        self._left -= 1
        if self._left == 0:
            await self._work()


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_who_is_told_that_no_reply_is_awaited_has_the_reply(make: Make, database: Database, number: int) -> None:
    talk = await make()
    assert (await talk.say("Hello!", "m1")).status_code == 201
    ((owner_id,),) = await talk.lab.rows("SELECT owner_id FROM persona_chats")

    async with database.read() as session:
        chat = await find(cast(ReadSession, Interrupted(session, number, talk.lab.drain)), owner_id, "ada")

    assert chat is not None
    assert chat.is_awaiting_reply or chat.lines[-1].is_persona


async def test_a_persona_answers_every_message_whatever_its_chat_settings_say(make: Make) -> None:
    talk = await make(deliveries=2)

    for number in range(25):
        answer = await talk.say(f"Question {number}", f"m{number}")
        assert answer.status_code == 201, answer.text
        await talk.lab.drain()

    chat = await talk.chat()
    assert [one["author"] for one in chat["messages"]] == ["you", "persona"] * 25
    assert {one["reply"] for one in chat["messages"]} == {"given", None}
    assert all(one["text"].strip() for one in chat["messages"])
    assert not chat["is_awaiting_reply"]


async def test_a_message_is_answered_with_itself_and_waits_for_its_reply(make: Make) -> None:
    talk = await make()

    said = (await talk.say("Who are you?", "m1")).json()
    again = (await talk.say("Who are you?", "m1")).json()
    too_soon = await talk.say("Well?", "m2")
    waiting = await talk.chat()

    assert (said["author"], said["text"], said["reply"]) == ("you", "Who are you?", "awaited")
    assert again == said
    assert (too_soon.status_code, too_soon.json()["reason"]) == (409, "awaiting_reply")
    assert waiting["is_awaiting_reply"]
    assert len(waiting["messages"]) == 1
    assert (await talk.chat(after_seq=1))["messages"] == []


@pytest.mark.parametrize("is_first", [True, False])
async def test_of_messages_at_once_one_is_said_and_has_one_reply(make: Make, is_first: bool) -> None:
    talk = await make(deliveries=3)
    if not is_first:
        await talk.say("Hello", "m0")
        await talk.lab.drain()

    answers = await asyncio.gather(*(talk.say("Who are you?", f"m{number % 3 + 1}") for number in range(9)))
    await talk.lab.drain()

    codes = sorted(answer.status_code for answer in answers)
    assert codes == [201] * 3 + [409] * 6
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
    assert [author for author, _ in await talk.said()] == ["you", "persona"] * (1 if is_first else 2)
    [experiments] = await talk.lab.rows("SELECT count(*) AS n FROM experiments")
    assert experiments.n == 1


async def test_everything_that_is_said_of_a_persona_is_in_its_prompt(make: Make) -> None:
    model = FailingModel(None)
    talk = await make(model)

    await talk.say("Who are you?", "m1")
    await talk.lab.drain()

    prompt = model.prompts[0]
    assert prompt.startswith("You are in a test conversation. Respond naturally and in character.\n\n")
    assert "You are Taxi driver. Twenty years of nights.\n\n" in prompt
    assert "\n\nYour goal: keep the fares up." in prompt
    assert "mediat" not in model.prompts[0].lower()
    assert model.prompts[0].index("You fear") < model.prompts[0].index("Who are you?")


async def test_a_system_prompt_takes_the_place_of_role_goal_and_backstory(make: Make) -> None:
    model = FailingModel(None)
    talk = await make(model)
    file = "role: a trader\ngoal: to win\nbackstory: You sell apples.\nsystem_prompt: You are a machine.\n"
    await talk.put({**read_agent(file, "agent.yaml", "ada").model_dump(mode="json", exclude_unset=True), "id": "ada"})

    await talk.say("Who are you?", "m1")
    await talk.lab.drain()

    (prompt,) = model.prompts
    assert prompt.startswith(
        "You are a machine.\n\nYou are in a test conversation. Respond naturally and in character."
    )
    assert not any(text in prompt for text in ("trader", "apples", "to win"))
    assert "Who are you?" in prompt


@pytest.mark.parametrize("agent", [one for one in first_agents() if one.player == "agent"], ids=lambda one: one.id)
async def test_the_mock_answers_in_the_manner_of_the_persona(make: Make, agent: Persona) -> None:
    talk = await make()
    await talk.put({**agent.model_dump(mode="json", exclude_unset=True), "id": "ada"})

    await talk.say("Who are you?", "m1")
    await talk.lab.drain()

    [_, (author, answered)] = await talk.said()
    assert author == "persona"
    assert any(sentence in answered for sentence in manner_of(agent.script))


async def test_a_changed_persona_goes_on_with_what_was_said(make: Make) -> None:
    model = FailingModel(None)
    talk = await make(model)
    await talk.say("Who are you?", "m1")
    await talk.lab.drain()

    await talk.put({"profile": {"name": "Eva"}, "text": "You are retired."})
    await talk.say("And now?", "m2")
    await talk.lab.drain()

    assert [author for author, _ in await talk.said()] == ["you", "persona"] * 2
    assert "You are retired." in model.prompts[1]
    assert "You fear for your income." not in model.prompts[1]
    assert ", from you] I drive." in model.prompts[1]


@pytest.mark.parametrize("status", ["auth_error", "refused", "invalid"])
async def test_an_error_is_told_as_one_and_the_next_message_is_answered(make: Make, status: ModelStatus) -> None:
    model = FailingModel(status)
    talk = await make(model)
    await talk.put({**ADA, "model": {"max_attempts": 1}})
    await talk.say("Who are you?", "m1")
    await talk.lab.drain()
    failed = await talk.chat()

    model.status = None
    await talk.say("Again?", "m2")
    await talk.lab.drain()

    [message] = failed["messages"]
    assert (message["reply"], message["failure"]["code"]) == ("failed", status)
    assert "{" not in message["failure"]["detail"]
    assert not failed["is_awaiting_reply"]
    assert (await talk.said())[1:] == [("you", "Again?"), ("persona", "I drive.")]


async def test_a_cleared_chat_is_empty_and_nothing_is_said_in_it_any_more(make: Make) -> None:
    talk = await make()
    await talk.say("Who are you?", "m1")
    first = (await talk.chat())["experiment_id"]

    cleared = [await talk.client.delete("/v1/personas/ada/chat") for _ in range(2)]
    await talk.lab.drain()
    empty = await talk.chat()
    await talk.say("Who are you?", "m1")
    await talk.lab.drain()
    messages = await talk.lab.rows("SELECT text FROM messages WHERE author_kind = 'agent'")

    assert [answer.status_code for answer in cleared] == [204, 204]
    assert (empty["messages"], empty["experiment_id"]) == ([], None)
    assert [author for author, _ in await talk.said()] == ["you", "persona"]
    assert len(messages) == 1
    ended = await talk.lab.rows("SELECT id, status, is_test FROM experiments ORDER BY created_at, status")
    assert {(str(row.id) == first, row.status, row.is_test) for row in ended} == {
        (True, "ended", True),
        (False, "running", True),
    }


async def test_a_chat_that_is_cleared_while_it_is_paused_ends(make: Make) -> None:
    talk = await make()
    await talk.say("Who are you?", "m1")
    await talk.lab.drain()
    experiment_id = (await talk.chat())["experiment_id"]
    async with talk.lab.database.transaction() as session:
        await pause(session, UUID(experiment_id), talk.lab.clock.now(), reason="lab_stopped", cause="lab")

    cleared = await talk.client.delete("/v1/personas/ada/chat")
    await talk.lab.drain()

    assert cleared.status_code == 204
    (row,) = await talk.lab.rows("SELECT status, ended_at FROM experiments")
    assert (row.status, row.ended_at is None) == ("ended", False)


async def test_no_list_of_experiments_shows_a_test_chat(make: Make) -> None:
    talk = await make()

    await talk.say("Who are you?", "m1")

    assert (await talk.client.get("/v1/experiments")).json()["experiments"] == []
    experiment_id = (await talk.chat())["experiment_id"]
    assert (await talk.client.get(f"/v1/experiments/{experiment_id}")).json()["is_test"] is True


async def test_real_models_are_refused_unless_everything_says_yes(make: Make) -> None:
    talk = await make()

    refused = await talk.say("Who are you?", "m1", model_mode="real")

    assert (refused.status_code, refused.json()["reason"]) == (409, "real_models_refused")
    assert "OPENAI_API_KEY" in refused.json()["detail"]
    assert (await talk.chat())["messages"] == []


async def test_a_chat_needs_its_persona_its_owner_and_the_scope(make: Make) -> None:
    talk = await make()
    await talk.say("Who are you?", "m1")
    async with talk.lab.database.transaction() as session:
        reader = await keys.create_key(session, "Ellen", talk.lab.clock.now(), scopes=["read"])
        stranger = await keys.create_key(session, "Sam", talk.lab.clock.now())

    async def status(key: str, method: str, **more: Any) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        answer: httpx2.Response = await talk.client.request(method, "/v1/personas/ada/chat", headers=headers, **more)
        return answer.status_code

    body = {"text": "Hello", "client_message_id": "m9"}
    assert [await status(reader, method, **more) for method, more in _requests(body)] == [200, 403, 403]
    assert [await status(stranger, method, **more) for method, more in _requests(body)] == [404, 404, 404]
    assert (await talk.client.get("/v1/personas/nobody/chat")).status_code == 404


def _requests(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [("GET", {}), ("POST", {"json": body}), ("DELETE", {})]


async def _one_talk(servers: ServerSettings, folder: Path) -> list[tuple[str, str]]:
    async with EmbeddedLab(folder, servers=servers, environ={"LLM_USE_MOCK": "true"}, port=0) as lab:
        headers = {"Authorization": f"Bearer {lab.directory.local_key()}"}
        async with httpx2.AsyncClient(base_url=str(lab.url), headers=headers, timeout=60, verify=WITHOUT_TLS) as client:
            await client.put("/v1/personas/ada", json=ADA)
            for number in range(3):
                body = {"text": f"Question {number}", "client_message_id": f"m{number}"}
                said = await client.post("/v1/personas/ada/chat", json=body)
                assert said.status_code == 201, said.text
                answered = await client.get("/v1/personas/ada/chat", params={"wait_seconds": 30})
                assert not answered.json()["is_awaiting_reply"]
            chat = (await client.get("/v1/personas/ada/chat")).json()
    return [(one["author"], one["text"]) for one in chat["messages"]]


@pytest.mark.rabbitmq
async def test_a_lab_answers_on_both_buses(
    database_url: str, second_database_url: str, amqp_url: str, tmp_path: Path
) -> None:
    broker = RabbitBroker(amqp_url, queues=[ORCHESTRATOR, AGENT_STEPS, provider_queue("mock")])
    on_rabbit = ServerSettings(database_url=second_database_url, amqp_url=amqp_url, amqp_prefix=broker.prefix)

    try:
        first = await _one_talk(ServerSettings(database_url=database_url), tmp_path / "1")
        second = await _one_talk(on_rabbit, tmp_path / "2")
    finally:
        await broker.close()

    assert [author for author, _ in first] == ["you", "persona"] * 3
    assert second == first
