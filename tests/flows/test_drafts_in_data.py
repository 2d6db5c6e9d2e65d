"""What the data say of replies that were to be made: why each was published or not, and what was paid for them."""

import asyncio
import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.agent_worker.models.mock import MockModel
from parley_lab.answers.advancing import end_member
from parley_lab.base.failpoints import on_failpoint
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.contracts.providers import MOCK_PROVIDER
from parley_lab.formats.exports import export
from parley_lab.kinds.stages.group_chat.config import GroupChatStage
from parley_lab.members.standings import lock_standing
from parley_lab.store.session import Database
from parley_lab.talk.conversation import end_thread
from parley_lab.talk.posting import post_message
from parley_lab.testing.fake_clock import FakeClock
from tests.flows.drain import DrainLab

Data = dict[str, Any]

MODES = get_args(GroupChatStage.model_fields["turn_taking"].annotation)

TALK = """
parley: 1
name: A talk
seed: 4
personas:
  - {{id: ada, profile: {{name: Ada}}, chat: {{initial_message: Good morning.}}}}
  - {{id: bob, profile: {{name: Bob}}}}
  - {{id: cid, profile: {{name: Cid}}}}
  - {{id: med, profile: {{name: Mia}}}}
stages: [{{id: talk, kind: group_chat, max_agent_run: 8, turn_taking: {mode}}}]
cohorts: [{{count: 2, seats: [{{persona: ada}}, {{persona: bob}}, {{persona: cid}}], mediators: [med]}}]
"""

ROOM = """
parley: 1
name: A room
seed: 0
pace: live
personas:
  - {id: a, model: {max_attempts: 1}}
  - {id: b, model: {max_attempts: 1}}
  - {id: c, model: {max_attempts: 1}}
  - {id: d, model: {max_attempts: 1}}
  - {id: e, model: {max_attempts: 1}}
stages: [{id: talk, kind: group_chat, max_agent_run: 1, late_replies: dropped}]
cohorts: [{seats: [{open: true}, {persona: a}, {persona: b}, {persona: c}, {persona: d}, {persona: e}]}]
"""


async def data_of(lab: DrainLab, experiment_id: UUID, folder: Path) -> Data:
    await export(lab.database, experiment_id, folder, lab.clock.now(), formats=["json"])
    data: Data = json.loads((folder / "data.json").read_text())
    return data


