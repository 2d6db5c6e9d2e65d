"""Retrying failed members on request: they go on where they were, and missed parts stay missed."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parley_lab.answers.advancing import end_member
from parley_lab.base.errors import Conflict
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.experiments import ending
from parley_lab.experiments.reviving import Revived, retry_failed
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.settling import settle
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.interviewing import Telling, small

pytestmark = pytest.mark.postgres

SURVEY = """
parley: 1
name: Before and after
seed: 0
personas: [{id: ada, profile: {name: Ada}}, {id: bob, profile: {name: Bob}}]
stages:
  - {id: before, kind: survey, ask: sequential, questions: [
      {id: one, kind: check, title: One}, {id: two, kind: check, title: Two}]}
  - {id: talk, kind: group_chat, max_agent_run: 4}
  - {id: after, kind: survey, questions: [{id: three, kind: check, title: Three}]}
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""
REFUSED = ModelReply(status="bad_request", error="HTTP 400: no such thing")


class Model:
    """Gives valid answers, and fails for members whose path is in `fails`."""

    def __init__(self, *fails: str) -> None:
        self.fails = fails
        self.asked: list[str] = []

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request.path)
        if any(part in request.path for part in self.fails):
            return REFUSED
        parsed = {name: _fitting(name, shape) for name, shape in request.reply_schema["properties"].items()}
        return ModelReply(status="ok", parsed=parsed, raw=str(parsed))

    async def aclose(self) -> None:
        pass


def _fitting(name: str, shape: dict[str, Any]) -> Any:
    if "boolean" in str(shape.get("type")):
        return name != "readyToEndChat"
    return "Words."


async def revive(lab: DrainLab, experiment_id: UUID) -> Revived:
    async with lab.database.transaction() as session:
        revived = await retry_failed(session, experiment_id, lab.clock.now())
    await lab.drain()
    return revived


async def members(lab: DrainLab) -> list[tuple[str, str, str | None]]:
    rows = await lab.rows("SELECT path, status, status_reason FROM members ORDER BY path")
    return [(row.path, row.status, row.status_reason) for row in rows]


async def test_a_member_who_failed_goes_on_where_it_was_in_an_experiment_that_had_ended(database: Database) -> None:
    model = Model("c1/m1/before/question:two")
    lab = DrainLab(database, models={"mock": model})
    experiment_id = await lab.start(SURVEY)
    await lab.drain()
    assert [status for _, status, _ in await members(lab)] == ["failed", "completed"]
    ((said_before,),) = await lab.rows("SELECT count(*) FROM messages")
    model.fails, model.asked = (), []

    lab.clock.advance(3600)
    revived = await revive(lab, experiment_id)

    assert revived == Revived(members=1, asks=1)
    assert await members(lab) == [("c1/m1", "completed", None), ("c1/m2", "completed", None)]
    assert [path.split("/draft")[0] for path in model.asked] == ["c1/m1/before/question:two", "c1/m1/after/page"]
    assert await lab.rows("SELECT count(*) FROM messages") == [(said_before,)]
    ((status, ended_at),) = await lab.rows("SELECT status, ended_at FROM experiments")
    assert (status, ended_at) == ("ended", lab.clock.now())
    assert await lab.rows("SELECT 1 FROM alerts WHERE resolved_at IS NULL") == []


async def test_trying_again_is_idempotent_and_who_fails_again_can_be_tried_again(database: Database) -> None:
    model = Model("c1/m1/")
    lab = DrainLab(database, models={"mock": model})
    experiment_id = await lab.start(SURVEY)
    await lab.drain()

    assert (await revive(lab, experiment_id)).members == 1
    assert (await members(lab))[0][1] == "failed"
    assert len(await lab.rows("SELECT 1 FROM alerts WHERE resolved_at IS NULL")) == 1
    model.fails = ()
    assert (await revive(lab, experiment_id)).members == 1
    assert (await revive(lab, experiment_id)) == Revived(0, 0)
    assert [status for _, status, _ in await members(lab)] == ["completed", "completed"]


async def test_a_model_that_may_try_once_may_try_once_more(database: Database) -> None:
    model = Model("c1/m1/")
    lab = DrainLab(database, models={"mock": model})
    experiment_id = await lab.start(SURVEY.replace("{id: ada,", "{id: ada, model: {max_attempts: 1},"))
    await lab.drain()
    model.fails = ()

    await revive(lab, experiment_id)

    assert [status for _, status, _ in await members(lab)] == ["completed", "completed"]


class Interviewed(Telling):
    """Answers as in other tests of interviews, except for members whose path is in `fails`."""

    fails: tuple[str, ...] = ()

    async def reply(self, request: ModelRequest) -> ModelReply:
        return REFUSED if any(part in request.path for part in self.fails) else await super().reply(request)


