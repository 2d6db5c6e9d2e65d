"""Workbooks, run to their end: who is asked what when, who hears what, and what is kept of the answers."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import httpx2
import orjson
import pytest
from sqlalchemy import text

from agent_worker.models import build_models
from formats.testing.workbooks import Values, base_values, sheets_of, task_row, with_setting
from formats.workbook import compile_designs, compile_workbook, estimates, read, read_xlsx
from shared.contracts.models import ModelReply, ModelRequest
from shared.db.session import Database
from shared.experiment import Experiment
from shared.testing.fake_endpoint import FakeEndpoint
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

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


async def run(database: Database, text: str, model: Telling) -> DrainLab:
    lab = DrainLab(database, models={"mock": model})
    await lab.start(text)
    await lab.drain()
    return lab


async def roles(lab: DrainLab) -> dict[str, str]:
    """Everybody's role, by path."""
    rows = await lab.rows("SELECT path, profile ->> 'name' AS name FROM members")
    return {row.path: row.name for row in rows}


async def heard(lab: DrainLab) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """For each reply (role, task): whose replies (role, task) its prompt showed."""
    names = await roles(lab)
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for row in await lab.rows("SELECT path, prompt FROM model_calls ORDER BY path"):
        member, task = _place(row.path)
        shown = row.prompt[1]["content"]
        others = {
            (names[one.path], one.key.removeprefix("task:"))
            for one in await lab.rows("SELECT m.path, k.key FROM asks k JOIN members m ON m.id = k.member_id")
            if f"<{one.path}/interview/{one.key}>" in shown
        }
        found[names[member], task] = others
    return found


def _place(path: str) -> tuple[str, str]:
    member, _, rest = path.partition("/interview/task:")
    return member, rest.partition("/")[0]


def all_of(task: str, *names: str) -> set[tuple[str, str]]:
    return {(name, task) for name in names}


async def test_everybody_hears_what_the_type_of_each_task_lets_them_hear(database: Database) -> None:
    lab = await run(database, small(), Telling())

    found = await heard(lab)

    names = await roles(lab)
    first, second, third = (names[f"c1/m{number}"] for number in (1, 2, 3))
    talk = all_of("talk", *PLAYERS, "Summarizer")
    assert [found[role, "talk"] for role in (first, second, third, "Summarizer")] == [
        set(),
        all_of("talk", first),
        all_of("talk", first, second),
        all_of("talk", *PLAYERS),
    ]
    assert (found["B", "open"], found["A", "open"]) == (talk, talk | all_of("open", "B"))
    before = talk | all_of("open", "A", "B")
    assert [found[role, "closed"] for role in PLAYERS] == [before] * 3
    assert found["Summarizer", "closed"] == before | all_of("closed", "C", "A")
    after = before | all_of("closed", *PLAYERS, "Summarizer")
    assert [found[role, "last"] for role in PLAYERS] == [after] * 3


async def test_the_facilitator_speaks_the_sheet_and_is_asked_nothing(database: Database) -> None:
    model = Telling()
    lab = await run(database, small(), model)

    asked = await lab.rows("SELECT DISTINCT m.path FROM asks k JOIN members m ON m.id = k.member_id")
    names = await roles(lab)

    assert {names[row.path] for row in asked} == {*PLAYERS, "Summarizer"}
    prompts = [request.messages[1].content for request in model.requests if "/task:last/" in request.path]
    assert all("Facilitator: It has begun to rain." in prompt for prompt in prompts)
    assert all("Facilitator asks you: And now?" in prompt for prompt in prompts)


async def test_a_system_message_has_context_treatment_profile_and_role_in_this_order(database: Database) -> None:
    model = Telling()
    lab = await run(database, small(), model)

    names = await roles(lab)
    request = next(one for one in model.requests if one.path.startswith("c1/m1/"))
    system = request.messages[0].content
    parts = ["A game is played.", "You play as you like.", "Me: 31", f"You are player {names['c1/m1']}."]
    assert sorted(parts, key=system.index) == parts
    summarizer = next(one for one in model.requests if "/med" in one.path)
    assert "Interviewer" not in summarizer.messages[0].content


