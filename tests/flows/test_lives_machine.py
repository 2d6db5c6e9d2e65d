"""Any interleaving of commands in cohorts of people and agents leaves a legal state, and no member is stuck at the end.

A machine draws commands and holds what the lab says against a small model: the table of lives. A longer search:
`make machine`.
"""

import asyncio
import os
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, Final, TypeVar, get_args
from uuid import UUID

import pytest
import yaml
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from parley_lab.contracts import lives
from parley_lab.contracts.lives import OUTCOMES, TRANSITIONS, Command
from parley_lab.experiments import ending
from parley_lab.members.standings import lock_standing
from parley_lab.people.standing_in import stand_in
from parley_lab.settle.watch import find_stuck
from parley_lab.store.databases import connect
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.flows.half_done import WRONG
from tests.flows.lives_model import BY_ITSELF, Known, led, reachable
from tests.flows.previewing import an_api

pytestmark = pytest.mark.postgres

T = TypeVar("T")

EXAMPLES: Final = [int(os.environ["PARLEY_MACHINE_EXAMPLES"])] if "PARLEY_MACHINE_EXAMPLES" in os.environ else [4, 16]
STEPS: Final = int(os.environ.get("PARLEY_MACHINE_STEPS", "40"))
SECONDS: Final = 30
FILE: Final = """
parley: 1
name: Lives
seed: 7
pace: live
attention_checks: {seconds: 30}
personas:
  - {id: ann, profile: {name: Ann}, chat: {words_per_minute: 0, max_responses: 2},
     pages: {reading_words_per_minute: 0, writing_words_per_minute: 0}}
  - {id: eve, profile: {name: Eve}, transfers: ask, chat: {words_per_minute: 0, max_responses: 2},
     pages: {reading_words_per_minute: 0, writing_words_per_minute: 0}}
  - {id: ned, profile: {name: Ned}, transfers: decline, chat: {words_per_minute: 0, max_responses: 2},
     pages: {reading_words_per_minute: 0, writing_words_per_minute: 0}}
  - {id: mod, profile: {name: Mo}, chat: {words_per_minute: 0, max_responses: 1, initial_message: Welcome}}
stages:
  - {id: one, kind: info, lines: [One], progress: {wait_for_all: false}, block: alone}
  - {id: check, kind: comprehension, most_attempts: 2, block: alone,
     questions: [{id: ten, kind: text, title: How many, correct: ten}]}
  - {id: why, kind: survey, questions: [{id: why, kind: text, title: Why}], when_gone: replace, stand_in: ann,
     progress: {wait_for_all: false}}
  - {id: talk, kind: group_chat, time_limit_seconds: 200, progress: {wait_for_all: false}}
  - {id: guess, kind: beauty_contest, rounds: 1}
  - {id: last, kind: info, lines: [Bye]}
cohorts:
  - {seats: [{open: true, count: 2}, {persona: ann}, {persona: ned}], mediators: [mod]}
  - {seats: [{open: true, count: 2}, {persona: eve}]}
"""

OWN_ARMS: Final = """
treatments:
  - {id: warm, order: {alone: [check, one]}, stages: {talk: {description: Warmly}}, personas: {eve: {text: Be warm}}}
  - {id: cold, leave_out: [check]}
  - {id: none}
allocation: {by: participant}
"""
"""Each member has an own way through the stages before the talk."""

STAFF: Final[dict[Command, str]] = {"pause": "pause", "resume": "resume", "check": "check", "remove": "remove"}
OWN: Final = ("pass_check", "leave", "accept_transfer", "decline_transfer")
MAY_BE_IMPOSSIBLE: Final = {"same_cohort", "cohort_ended", "no_such_stage", "in_a_game", "not_a_participant"}


