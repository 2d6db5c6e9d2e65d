"""People in the seats of workbooks hear what agents there would."""

from random import Random
from typing import Any

import httpx2
import orjson
import pytest

from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.formats.workbook import compile_designs, read, read_xlsx
from parley_lab.kinds.stages.group_interview.transcript import ABOUT_LINES
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab, empty
from tests.flows.interviewing import (
    DEMO,
    PLAYERS,
    Person,
    Telling,
    document,
    heard,
    member_and_task,
    run,
    small,
    statuses,
)

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("role", quick_first([*PLAYERS, "Summarizer"], 1))
async def test_a_person_in_any_seat_hears_what_an_agent_there_would_and_changes_nothing_for_others(
    database: Database, gateway: httpx2.AsyncClient, role: str
) -> None:
    expected = await heard(await run(database, small(), Telling()))
    await empty(database)
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
        path, task = member_and_task(request.path)
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
    await empty(database)
    return model


class Repeater(Person):
    """A person who says what the agent in this seat has said."""

    def __init__(self, lab: DrainLab, client: httpx2.AsyncClient, role: str, given: dict[tuple[str, str], str]) -> None:
        super().__init__(lab, client)
        self._role = role
        self._given = given

    async def says(self, key: str) -> Any:
        return self._given[self._role, key.removeprefix("task:")]


def heard_by_person(view: dict[str, Any]) -> list[str]:
    """The transcript of a page in the form of a prompt."""
    whom = [f", to {line['to']}" if line["to"] else "" for line in view["transcript"]]
    said = [line["text"].replace("\n", "\n    ") for line in view["transcript"]]
    heard = zip(view["transcript"], whom, said, strict=True)
    return _lines("\n".join(f"[from {line['role']}{to}] {words}" for line, to, words in heard))


def heard_by_agent(prompt: str) -> list[str]:
    """The transcript in a prompt, without the line that tells how to read it."""
    _, _, stage = prompt.partition("[Stage: interview]\n")
    transcript, _, _ = stage.partition("\n# Your task\n")
    return _lines(transcript.replace(ABOUT_LINES, ""))


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


SEATS_OF_DEMO = ["Summarizer", *(f"Participant {number}" for number in range(1, 5))]


@pytest.mark.parametrize("role", quick_first(SEATS_OF_DEMO, 1))
async def test_the_demo_with_a_person_in_any_seat_shows_everybody_what_it_shows_among_agents(
    database: Database, gateway: httpx2.AsyncClient, role: str
) -> None:
    among_agents = await run_of_demo(database)
    text, seats = demo_session(people=(role,))
    model = Deciding(seats)
    lab = DrainLab(database, models={"mock": model})
    person = Repeater(lab, gateway, role, among_agents.given)

    await person.join(await lab.start(text))
    await person.answer_everything()

    assert model.prompts == {at: prompt for at, prompt in among_agents.prompts.items() if at[0] != role}
    assert {(role, task) for task in person.pages} == {at for at in among_agents.prompts if at[0] == role}
    for task, view in person.pages.items():
        assert heard_by_person(view) == heard_by_agent(among_agents.prompts[role, task])
    assert await statuses(lab) == {"completed"}