@pytest.mark.parametrize("seed", range(3))
async def test_shuffled_and_doubled_hints_change_no_answer_and_no_prompt(database: Database, seed: int) -> None:
    plain = await run(database, small(), Telling())
    expected = await heard(plain), await kept(plain)
    async with database.transaction() as session:
        for table in ("experiments", "experimenters"):
            await session.run(text(f"TRUNCATE {table} CASCADE"))
    wild = DrainLab(database, models={"mock": Telling()}, deliveries=2, together=5, rng=Random(seed))

    await wild.start(small())
    await wild.drain()

    assert (await heard(wild), await kept(wild)) == expected


async def kept(lab: DrainLab) -> list[Any]:
    return [
        tuple(row)
        for row in await lab.rows(
            "SELECT m.path, a.key, a.value, a.valid FROM answers a JOIN members m ON m.id = a.member_id ORDER BY 1, 2"
        )
    ]


async def statuses(lab: DrainLab) -> set[str]:
    return {row.status for row in await lab.rows("SELECT status FROM members WHERE kind = 'participant'")}


def one_question(**fields: Any) -> str:
    values = with_setting(base_values(), max_conversation_length=1000)
    values["interview_prompts"][2:] = [task_row("n", llm_text="How many? {response_options}", **fields)]
    (experiment,) = compile_workbook(read(sheets_of(values)), sessions=1)
    return document(experiment)


async def test_an_answer_that_is_no_option_is_asked_again_with_the_reason_until_it_is_one(database: Database) -> None:
    tries = ["7", "I choose 2.", "9", "2."]
    model = Telling(lambda _, attempt: tries[attempt - 1])

    lab = await run(database, one_question(response_options="[1, 2, 3]", validate_response=1), model)

    assert len(model.requests) == 3 * 4
    assert "the answer must be one of: 1, 2, 3" in model.requests[-1].messages[-1].content
    entries = [row for row in await kept(lab) if row[1] == "task:n"]
    assert [(value["response"], value["value"], valid) for _, _, value, valid in entries] == [("2.", 2, True)] * 3


async def test_after_five_attempts_the_last_answer_is_kept_and_flagged(database: Database) -> None:
    model = Telling(lambda _, attempt: f"two, for the {attempt}. time")

    lab = await run(database, one_question(response_options="[1, 2, 3]", validate_response=1), model)

    assert len(model.requests) == 3 * 5
    entries = [row for row in await kept(lab) if row[1] == "task:n"]
    assert [(value["response"], value["value"], value["valid"], valid) for _, _, value, valid in entries] == [
        ("two, for the 5. time", None, False, False)
    ] * 3
    assert await statuses(lab) == {"completed"}


async def test_without_validation_there_is_one_call(database: Database) -> None:
    model = Telling(lambda _, attempt: "two")

    lab = await run(database, one_question(response_options="[1, 2, 3]"), model)

    assert len(model.requests) == 3
    entries = [value for _, key, value, _ in await kept(lab) if key == "task:n"]
    assert [(value["response"], value["valid"]) for value in entries] == [("two", False)] * 3


@pytest.mark.parametrize(("typed", "value"), [(2, 2), ("2", 2), (2.0, 2)], ids=repr)
async def test_a_number_is_an_answer_whether_or_not_it_stands_in_quotes(
    database: Database, typed: object, value: int
) -> None:
    fields = {"var_type": "integer", "generate_speculation_score": 1, "format_response": 1}

    lab = await run(
        database,
        one_question(response_options="(1, 3)", validate_response=1, **fields),
        Telling(lambda _, attempt: typed),
    )

    pages = await lab.rows("SELECT value FROM answers WHERE key = ''")
    entries = [row.value["n"] for row in pages]
    assert [(entry["value"], entry["reasoning"], entry["speculation_score"]) for entry in entries] == [
        (value, "because", 10)
    ] * 3


@pytest.mark.parametrize(
    ("said", "calls", "entry"),
    [
        ("2", 1, ("2", 2, True, None)),
        ("```\n2.0\n```", 1, ("```\n2.0\n```", 2, True, None)),
        ("2\nSpeculation Score: 30", 1, ("2", 2, True, 30)),
        ('{"response": 2, "speculation_score": 30}', 1, ("2", 2, True, 30)),
        ("99 but maybe 3", 5, ("99 but maybe 3", None, False, None)),
        ('{"response": 2, "speculati', 5, ('{"response": 2, "speculati', None, False, None)),
    ],
)
async def test_an_inference_endpoint_may_say_its_answer_in_an_object_or_in_plain_text(
    database: Database, said: str, calls: int, entry: tuple[str, int | None, bool, int | None]
) -> None:
    async with FakeEndpoint(replies=lambda _: said) as endpoint:
        text = at_endpoint(endpoint.base_url, generate_speculation_score=1, response_options="[1, 2, 3]")
        models = build_models({"HF_API_KEY": "hf_any_text"})
        lab = DrainLab(database, models=models)
        await lab.start(text)

        await lab.drain()
        await models["hf-inference"].aclose()

        assert len(endpoint.calls) == 3 * calls
        assert {call["model"] for call in endpoint.calls} == {"tgi"}
    entries = [value for _, key, value, _ in await kept(lab) if key == "task:n"]
    names = ("response", "value", "valid", "speculation_score")
    assert [tuple(value[name] for name in names) for value in entries] == [entry] * 3