class Lives(RuleBasedStateMachine):
    url: str

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.members: list[Known] = []
        self.is_paused = False
        self.said = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize(file=st.sampled_from([FILE, FILE + OWN_ARMS]))
    def begin(self, file: str) -> None:
        self.run(self._begin(file))
        self._meet()

    async def _begin(self, file: str) -> None:
        self.database = connect(self.url)
        self.stack.push_async_callback(self.database.close)
        self.lab = DrainLab(self.database)
        # What an example that failed has left behind is not this one's.
        for row in await self.lab.rows("SELECT id FROM experiments WHERE status IN ('running', 'paused')"):
            async with self.database.transaction() as session:
                await ending.end(session, row.id, self.lab.clock.now())
        self.client = await self.stack.enter_async_context(an_api(self.database, self.lab))
        created = await self.client.post("/v1/experiments", json=yaml.safe_load(file))
        assert created.status_code == 201, created.text
        self.id = created.json()["id"]
        assert (await self.client.post(f"/v1/experiments/{self.id}/start")).status_code == 200
        self.cohorts = [one["id"] for one in (await self._get(f"/v1/experiments/{self.id}/cohorts"))["cohorts"]]

    async def _get(self, path: str) -> Any:
        return (await self.client.get(path)).json()

    def post(self, path: str, body: Any = None, member: Known | None = None) -> Any:
        """The answer to staff, or to the member."""
        return self.run(self._post(path, body, member))

    async def _post(self, path: str, body: Any, member: Known | None) -> Any:
        headers = {} if member is None else {"Authorization": f"Bearer {member.token or 'none'}"}
        return await self.client.post(path, json=body, headers=headers)

    def rows(self, query: str, **values: Any) -> list[Any]:
        return self.run(self.lab.rows(query, **values))

    def _found(self) -> dict[str, Any]:
        found = self.rows("SELECT * FROM members WHERE experiment_id = :id ORDER BY path", id=UUID(self.id))
        return {str(row.id): row for row in found}

    def _meet(self) -> None:
        """Take in members whom the model does not know."""
        known = {one.id for one in self.members}
        self.members += [
            Known(row_id, row.kind, row.player, row.status)
            for row_id, row in self._found().items()
            if row_id not in known
        ]

    def _adopt(self, *more: Command) -> None:
        """What members have come to by themselves is taken over, if the table of lives allows it."""
        found = self._found()
        for one in self.members:
            by_itself = BY_ITSELF["person" if one.player == "person" else "agent"]
            state = found[one.id].status
            assert state in reachable(one.state, (*by_itself, *more)), (found[one.id].path, one.state, state)
            one.state = state

    def _pick(self, number: int, *, people: bool = False) -> Known | None:
        listed = [one for one in self.members if not people or one.token is not None]
        return listed[number % len(listed)] if listed else None

    def _expect(self, member: Known, command: Command, answer: Any) -> None:
        """The lab has done what the table says, or refused for the reason that it gives."""
        reason = answer.json().get("reason") if answer.status_code != 200 else None
        if command in OWN and member.player != "person":
            assert reason == "place_taken"
            return
        state, why_not = led(member.state, command)
        if self.is_paused and reason == "paused":
            return
        found = (answer.status_code, reason)
        assert found == ((200, None) if why_not is None else (409, why_not)), (member, command, answer.text)
        member.state = state

    numbers = st.integers(0, 60)

    @rule(cohort=st.integers(0, 1))
    def join(self, cohort: int) -> None:
        joined = self.post(f"/v1/experiments/{self.id}/join", {"cohort_id": self.cohorts[cohort]})
        if joined.status_code == 201:
            (one,) = [one for one in self.members if one.id == joined.json()["member_id"]]
            assert one.state == "expected", "no seat is taken twice"
            one.state, one.token = lives.after(one.state, "join"), joined.json()["token"]
        else:
            assert joined.json()["reason"] in ("full", "paused", "locked", "not_running")

    @rule(number=numbers, command=st.sampled_from([*STAFF, "pause", "resume", "check"]))
    def do(self, number: int, command: Command) -> None:
        member = self._pick(number)
        assert member is not None
        body = {"reason": "a test"} if command == "remove" else None
        self._expect(member, command, self.post(f"/v1/members/{member.id}/{STAFF[command]}", body))

    @rule(number=numbers, cohort=st.integers(0, 1))
    def offer(self, number: int, cohort: int) -> None:
        member = self._pick(number)
        assert member is not None
        body = {"cohort_id": self.cohorts[cohort], "seconds": SECONDS}
        answer = self.post(f"/v1/members/{member.id}/transfer", body)
        if answer.status_code == 409 and answer.json()["reason"] in MAY_BE_IMPOSSIBLE:
            return
        self._expect(member, "offer_transfer", answer)

    @rule(number=numbers, accept=st.booleans())
    def answer_offer(self, number: int, accept: bool) -> None:
        member = self._pick(number, people=True)
        if member is not None:
            answer = self.post("/v1/me/transfer", {"accept": accept}, member)
            self._expect(member, "accept_transfer" if accept else "decline_transfer", answer)

    @rule(number=numbers, command=st.sampled_from(["pass_check", "pass_check", "leave"]))
    def do_oneself(self, number: int, command: Command) -> None:
        member = self._pick(number, people=True)
        if member is not None:
            path = {"pass_check": "check", "leave": "leave"}[command]
            self._expect(member, command, self.post(f"/v1/me/{path}", None, member))

    @rule(number=numbers)
    def go_on(self, number: int) -> None:
        member = self._pick(number, people=True)
        if member is None or member.player != "person":
            return
        me = self.run(self._as(member, "/v1/me"))
        if me["stage_id"] is None:
            return
        for ask in me["asks"]:
            answer = {"ten": "nine"} if me["stage_id"] == "check" else {"guess": 7}
            self.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": answer}, member)
        body = {"answer": {"why": "So"}} if me["stage_id"] == "why" else {}
        advanced = self.post(f"/v1/me/stages/{me['stage_id']}/advance", body, member)
        assert advanced.status_code == 200 or advanced.json()["code"] == "conflict", advanced.text
        if advanced.status_code == 200:
            assert "act" in [command for command in get_args(Command) if member.state in TRANSITIONS[command]]
        self._adopt("act", "finish")

    async def _as(self, member: Known, path: str) -> Any:
        headers = {"Authorization": f"Bearer {member.token}"}
        return (await self.client.get(path, headers=headers)).json()

    @rule(number=numbers, by_staff=st.booleans())
    def speak(self, number: int, by_staff: bool) -> None:
        threads = self.rows("SELECT id FROM threads ORDER BY path")
        member = self._pick(number, people=True)
        if not threads or member is None:
            return
        self.said += 1
        body = {"text": f"Word {self.said}", "client_message_id": str(self.said)}
        place = f"threads/{threads[number % len(threads)].id}/messages"
        said = self.post(f"/v1/{place}" if by_staff else f"/v1/me/{place}", body, None if by_staff else member)
        assert said.status_code in (201, 404, 409), said.text

    @rule(cohort=st.integers(0, 1), persona=st.sampled_from(["ann", "eve", "ned", "mod"]))
    def add(self, cohort: int, persona: str) -> None:
        if len(self.members) > 14:
            return
        body = {"persona": persona, "kind": "mediator" if persona == "mod" else "participant"}
        added = self.post(f"/v1/cohorts/{self.cohorts[cohort]}/members", body)
        if added.status_code != 201:
            assert added.json()["reason"] in ("paused", "cohort_ended", "in_a_game"), added.text
        self._meet()

    @rule(number=numbers)
    def let_an_agent_stand_in(self, number: int) -> None:
        member = self._pick(number, people=True)
        if member is None or member.player != "person" or self.is_paused:
            return
        state, why_not = led(member.state, "replace")
        if why_not is not None:
            return
        assert self.run(self._stand_in(UUID(member.id)))
        member.state, member.player = state, "agent"

    async def _stand_in(self, member_id: UUID) -> bool:
        async with self.database.transaction() as session:
            return await stand_in(session, await lock_standing(session, member_id), "ann", self.lab.clock.now())

    @rule(cohort=st.integers(0, 1), what=st.sampled_from(["lock", "unlock", "unlock"]))
    def lock(self, cohort: int, what: str) -> None:
        assert self.post(f"/v1/cohorts/{self.cohorts[cohort]}/{what}").status_code == 200

    @rule()
    def pause_or_resume_all(self) -> None:
        changed = self.post(f"/v1/experiments/{self.id}/{'resume' if self.is_paused else 'pause'}")
        if changed.status_code == 200:
            self.is_paused = changed.json()["status"] == "paused"

    @rule(seconds=st.sampled_from([1, 20, 40]))
    def let_time_pass(self, seconds: int) -> None:
        self.lab.clock.advance(seconds)
        self.run(self.lab.fire_timers())
        self._adopt()

    @rule()
    def let_the_lab_work(self) -> None:
        self.run(self.lab.drain())
        self._adopt()

    @rule(
        numbers=st.lists(numbers, min_size=3, max_size=3),
        commands=st.lists(st.sampled_from(["pause", "resume", "check", "transfer", "remove"]), min_size=3, max_size=3),
    )
    def do_at_once(self, numbers: list[int], commands: list[str]) -> None:
        chosen = [self._pick(number) for number in numbers]
        bodies = {"remove": {"reason": "a test"}, "transfer": {"cohort_id": self.cohorts[0], "seconds": SECONDS}}
        work = [
            self._post(f"/v1/members/{member.id}/{command}", bodies.get(command), None)
            for member, command in zip(chosen, commands, strict=True)
            if member is not None
        ]
        answers = self.run(self._all([*work, self.lab.fire_timers()]))
        assert {one.status_code for one in answers[:-1]} <= {200, 409}
        self._adopt(*STAFF, "offer_transfer")

    async def _all(self, work: list[Coroutine[Any, Any, Any]]) -> list[Any]:
        return await asyncio.gather(*work)

    @invariant()
    def nothing_is_wrong(self) -> None:
        if self.members:
            found = self._found()
            assert {one.id: one.state for one in self.members} == {row_id: row.status for row_id, row in found.items()}
            self._nothing_is_half_done()

    def _nothing_is_half_done(self) -> None:
        wrong = " UNION ALL ".join(f"SELECT '{name}' AS name WHERE EXISTS ({query})" for name, query in WRONG.items())
        assert [row.name for row in self.rows(wrong)] == []

    def teardown(self) -> None:
        try:
            if self.members:
                self._end()
        finally:
            self.run(self.stack.aclose())
            self.runner.close()

    def _end(self) -> None:
        """When all people go and time passes, everything comes to its end by itself."""
        if self.is_paused:
            self.pause_or_resume_all()
        for one in self.members:
            if one.state == "paused":
                self._expect(one, "resume", self.post(f"/v1/members/{one.id}/resume"))
            if one.player == "person" and one.state not in OUTCOMES:
                self._expect(one, "remove", self.post(f"/v1/members/{one.id}/remove", {"reason": "the end"}))
        self.run(self._calm_down())
        self._adopt("fail")
        assert [one for one in self.members if one.state not in OUTCOMES] == [], "somebody is stuck"
        assert [row.status for row in self.rows("SELECT status FROM experiments WHERE id = :id", id=UUID(self.id))] == [
            "ended"
        ]
        self._nothing_is_half_done()

    async def _calm_down(self) -> None:
        quiet = 0
        while quiet < 8:
            await self.lab.drain()
            await self.lab.fire_timers()
            overlooked = await self.lab.overlooked()
            async with self.database.transaction() as session:
                assert not await find_stuck(session, UUID(self.id))
            self.lab.hints += overlooked
            quiet = 0 if self.lab.hints else quiet + 1
            self.lab.clock.advance(40)
        assert await self.lab.overlooked() == [], "the watchdog's list is empty"


@pytest.mark.parametrize("examples", quick_first(EXAMPLES, 1))
def test_any_row_of_commands_leaves_a_legal_state_and_no_one_stuck(database_url: str, examples: int) -> None:
    class Here(Lives):
        url = database_url

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            derandomize="PARLEY_MACHINE_EXAMPLES" not in os.environ,
            deadline=None,
            database=None,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
