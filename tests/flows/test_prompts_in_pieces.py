"""What a model was sent is stored once for all calls that show it, and read back as it was."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parley_lab.agent_worker.attempts import Attempt, call_row, keep_prompt
from parley_lab.contracts.models import ChatMessage, ModelReply, ModelRequest
from parley_lab.data import exports
from parley_lab.drafts import drafts
from parley_lab.drafts.context import sent_messages
from parley_lab.drafts.prompts import LONGEST_WHOLE
from parley_lab.experiments import ending, retention
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

TALK = """
parley: 1
name: Talk
seed: 1
pace: fast
stages: [{id: talk, kind: group_chat}]
personas: [{id: ana, profile: {name: Ana}}, {id: ben, profile: {name: Ben}}]
cohorts: [{count: 1, seats: [{persona: ana}, {persona: ben}]}]
"""
LONG = "\n".join(f"Line {number} of what everybody is shown." for number in range(LONGEST_WHOLE // 30))
SYSTEM = "You are a human participant in an online task.\n\n" + "Be the person described below. " * 40
TASK = (
    "# Your task\n\n" + "React to the last one or two messages. " * 20 + "\n\n# Your reply\n\n" + "A JSON object. " * 20
)
MOST_BYTES_PER_CALL = 5_000


class Calls:
    """A draft for which a worker calls a model again and again."""

    def __init__(self, lab: DrainLab, experiment_id: UUID, lease: drafts.Lease) -> None:
        self.lab = lab
        self.experiment_id = experiment_id
        self._lease = lease
        self.made = 0

    async def make(self, *texts: str) -> Any:
        """Call with these messages; returns them as they were sent."""
        self.made += 1
        now, messages = self.lab.clock.now(), tuple(ChatMessage(role="user", content=one) for one in texts)
        path = f"{self._lease.path}/call:{self.made}"
        request = ModelRequest(
            path=path, seed=1, settings=self._lease.agent.model, messages=messages, reply_schema={}, purpose="speak"
        )
        reply = ModelReply(raw="x" * 250, parsed={"response": "y" * 150, "shouldRespond": True}, status="ok")
        attempt = Attempt(self.made, path, request, reply, started_at=now, finished_at=now)
        attempt = await keep_prompt(self.lab.database, self._lease, attempt)
        async with self.lab.database.transaction() as session:
            await drafts.save_call(session, call_row(self._lease, attempt))
        return [{"role": one.role, "content": one.content} for one in messages]

    async def prompts(self) -> list[Any]:
        """What the data say was sent, in the order of the calls."""
        async with self.lab.database.transaction() as session:
            section = exports.section(session, "model_calls", self.experiment_id)
            return [row["prompt"] async for row in section]

    async def bytes_stored(self) -> int:
        (row,) = await self.lab.rows(
            "SELECT pg_total_relation_size('model_calls') + pg_total_relation_size('prompt_pieces') AS bytes"
        )
        return int(row.bytes)

    async def pieces(self) -> int:
        (row,) = await self.lab.rows(
            "SELECT count(*) AS n FROM prompt_pieces WHERE experiment_id = :id", id=self.experiment_id
        )
        return int(row.n)


async def a_call(database: Database) -> Calls:
    lab = DrainLab(database)
    experiment_id = await lab.start(TALK)
    await lab.deliver(lab.next_hints())
    found = await lab.rows(
        "SELECT d.id FROM drafts d JOIN cohorts c ON c.id = d.cohort_id WHERE c.experiment_id = :id", id=experiment_id
    )
    now = lab.clock.now()
    async with database.transaction() as session:
        lease = await drafts.lease(session, found[0].id, uuid4(), now, now + timedelta(minutes=1))
    assert lease is not None
    return Calls(lab, experiment_id, lease)


@pytest.fixture
async def calls(database: Database) -> Calls:
    return await a_call(database)


TEXTS = st.text(st.characters(exclude_characters="\x00", codec="utf-8"))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS | TEXTS.map(f"{LONG}\n".__add__), min_size=1, max_size=3))
async def test_what_was_sent_is_read_back_as_it_was(calls: Calls, texts: list[str]) -> None:
    sent = await calls.make(*texts)

    assert orjson.dumps((await calls.prompts())[-1]) == orjson.dumps(sent)


async def test_prompts_are_read_back_in_the_data_and_for_staff(calls: Calls) -> None:
    sent = [await calls.make(LONG, "What now?"), await calls.make("A short one."), await calls.make(LONG, "And now?")]

    async with calls.lab.database.read() as session:
        first = await sent_messages(session, (await calls.lab.rows("SELECT draft_id FROM model_calls"))[0].draft_id)

    assert await calls.prompts() == sent
    assert first == sent[0]
    (row,) = await calls.lab.rows("SELECT count(prompt) AS whole, count(prompt_pieces) AS cut FROM model_calls")
    assert (row.whole, row.cut) == (1, 2)


async def test_a_whole_prompt_of_an_earlier_version_is_read_back(calls: Calls) -> None:
    await calls.make(LONG)
    old = [{"role": "user", "content": "As it was stored before."}]
    await calls.lab.rows(
        "UPDATE model_calls SET prompt = CAST(:old AS jsonb), prompt_pieces = NULL RETURNING 1",
        old=orjson.dumps(old).decode(),
    )

    assert await calls.prompts() == [old]


@pytest.mark.parametrize("messages", quick_first([150, 600], 1))
async def test_a_thousand_calls_of_a_conversation_take_less_than_five_megabytes(calls: Calls, messages: int) -> None:
    before, most = await calls.bytes_stored(), 1_000
    said = [f"({n // 20:02}:{n % 20 * 3:02}) Person {n % 4}: {'words of number ' * 5}{n}" for n in range(messages)]
    for call in range(most):
        transcript = "\n".join(said[: 1 + call * messages // most])
        await calls.make(SYSTEM, f"Transcript of the conversation.\n{transcript}\n\n{TASK}")

    assert await calls.bytes_stored() - before <= most * MOST_BYTES_PER_CALL


async def test_the_prompts_of_two_experiments_share_nothing(database: Database) -> None:
    first, second = await a_call(database), await a_call(database)
    for one in (first, second):
        await one.make(LONG)
    kept = await second.pieces()

    await ending.delete(database, first.experiment_id, first.lab.clock.now())

    assert (await first.pieces(), await second.pieces()) == (0, kept)
    assert await second.prompts() == [[{"role": "user", "content": LONG}]]


async def test_what_is_deleted_after_its_days_is_deleted_from_the_pieces_too(calls: Calls) -> None:
    await calls.make(LONG)
    await calls.lab.rows("UPDATE members SET player = 'person', agent_config = NULL WHERE path = 'c1/m2' RETURNING 1")
    now = calls.lab.clock.now()
    async with calls.lab.database.transaction() as session:
        await ending.end(session, calls.experiment_id, now)
    async with calls.lab.database.transaction() as session:
        assert await retention.forget_people(session, calls.experiment_id, now)

    assert await calls.pieces() == 0
    assert await calls.prompts() == [[]]


async def test_a_prompt_of_which_pieces_were_deleted_shows_no_part_of_it(calls: Calls) -> None:
    sent = [await calls.make(LONG), await calls.make("A short one.")]
    await calls.lab.rows("DELETE FROM prompt_pieces WHERE text LIKE '%Line 5 %' RETURNING 1")

    assert await calls.prompts() == [[], sent[1]]