@pytest.mark.parametrize("score", [0, 1])
@pytest.mark.parametrize("said", ["I give 3.", '{"offer": 3}', 'Say {"offer": 3}, and {mind} the rest.'])
async def test_where_responses_are_not_formatted_a_plain_text_is_asked_for_and_kept_as_it_is(
    database: Database, said: str, score: int
) -> None:
    async with FakeEndpoint(replies=lambda _: said + "\nSpeculation Score: 30" * score) as endpoint:
        text = at_endpoint(endpoint.base_url, generate_speculation_score=score, validate_response=0)
        models = build_models({"HF_API_KEY": "hf_any_text"})
        lab = DrainLab(database, models=models)
        await lab.start(text)

        await lab.drain()
        await models["hf-inference"].aclose()

        assert len(endpoint.calls) == 3
        for call in endpoint.calls:
            told = call["messages"][-1]["content"].partition("# Your reply")[2]
            assert "plain text" in told
            assert "JSON object" not in told
            assert ("Speculation Score" in told) == bool(score)
    entries = [value for _, key, value, _ in await kept(lab) if key == "task:n"]
    assert [(one["response"], one["speculation_score"]) for one in entries] == [(said, 30 if score else None)] * 3


async def test_a_plain_text_that_was_cut_off_is_no_answer(database: Database) -> None:
    cut = ModelReply(status="invalid", raw="I would give thr", finish_reason="length", error="the reply was cut off")
    model = Telling()
    model.reply = lambda request: _given(cut if request.path.endswith("call:1") else None, request)  # type: ignore[method-assign]

    lab = await run(database, one_question(), model)

    entries = [value for _, key, value, _ in await kept(lab) if key == "task:n"]
    assert [one["response"] for one in entries] == ["Three."] * 3


async def _given(reply: ModelReply | None, request: ModelRequest) -> ModelReply:
    assert request.is_text
    return reply or ModelReply(status="invalid", raw="Three.", finish_reason="stop", error="not a JSON object")


def at_endpoint(address: str, **fields: Any) -> str:
    """One session of three who are asked one question by real models at this address."""
    values = with_setting(base_values(), max_conversation_length=1000, model_info="hf-inference", api_endpoint=address)
    values["interview_prompts"][2:] = [
        task_row("n", llm_text="How many? {response_options}", **{"validate_response": 1, **fields})
    ]
    (experiment,) = compile_workbook(read(sheets_of(values)), sessions=1)
    return experiment.model_copy(update={"model_mode": "real"}).model_dump_json()


GIVEN = {"P1": [3, 4, 0], "P2": [3, 2, 0], "P3": [5, 5, 0], "P4": [6, 5, 0]}
"""What each player answers, one after another."""