@pytest.mark.parametrize("mode", MODES)
async def test_the_data_say_how_many_calls_each_way_of_taking_turns_paid(
    database: Database, tmp_path: Path, mode: str
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(TALK.format(mode=mode))
    await lab.drain()

    data = await data_of(lab, experiment_id, tmp_path)

    (talk,) = data["conversations"]
    calls = Counter(
        "readiness" if call["purpose"] == "ready" else "mediating" if "med" in call["member_path"] else "speaking"
        for call in data["model_calls"]
    )
    openings = sum(draft["provider"] == "line" and draft["state"] == "published" for draft in data["drafts"])
    of_agents = sum(message["author_kind"] == "agent" for message in data["messages"])
    assert (talk["stage"], talk["turn_taking"], talk["conversations"]) == ("talk", mode, 2)
    assert {kind: talk[f"calls_{kind}"] for kind in ("speaking", "mediating", "readiness")} == {
        kind: calls[kind] for kind in ("speaking", "mediating", "readiness")
    }
    assert (talk["messages_of_agents"], talk["opening_lines"], talk["messages_of_people"]) == (of_agents, openings, 0)
    assert talk["calls_per_message"] == round((calls["speaking"] + calls["mediating"]) / (of_agents - openings), 3)
    assert talk["drafts"] == Counter(draft["state"] for draft in data["drafts"])


async def test_select_pays_one_call_for_each_message_by_its_own_report(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(TALK.format(mode="select"))
    await lab.drain()

    data = await data_of(lab, experiment_id, tmp_path)

    assert data["conversations"][0]["calls_per_message"] == 1.0


class Cast:
    """Five agents who think at the same time: two speak, one stays silent, one says nothing of use, one fails."""

    def __init__(self) -> None:
        self._thinking = 0
        self._all_think = asyncio.Event()

    async def reply(self, request: ModelRequest) -> ModelReply:
        self._thinking += 1
        if self._thinking == 5:
            self._all_think.set()
        await self._all_think.wait()
        seat = request.path.split("/")[1]
        if seat == "m4":
            return ModelReply(status="invalid", raw="zzz", error="no JSON")
        if seat == "m5":
            return ModelReply(status="auth_error", error="wrong key")
        parsed = {"explanation": "", "shouldRespond": seat != "m3", "response": seat, "readyToEndChat": False}
        return ModelReply(status="ok", parsed=parsed, raw="{}", model_returned="cast")

    async def aclose(self) -> None:
        pass


class Polite:
    """A model that always speaks after the first message."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        speaks = bool(request.hints["message_count"])
        parsed = {"explanation": "", "shouldRespond": speaks, "response": "Well.", "readyToEndChat": False}
        return ModelReply(status="ok", parsed=parsed, raw="{}", model_returned="polite")

    async def aclose(self) -> None:
        pass


async def post(lab: DrainLab, thread_id: UUID, person_id: UUID, words: str) -> None:
    async with lab.database.transaction() as session:
        await post_message(session, thread_id, person_id, words, lab.clock.now(), client_key=words)


async def only_settle(lab: DrainLab) -> list[UUID]:
    """The drafts that are wanted once all else is done."""
    wanted = []
    while lab.hints:
        hints = lab.next_hints()
        wanted += [UUID(hint.id) for hint in hints if hint.type == "draft.wanted"]
        await lab.deliver([hint for hint in hints if hint.type != "draft.wanted"])
    return wanted


async def test_the_data_say_of_every_reply_why_it_was_published_or_not(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database, models={"mock": Cast()})
    experiment_id = await lab.start(ROOM)
    person_id, _ = await lab.join(experiment_id)
    await only_settle(lab)
    ((thread_id,),) = await lab.rows("SELECT id FROM threads")
    await post(lab, thread_id, person_id, "First?")
    wanted = await only_settle(lab)
    await asyncio.gather(*(lab.thinker.work_on(draft_id) for draft_id in wanted))
    await post(lab, thread_id, person_id, "Second?")
    late = await only_settle(lab)
    await post(lab, thread_id, person_id, "Third?")
    await lab.thinker.work_on(late[0])
    overtaken = await only_settle(lab)
    ((leaver,),) = await lab.rows("SELECT member_id FROM drafts WHERE id = :id", id=overtaken[0])
    async with database.transaction() as session:
        await end_member(
            session, await lock_standing(session, leaver), "removed", "test", lab.clock.now(), cause="test"
        )
    await lab.thinker.work_on(overtaken[0])
    async with database.transaction() as session:
        await end_thread(session, thread_id, lab.clock.now(), reason="test", cause="test")
    await lab.drain()

    data = await data_of(lab, experiment_id, tmp_path)

    by_trigger = Counter(draft["state"] for draft in data["drafts"] if draft["as_of_seq"] == 1)
    assert by_trigger == {"published": 1, "lost_claim": 1, "declined": 1, "invalid": 1, "failed": 1}
    assert {draft["state"] for draft in data["drafts"]} == {*by_trigger, "moved_on", "cancelled", "ended"}
    reasons = {draft["state"]: draft["reason"] for draft in data["drafts"] if draft["as_of_seq"] == 1}
    assert reasons["invalid"] == "no JSON"
    assert reasons["failed"] == "wrong key"
    assert data["conversations"][0]["calls_speaking"] == 5
    async with database.transaction() as session:
        assert not await session.all(text("SELECT 1 FROM drafts WHERE state IN ('wanted', 'thinking', 'ready')"))


async def test_the_data_say_which_message_a_late_reply_answers(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database, models={"mock": Polite()})
    room = ROOM.replace("late_replies: dropped", "late_replies: said")
    experiment_id = await lab.start(
        room.replace("{persona: b}, {persona: c}, {persona: d}, {persona: e}", "{open: true}")
    )
    person_id, _ = await lab.join(experiment_id)
    await lab.join(experiment_id)
    await lab.drain()
    ((thread_id,),) = await lab.rows("SELECT id FROM threads")
    await post(lab, thread_id, person_id, "First?")
    (about_first,) = await only_settle(lab)

    async def overtaken(name: str) -> None:
        if name == "draft.leased":
            on_failpoint(None)
            for words in ("Second?", "Third?"):
                await post(lab, thread_id, person_id, words)

    on_failpoint(overtaken)
    await lab.thinker.work_on(about_first)
    await lab.drain()

    said = (await data_of(lab, experiment_id, tmp_path))["messages"]
    assert [(row["text"], row["trigger_seq"]) for row in said[-5:]] == [
        ("First?", None),
        ("Second?", None),
        ("Third?", None),
        ("Well.", said[-5]["seq"]),
        ("Well.", said[-2]["seq"]),
    ]


class _Hurried(MockModel):
    """The mock on a machine that is busy with something else."""

    clock: FakeClock

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.clock.advance(7)
        return await super().reply(request)


@pytest.mark.parametrize("seconds", [None, 12])
async def test_how_busy_a_machine_was_is_not_in_the_data_of_simulated_time(
    database: Database, tmp_path: Path, seconds: int | None
) -> None:
    model = _Hurried()
    lab = DrainLab(database, models={MOCK_PROVIDER: model})
    model.clock = lab.clock
    mock = {} if seconds is None else {"mock": {"latency_seconds": seconds}}
    stage = {"id": "q", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]}
    personas, cohorts = [{"id": "ada", **mock}], [{"seats": [{"persona": "ada"}]}]
    document = {"parley": 1, "name": "Busy", "pace": "fast", "personas": personas, "stages": [stage]}
    experiment_id = await lab.start(json.dumps({**document, "cohorts": cohorts}))
    await lab.drain()
    async with database.transaction() as session:
        # It was put back before, as while its key waited.
        await session.run(text("UPDATE drafts SET attempts = attempts + 3"), {})

    data = await data_of(lab, experiment_id, tmp_path)

    (call,), (draft,) = data["model_calls"], data["drafts"]
    took = datetime.fromisoformat(call["finished_at"]) - datetime.fromisoformat(call["started_at"])
    assert (took.total_seconds(), draft["attempts"]) == (seconds or 0, 1)
