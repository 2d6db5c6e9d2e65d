"""Chaos in the study that newcomers see first: lost hints, a failing model, people, and lab staff at work."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import UUID

import pytest
import yaml
from sqlalchemy import text

from parley_lab.agent_worker.models import build_models
from parley_lab.answers.advancing import end_member
from parley_lab.contracts.lives import OUTCOMES
from parley_lab.experiments import pausing
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing
from parley_lab.people import attention, holding, joining, notices, transferring
from parley_lab.people.adding import Addition, add_agent
from parley_lab.people.standing_in import stand_in
from parley_lab.people.viewing import open_view
from parley_lab.store.session import Database, Session
from parley_lab.talk.conversation import say_as_staff
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.flows.half_done import WRONG as HALF_DONE
from tests.flows.test_chaos import GOODBYE, Chaos, Unreliable, _refused
from tests.flows.test_chaos import WRONG as WRONG_AT_THE_END

pytestmark = pytest.mark.postgres

Json = Any
Act = Callable[[], Awaitable[object]]

DEMO: Final = Path(__file__).parents[2] / "demos" / "people_and_agents.yaml"
ACTOR: Final = "Ellen"
ROUNDS: Final = 120


OWN_ARMS: Final = {
    "treatments": [
        {"id": "warm", "stages": {"who": {"set": "nature"}, "before": {"description": "Warmly asked."}}},
        {"id": "cold", "leave_out": ["who"], "personas": {"ana": {"text": "You are cold."}}},
    ],
    "allocation": {"by": "participant"},
}


def document(seed: int, pace: str) -> str:
    """The demo with two cohorts, a mediator, agents that answer offers in all ways, and stand-ins.

    In half of them each participant has an own treatment.
    """
    found = yaml.safe_load(DEMO.read_text(encoding="utf-8"))
    ana, ben = found["personas"]
    mediator = {"id": "mod", "profile": {"name": "Mo"}, "chat": {"initial_message": "Welcome.", "max_responses": 3}}
    (cohort,) = found["cohorts"]
    rules = {"when_gone": "replace", "stand_in": "ana", "progress": {"wait_for_all": False}}
    stages = [{**stage, **rules} for stage in found["stages"]]
    return yaml.safe_dump({
        **found, "seed": seed, "pace": pace, "stages": stages, "attention_checks": {"seconds": 20},
        "personas": [{**ana, "transfers": "ask"}, {**ben, "transfers": "decline"}, mediator],
        "cohorts": [{**cohort, "count": 2, "mediators": ["mod"]}], **(OWN_ARMS if seed // 2 % 2 else {}),
    })  # fmt: skip


class ChaosWithStaff(Chaos):
    """The same with an experimenter who interferes all the time."""

    def _acts(self) -> list[tuple[int, Act]]:
        member = self._rng.choice(self._members)
        commands: Mapping[int, Callable[[Session, Standing], Awaitable[object]]] = {
            11: self._pause,
            17: self._resume,
            12: self._check,
            18: self._pass_check,
            15: self._offer,
            5: self._view,
            4: self._message,
            2: self._stand_in,
        }
        return [
            *super()._acts(),
            *((weight, partial(self._to, member, command)) for weight, command in commands.items()),
            (20, partial(self._answer_offer, member)),
            (12, self._speak_as_staff),
            (4, self._add),
            (3, self._lock),
            (2, self._pause_all),
            (12, self._resume_all),
        ]

    async def _to(self, member_id: UUID, command: Callable[[Session, Standing], Awaitable[object]]) -> None:
        async with self._lab.database.transaction() as session:
            await command(session, await lock_standing(session, member_id))

    async def _pause(self, session: Session, standing: Standing) -> None:
        await holding.pause_member(session, standing, self._lab.clock.now(), cause="request", actor=ACTOR)

    async def _resume(self, session: Session, standing: Standing) -> None:
        await holding.resume_member(session, standing, self._lab.clock.now(), cause="request", actor=ACTOR)

    async def _check(self, session: Session, standing: Standing) -> None:
        await attention.send_check(session, standing, self._lab.clock.now(), sent_by=ACTOR, cause="request")

    async def _pass_check(self, session: Session, standing: Standing) -> None:
        await attention.pass_check(session, standing, self._lab.clock.now(), cause="request")

    async def _offer(self, session: Session, standing: Standing) -> None:
        cohort_id = self._rng.choice(self._cohorts)
        await transferring.offer(session, standing, cohort_id, self._lab.clock.now(), seconds=15, actor=ACTOR)

    async def _view(self, session: Session, standing: Standing) -> None:
        await open_view(session, standing, self._lab.clock.now(), seconds=60, actor=ACTOR)

    async def _message(self, session: Session, standing: Standing) -> None:
        await notices.send_notice(session, standing, "Hello", self._lab.clock.now(), sent_by=ACTOR)

    async def _stand_in(self, session: Session, standing: Standing) -> None:
        if standing.member.player == "person" and not standing.is_paused:
            await stand_in(session, standing, "ana", self._lab.clock.now())

    async def _answer_offer(self, member_id: UUID) -> None:
        now, accepts = self._lab.clock.now(), self._rng.random() < 0.8
        await self._lab.database.transact(
            lambda session: transferring.decide(session, member_id, now, accepts=accepts, cause="request")
        )

    async def _speak_as_staff(self) -> None:
        threads = await self._lab.rows("SELECT id FROM threads ORDER BY path")
        if threads:
            thread_id, word = self._rng.choice(threads).id, str(self._rng.random())
            async with self._lab.database.transaction() as session:
                await say_as_staff(session, thread_id, word, self._lab.clock.now(), client_key=word, actor=ACTOR)

    async def _add(self) -> None:
        if len(self._members) < 16:
            wanted = self._rng.choice((Addition("ana", "participant"), Addition("mod", "mediator")))
            cohort_id, now = self._rng.choice(self._cohorts), self._lab.clock.now()
            async with self._lab.database.transaction() as session:
                self._members.append(await add_agent(session, cohort_id, wanted, now, actor=ACTOR))

    async def _lock(self) -> None:
        async with self._lab.database.transaction() as session:
            locked, cohort_id = self._rng.random() < 0.5, self._rng.choice(self._cohorts)
            await joining.set_locked(session, cohort_id, locked, self._lab.clock.now(), actor=ACTOR)

    async def _pause_all(self) -> None:
        async with self._lab.database.transaction() as session:
            await pausing.pause(session, self._experiment_id, self._lab.clock.now())

    async def _resume_all(self) -> None:
        async with self._lab.database.transaction() as session:
            await pausing.resume(session, self._experiment_id, self._lab.clock.now())

    async def set_free(self) -> None:
        """Staff go home: whatever they hold goes on."""
        await _refused(self._resume_all)
        for row in await self._lab.rows("SELECT id FROM members WHERE status = 'paused'"):
            await _refused(partial(self._to, row.id, self._resume))


@pytest.mark.parametrize("seed", quick_first(range(4), 1))
async def test_whatever_staff_do_every_run_ends_with_all_of_its_data_in_order(database: Database, seed: int) -> None:
    rng = Random(seed)
    model = Unreliable(build_models({})["mock"], rng)
    lab = DrainLab(database, models={"mock": model})
    chaos = ChaosWithStaff(lab, rng, await lab.start(document(seed, "live" if seed % 2 else "fast")))
    await chaos.let_people_in()

    await chaos.rage(rounds=ROUNDS)
    await chaos.set_free()
    await chaos.send_people_home()
    await chaos.calm_down()

    assert [row.status for row in await lab.rows("SELECT status FROM experiments")] == ["ended"]
    assert {row.status for row in await lab.rows("SELECT status FROM members")} <= set(OUTCOMES)
    for name, query in {**WRONG_AT_THE_END, **HALF_DONE}.items():
        assert not await lab.rows(query), name
    assert len(model.paths) == len(set(model.paths)) == len(await lab.rows("SELECT 1 FROM model_calls"))


TALK: Final = """
parley: 1
name: Of one name
personas: [{id: ana, profile: {name: Ana}, chat: {max_responses: 0}}]
stages: [{id: talk, kind: group_chat}]
cohorts: [{seats: [{persona: ana}, {open: true}]}]
"""


async def test_two_agents_of_one_name_say_a_goodbye_each_and_a_second_of_either_is_wrong(
    database: Database,
) -> None:
    lab = DrainLab(database)
    await lab.join(await lab.start(TALK))
    await lab.drain()
    (cohort,) = await lab.rows("SELECT id FROM cohorts")
    async with database.transaction() as session:
        await add_agent(session, cohort.id, Addition("ana", "participant"), lab.clock.now(), actor=ACTOR)
    await lab.drain()
    for row in await lab.rows("SELECT id FROM members WHERE player = 'agent' ORDER BY path"):
        async with database.transaction() as session:
            standing = await lock_standing(session, row.id)
            await end_member(session, standing, "removed", "for the test", lab.clock.now(), cause="test")
    await lab.drain()

    goodbyes = await lab.rows(f"SELECT g.text FROM messages g WHERE {GOODBYE} ORDER BY g.seq")  # noqa: S608 - a constant
    assert [row.text for row in goodbyes] == ["Ana has left the chat.", "Ana 2 has left the chat."]
    assert not await lab.rows(WRONG_AT_THE_END["a goodbye was said twice"])

    async with database.transaction() as session:
        await session.run(text(SAY_AGAIN))
    assert len(await lab.rows(WRONG_AT_THE_END["a goodbye was said twice"])) == 1


SAY_AGAIN: Final = f"""
    INSERT INTO messages (id, thread_id, seq, author_kind, text, elapsed_ms, created_at)
    SELECT gen_random_uuid(), thread_id, seq + 100, author_kind, text, elapsed_ms, created_at
    FROM messages g WHERE {GOODBYE} ORDER BY seq LIMIT 1
"""  # noqa: S608 - put together from constants