class Payer(Telling):
    """Players give what `GIVEN` says; the summarizer pays out by what its prompt shows, and by nothing else."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        shown = request.messages[1].content
        if "/med" in request.path:
            said = self._paid_out(shown)
        else:
            role = re.search(r"You are player (P\d)", request.messages[0].content)
            assert role is not None
            said = str(GIVEN[role[1]][len(re.findall(rf"^{role[1]}: \d+$", shown, re.MULTILINE))])
        self.requests.append(request)
        return ModelReply(status="ok", parsed={"response": said}, raw=said)

    def _paid_out(self, shown: str) -> str:
        """Ten for each, what was given is doubled and shared by four; over all rounds."""
        seen = {role: [int(one) for one in re.findall(rf"^{role}: (\d+)$", shown, re.MULTILINE)] for role in GIVEN}
        shares = [2 * sum(given) / 4 for given in zip(*seen.values(), strict=True)]
        return "Earned: " + ", ".join(
            f"{role} {sum(10 - one + share for one, share in zip(given, shares, strict=True)):g}"
            for role, given in seen.items()
        )


async def test_a_summarizer_pays_out_from_the_round_that_is_on_and_everybody_hears_it_afterwards(
    database: Database,
) -> None:
    model = Payer()

    await run(database, two_rounds_and_a_summarizer(), model)

    first = "Summarizer: Earned: P1 15.5, P2 15.5, P3 13.5, P4 12.5"
    second = "Summarizer: Earned: P1 29.5, P2 31.5, P3 26.5, P4 25.5"
    assert len(model.requests) == 5 + 5 + 4
    for request in model.requests:
        task = request.path.partition("/task:")[2].split("/")[0]
        assert (first in request.messages[1].content) is (task != "first")
        assert (second in request.messages[1].content) is (task == "belief")


def two_rounds_and_a_summarizer() -> str:
    values = with_setting(base_values(), max_conversation_length=1000, num_agents_per_session=4, num_sessions=3)
    roles = values["agent_roles"][:2]
    values["agent_roles"] = [*roles, *([role, f"You are player {role}."] for role in GIVEN), ["Summarizer", "You pay."]]
    asked = str({**dict.fromkeys(GIVEN, "How much do you give?"), "Summarizer": "Who has earned what?"})
    values["interview_prompts"][2:] = [
        task_row("first", task_order=1, llm_text=asked),
        task_row("second", task_order=2, llm_text=asked),
        task_row("belief", task_order=3, llm_text="How much did you earn?"),
    ]
    (experiment,) = compile_workbook(read(sheets_of(values)), sessions=1)
    return document(experiment)


async def test_the_demo_runs_to_its_end_with_the_mock(database: Database) -> None:
    lab = DrainLab(database)
    compiled = compile_designs(read(read_xlsx(DEMO.read_bytes(), DEMO.name)))
    for one in compiled:
        await lab.start(document(one.experiment))

        await lab.drain()

    pages = await lab.rows("SELECT value FROM answers WHERE key = ''")
    rounds = [f"contribution_{number}" for number in range(1, 6)]
    assert len(pages) == 2 * 2 * 4
    for row in pages:
        assert set(row.value) == {"quiz_pot", "quiz_share", "quiz_keep", "talk", *rounds, "belief"}
        assert all(isinstance(row.value[one]["value"], int) for one in rounds)
        assert all(row.value[one]["value"] in range(11) for one in rounds[::2])
        assert 0 <= row.value["belief"]["value"] <= 1
    assert await statuses(lab) == {"completed"}
    calls = await lab.rows("SELECT count(*) AS calls FROM model_calls")
    assert calls[0].calls == 2 * 2 * (3 * 4 + 5 + 5 * 5 + 4)
    assert {session.chain for one in compiled for session in estimates(one)} == {3 * 4 + 5 + 5 * 2 + 1}
    assert calls[0].calls == sum(session.calls for one in compiled for session in estimates(one))


class Person:
    """Somebody who takes the open seat and does over REST what the page asks."""

    def __init__(self, lab: DrainLab, client: httpx2.AsyncClient) -> None:
        self._lab = lab
        self._client = client
        self.pages: dict[str, dict[str, Any]] = {}
        self._token = ""

    async def join(self, experiment_id: UUID) -> None:
        joined = await self._client.post(f"/v1/experiments/{experiment_id}/join", json={"profile": {"name": "Zoe"}})
        self._token = joined.json()["token"]
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


@pytest.mark.parametrize("role", [*PLAYERS, "Summarizer"])
async def test_a_person_in_any_seat_hears_what_an_agent_there_would_and_changes_nothing_for_others(
    database: Database, gateway: httpx2.AsyncClient, role: str
) -> None:
    expected = await heard(await run(database, small(), Telling()))
    async with database.transaction() as session:
        for table in ("experiments", "experimenters"):
            await session.run(text(f"TRUNCATE {table} CASCADE"))
    lab = DrainLab(database, models={"mock": Telling()})
    person = Person(lab, gateway)

    await person.join(await lab.start(small(people=(role,))))
    await person.answer_everything()

    found = {
        (task_of[0], task_of[1]): {(role if name == "Zoe" else name, task) for name, task in shown}
        for task_of, shown in (await heard(lab)).items()
    }
    assert found == {at: shown for at, shown in expected.items() if at[0] != role}
    read = {
        (role, task): {(line["role"], line["task"]) for line in view["transcript"] if not line["read_out"]}
        for task, view in person.pages.items()
    }
    assert read == {at: shown for at, shown in expected.items() if at[0] == role}
    assert all(view["role"] == role for view in person.pages.values())
    assert await statuses(lab) == {"completed"}


class Deciding:
    """A model that gives every role the same valid answer to a task in every run."""

    def __init__(self, seats: dict[str, str]) -> None:
        self.prompts: dict[tuple[str, str], str] = {}
        self.given: dict[tuple[str, str], str] = {}
        self._seats = seats

    async def reply(self, request: ModelRequest) -> ModelReply:
        path, task = _place(request.path)
        role = self._seats[path]
        self.prompts[role, task] = "\n".join(message.content for message in request.messages)
        fields = dict.fromkeys(request.reply_schema["properties"], "because")
        parsed = {**fields, "response": _choice(request.reply_schema["properties"]["response"], f"{role}, {task}")}
        if "speculation_score" in parsed:
            parsed["speculation_score"] = 10
        self.given[role, task] = str(parsed["response"])
        return ModelReply(status="ok", parsed=parsed, raw=orjson.dumps(parsed).decode())

    async def aclose(self) -> None:
        """Nothing is open."""


def _choice(shape: dict[str, Any], seed: str) -> Any:
    rng = Random(seed)
    if "enum" in shape:
        return rng.choice(shape["enum"])
    if shape["type"] in ("integer", "number"):
        return rng.randint(int(shape.get("minimum", 0)), int(shape.get("maximum", 10)))
    return f"<{seed}>"


def demo_session(*, people: tuple[str, ...] = ()) -> tuple[str, dict[str, str]]:
    """The first session of the demo, and who sits where in it."""
    workbook = read(read_xlsx(DEMO.read_bytes(), DEMO.name))
    (compiled, _) = compile_designs(workbook, people=people, sessions=1)
    seats = {f"c1/m{number}": seat.role.label for number, seat in enumerate(compiled.sessions[0].seats, 1)}
    return document(compiled.experiment), {**seats, "c1/med2": "Summarizer"}


async def run_of_demo(database: Database) -> Deciding:
    document, seats = demo_session()
    model = Deciding(seats)
    lab = DrainLab(database, models={"mock": model})
    await lab.start(document)
    await lab.drain()
    async with database.transaction() as session:
        for table in ("experiments", "experimenters"):
            await session.run(text(f"TRUNCATE {table} CASCADE"))
    return model


class Stand(Person):
    """A person who says what the agent in this seat has said."""

    def __init__(self, lab: DrainLab, client: httpx2.AsyncClient, role: str, given: dict[tuple[str, str], str]) -> None:
        super().__init__(lab, client)
        self._role = role
        self._given = given

    async def says(self, key: str) -> Any:
        return self._given[self._role, key.removeprefix("task:")]


def heard_by_person(view: dict[str, Any]) -> list[str]:
    """The transcript of a page in the words of a prompt."""
    whom = [f" (to {line['to']})" if line["to"] else "" for line in view["transcript"]]
    said = [f"{line['role']}{to}: {line['text']}" for line, to in zip(view["transcript"], whom, strict=True)]
    return _lines("\n".join(said))


def heard_by_agent(prompt: str) -> list[str]:
    """The transcript in a prompt."""
    _, _, stage = prompt.partition("[Stage: interview]\n")
    transcript, _, _ = stage.partition("\n# Your task\n")
    return _lines(transcript)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


SEATS_OF_DEMO = [*(f"Participant {number}" for number in range(1, 5)), "Summarizer"]


@pytest.mark.parametrize("role", SEATS_OF_DEMO)
async def test_the_demo_with_a_person_in_any_seat_shows_everybody_what_it_shows_among_agents(
    database: Database, gateway: httpx2.AsyncClient, role: str
) -> None:
    among_agents = await run_of_demo(database)
    text, seats = demo_session(people=(role,))
    model = Deciding(seats)
    lab = DrainLab(database, models={"mock": model})
    person = Stand(lab, gateway, role, among_agents.given)

    await person.join(await lab.start(text))
    await person.answer_everything()

    assert model.prompts == {at: prompt for at, prompt in among_agents.prompts.items() if at[0] != role}
    assert {(role, task) for task in person.pages} == {at for at in among_agents.prompts if at[0] == role}
    for task, view in person.pages.items():
        assert heard_by_person(view) == heard_by_agent(among_agents.prompts[role, task])
    assert await statuses(lab) == {"completed"}