async def test_someone_who_failed_in_an_interview_goes_on_with_it(database: Database) -> None:
    model = Interviewed()
    model.fails = ("/m2/",)
    lab = DrainLab(database, models={"mock": model})
    experiment_id = await lab.start(small())
    await lab.drain()
    assert [path for path, status, _ in await members(lab) if status == "failed"] == ["c1/m2"]
    model.fails = ()

    await revive(lab, experiment_id)

    assert {status for _, status, _ in await members(lab)} == {"completed"}
    assert [row.status for row in await lab.rows("SELECT status FROM experiments")] == ["ended"]
    assert await lab.rows(
        "SELECT 1 FROM answers a JOIN members m ON m.id = a.member_id WHERE m.path = 'c1/m2' AND a.valid"
    )


async def test_all_of_a_cohort_who_failed_hold_the_conversation_that_never_began(database: Database) -> None:
    model = Model("/before")
    lab = DrainLab(database, models={"mock": model})
    experiment_id = await lab.start(SURVEY)
    await lab.drain()
    assert [status for _, status, _ in await members(lab)] == ["failed", "failed"]
    model.fails = ()

    await revive(lab, experiment_id)

    assert [status for _, status, _ in await members(lab)] == ["completed", "completed"]
    assert await lab.rows("SELECT 1 FROM messages")


async def test_a_draft_has_no_one_to_revive(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(SURVEY)
    await lab.rows("UPDATE experiments SET status = 'draft' RETURNING id")

    with pytest.raises(Conflict):
        await revive(lab, experiment_id)


async def test_a_member_who_is_tried_again_has_the_time_of_the_stage_again(database: Database) -> None:
    model = Model("c1/m1/")
    lab = DrainLab(database, models={"mock": model})
    limited = SURVEY.replace("parley: 1\n", "parley: 1\npace: live\n").replace(
        "kind: survey, ask: sequential,", "kind: survey, ask: sequential, stay: {at_most_seconds: 600},"
    )
    experiment_id = await lab.start(limited)
    await lab.drain()
    assert (await members(lab))[0][1] == "failed"
    lab.clock.advance(3600)

    async with lab.database.transaction() as session:
        await retry_failed(session, experiment_id, lab.clock.now())
    (cohort,) = await lab.rows("SELECT id FROM cohorts")
    await settle(database, cohort.id, lab.clock.now())

    timers = await lab.rows("SELECT state, due_at FROM timers WHERE purpose = 'stay_most' AND path LIKE 'c1/m1/%'")
    assert [tuple(row) for row in timers] == [("armed", lab.clock.now() + timedelta(seconds=600))]


ON_ARRIVAL = "{made: on_arrival, count: 2, seats: [{open: true}]}"
WHEN_TOGETHER = "{made: when_together, at: talk, count: 2, seats: [{open: true, count: 2}]}"


@pytest.mark.parametrize("made", [ON_ARRIVAL, WHEN_TOGETHER], ids=["on arrival", "when together"])
async def test_an_experiment_that_was_ended_before_people_came_ends_again_after_a_second_try(
    database: Database, made: str
) -> None:
    model = Model("c1/m1/", "c1/m2/")
    lab = DrainLab(database, models={"mock": model})
    document = SURVEY.replace("seed: 0", "seed: 0\npace: live").replace("]}]\n", f"]}}, {made}]\n")
    experiment_id = await lab.start(document)
    await lab.drain()
    async with database.transaction() as session:
        assert await ending.end(session, experiment_id, lab.clock.now())
    await lab.rows("UPDATE experiments SET forgotten_at = now() RETURNING 1")
    model.fails = ()

    assert (await revive(lab, experiment_id)).members == 2

    assert {status for _, status, _ in await members(lab)} == {"completed"}
    assert await lab.rows("SELECT status, forgotten_at FROM experiments") == [("ended", None)]


PAGE = f"""
parley: 1
name: A page
pace: live
personas: [{{id: ada, pages: {{reading_words_per_minute: 60}}}}]
stages: [{{id: page, kind: info, lines: ["{" ".join(["word"] * 60)}"]}}]
cohorts: [{{seats: [{{persona: ada}}]}}]
"""


async def test_an_agent_that_failed_on_a_page_reads_it_again(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(PAGE)
    while lab.hints:
        await lab.deliver(lab.next_hints())
    ((member_id,),) = await lab.rows("SELECT id FROM members")
    async with database.transaction() as session:
        standing = await lock_standing(session, member_id)
        assert await end_member(session, standing, "failed", "for the test", lab.clock.now(), cause="test")
    await lab.drain()
    began = lab.clock.now()

    assert (await revive(lab, experiment_id)).members == 1

    ((ended_at,),) = await lab.rows("SELECT ended_at FROM members WHERE status = 'completed'")
    assert ended_at - began >= timedelta(seconds=45)
