"""Every kind of stage, every way of leaving it, at four moments, by a person, an agent and a mediator.

The others go on, status and code are right, what was answered is in the data, and no request ends in 500. One drawn
case of each kind is for every run; the others are marked `long`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from parley_lab.base.schema_filler import fill
from parley_lab.contracts.lives import OUTCOMES
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.stages import kinds, parts_of
from parley_lab.people import presence
from parley_lab.testing.fresh_databases import FreshDatabases
from tests.flows.one_lab import Json, Place, one_lab

pytestmark = pytest.mark.postgres

STAGE: Final = "here"
LONG_SECONDS: Final = 50_000
QUIZ: Final = [{"id": "capital", "kind": "choice", "title": "?", "correct": "a", "options": [{"id": "a", "text": "A"}]}]
READ: Final[list[Json]] = [
    {"id": "before", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why"}]},
    {"id": "quiz", "kind": "survey", "questions": QUIZ},
]
"""What some examples read."""
QUIET: Final = {"chat": {"words_per_minute": 0, "max_responses": 2}, "pages": {
    "reading_words_per_minute": 0, "writing_words_per_minute": 0}}  # fmt: skip
WAYS: Final[dict[str, dict[str, str]]] = {
    "person": {
        "leaves": "left", "removed": "removed", "gone": "dropped_out", "check": "attention_failed",
        "pause": "paused", "end": "removed", "moved": "in_progress", "declines": "transfer_declined",
        "misses": "transfer_timed_out", "time_up": "dropped_out",
    },
    "agent": {"removed": "removed", "pause": "paused", "end": "removed", "failed": "in_progress"},
    "mediator": {"removed": "removed", "pause": "paused", "failed": "in_progress"},
}  # fmt: skip
"""The state in which each way leaves a member. The offer of a move may be refused, and then nothing happens; an agent
whose model is away fails when it is asked, unless its kind has a substitute."""
OFFERED: Final = ("moved", "declines", "misses")
"""The ways that begin with the offer of a move to another group."""
OFFER_SECONDS: Final = 60
STAY_SECONDS: Final = 5_000
MOMENTS: Final = ("before", "open", "begun", "answered")
"""Before the stage, when it is open, with something filled in, after an answer."""
AWAY: Final = {"when_gone": "go_on", "gone_after_seconds": 1}
FOR_EVERY_RUN: Final = 1
"""Cases of each kind."""


@dataclass(frozen=True)
class Case:
    kind: str
    who: str
    way: str
    moment: str


def _cases(kind: str) -> list[Case]:
    parts = parts_of(kinds()[kind].example())
    whose = WAYS if parts.has_thread else {who: ways for who, ways in WAYS.items() if who != "mediator"}
    found = [Case(kind, who, way, moment) for who, ways in whose.items() for way in ways for moment in MOMENTS]
    # Talks and games have times of their own, and no time runs on a stage to which no one has come.
    is_timed = not (parts.has_thread or plays_together(parts))
    return [one for one in found if one.way != "time_up" or (is_timed and one.moment != "before")]


def _params() -> Iterator[Any]:
    for kind in sorted(kinds()):
        found = _cases(kind)
        drawn = Random(kind).sample(found, FOR_EVERY_RUN)
        for one in found:
            marks = [] if one in drawn else [pytest.mark.long]
            yield pytest.param(one, id=f"{one.kind}-{one.who}-{one.way}-{one.moment}", marks=marks)


@pytest.fixture(scope="module")
def place(fresh_databases: FreshDatabases) -> Iterator[Place]:
    with one_lab(fresh_databases) as found:
        yield found


def document(kind: str, way: str) -> Json:
    """A person and agents on a stage of this kind, with a mediator where there is talk."""
    example = kinds()[kind].example()
    parts = parts_of(example)
    stage = {
        **example.model_dump(mode="json"),
        "id": STAGE,
        "kind": kind,
        "when_gone": "go_on",
        "gone_after_seconds": 1,
    }
    if parts.talk is not None:
        stage["time_limit_seconds"] = LONG_SECONDS
    if way == "time_up":
        stage["stay"] = {"at_most_seconds": STAY_SECONDS, "then": "leave"}
    agents = min(max(2, parts.players[0] - 1), (parts.players[1] or 9) - 1)
    cast = [{"id": f"agent{number}", "profile": {"name": f"Agent {number}"}, **QUIET} for number in range(agents)]
    seats = [*({"persona": one["id"]} for one in cast), {"open": True}]
    guides = ["guide"] if parts.has_thread else []
    return {
        "parley": 1, "name": kind, "seed": 5, "pace": "live",
        "personas": [*cast, {"id": "guide", "profile": {"name": "Guide"}, **QUIET}],
        "completion": {outcome: {"code": f"code-{outcome}"} for outcome in OUTCOMES if outcome != "failed"},
        "stages": [
            {"id": "first", "kind": "info", "lines": ["Hi"], **AWAY},
            *(READ if parts.reads else ()), stage, {"id": "last", "kind": "info", "lines": ["Bye"], **AWAY},
        ],
        "cohorts": [{"seats": seats, "mediators": guides}],
        "seat_again": [],
    }  # fmt: skip


@pytest.mark.parametrize("case", list(_params()))
def test_the_others_go_on_and_what_was_answered_is_in_the_data(place: Place, case: Case) -> None:
    place.runner.run(_Play(place, case).run())


class _Play:
    def __init__(self, place: Place, case: Case) -> None:
        self.place, self.case, self.rng = place, case, Random(repr(case))
        self.has_way = True

    async def run(self) -> None:
        ask, case = self.place.ask, self.case
        paths = {"agent": "c1/m1", "mediator": "c1/med1"}
        self.place.mock.out = f"{paths[case.who]}/{STAGE}/" if case.way == "failed" else ""
        written = document(case.kind, case.way)
        written["cohorts"][0]["count"] = 2 if case.way in OFFERED else 1
        self.id = (await ask("POST", "/v1/experiments", json=written))["id"]
        await ask("POST", f"/v1/experiments/{self.id}/start")
        joined = await ask("POST", f"/v1/experiments/{self.id}/join", json={})
        self.token, person = joined["token"], joined["member_id"]
        self.tokens = [self.token]
        if case.way in OFFERED:
            other = await ask("POST", f"/v1/experiments/{self.id}/join", json={})
            self.tokens.append(other["token"])
            self.other_cohort = (await ask("GET", "/v1/me", token=other["token"]))["cohort_id"]
        members = (await ask("GET", f"/v1/experiments/{self.id}/members"))["members"]
        leaver = next((one["id"] for one in members if one["path"] == paths.get(case.who)), person)
        has_answered = await self.come_to_the_moment()

        before = (await self.rows("SELECT status FROM members WHERE id = :id", id=UUID(leaver)))[0].status
        await self.leave(leaver)
        (left,) = await self.rows("SELECT status, position FROM members WHERE id = :id", id=UUID(leaver))
        expected = WAYS[case.who][case.way]
        if before in OUTCOMES or not self.has_way:
            # It was through before, was not to be moved, or had gone on already.
            expected = before
        if case.way == "failed":
            assert left.status in (expected, "failed", "completed")
        else:
            assert left.status == expected
        if leaver == person and expected in OUTCOMES:
            me = await ask("GET", "/v1/me", token=self.token)
            assert (me["is_over"], me["completion"]["code"]) == (True, f"code-{expected}")
        stays = leaver != person or left.status == "in_progress"
        await self.finish(self.tokens if stays else self.tokens[1:])
        await self.look_at_the_data(leaver, person, has_answered)

    async def come_to_the_moment(self) -> bool:
        """Whether the person has given an answer on the stage, or said something there."""
        if self.case.moment == "before":
            return False
        await self.place.ask("POST", "/v1/me/stages/first/advance", token=self.token, json={})
        while (await self.me())["stage_id"] not in (STAGE, "last", None):
            await self.step()
        if self.case.moment == "begun":
            for form in await self.forms():
                where = f"asks/{form['ask_id']}" if form["ask_id"] else f"stages/{STAGE}"
                answer = {"answer": fill(form["form"], self.rng)}
                saved = await self.place.try_to("PUT", f"/v1/me/{where}/answer", token=self.token, json=answer)
                self.begun = saved.status_code == 204
        return await self.step() if self.case.moment == "answered" else False

    async def leave(self, member_id: str) -> None:
        ask, now = self.place.ask, self.place.lab.clock.now()
        match self.case.way:
            case "leaves":
                await ask("POST", "/v1/me/leave", token=self.token)
            case "removed":
                await self.place.try_to("POST", f"/v1/members/{member_id}/remove", json={"reason": "a test"})
            case "pause":
                await self.place.try_to("POST", f"/v1/members/{member_id}/pause")
            case "check":
                await self.place.try_to("POST", f"/v1/members/{member_id}/check")
                # The time of a check runs from when the page has fetched it.
                await self.me()
                self.place.lab.clock.advance(3600)
                await self.place.lab.fire_timers()
            case "gone":
                async with self.place.database.transaction() as session:
                    await presence.come(session, UUID(member_id), now)
                for act in (presence.mark_gone, presence.apply_rule):
                    self.place.lab.clock.advance(120)
                    async with self.place.database.transaction() as session:
                        await act(session, UUID(member_id), self.place.lab.clock.now())
            case "failed":
                pass  # Its model is away on this stage.
            case "moved" | "declines" | "misses":
                await self.offer(member_id)
            case "time_up":
                self.has_way = (await self.me())["stage_id"] == STAGE
                self.place.lab.clock.advance(STAY_SECONDS + 1)
                await self.place.lab.fire_timers()
            case _:
                await self.place.try_to("POST", f"/v1/experiments/{self.id}/end")
        await self.place.lab.drain()

    async def offer(self, member_id: str) -> None:
        """Offer a move, and let the person take it or not."""
        place = {"cohort_id": self.other_cohort, "seconds": OFFER_SECONDS}
        offered = await self.place.try_to("POST", f"/v1/members/{member_id}/transfer", json=place)
        self.has_way = offered.status_code < 300
        if not self.has_way:
            return
        if self.case.way == "misses":
            self.place.lab.clock.advance(OFFER_SECONDS + 1)
            await self.place.lab.fire_timers()
            return
        answer = {"accept": self.case.way == "moved"}
        me = await self.place.ask("POST", "/v1/me/transfer", token=self.token, json=answer)
        assert (me["cohort_id"] == self.other_cohort) == answer["accept"]

    async def finish(self, tokens: Sequence[str]) -> None:
        """Let the others come to their end, people with these tokens by what the pages ask."""
        for turn in range(30):
            for self.token in tokens:
                await self.step()
            self.place.lab.clock.advance(LONG_SECONDS if turn > 9 else 60)
            await self.place.lab.fire_timers()
            self.place.lab.hints += await self.place.lab.overlooked()
            await self.place.lab.drain()
            if not await self.others():
                return
        assert await self.others() == [], "who has not come to an end"

    async def others(self) -> list[str]:
        """Participants who take part still, but the one who was paused."""
        query = (
            "SELECT path FROM members WHERE experiment_id = :id AND kind = 'participant' "
            "AND status IN ('expected', 'in_progress', 'attention_check') ORDER BY path"
        )
        return [row.path for row in await self.rows(query, id=UUID(self.id))]

    async def look_at_the_data(self, leaver: str, person: str, has_answered: bool) -> None:
        of_person = {"id": UUID(person)}
        if getattr(self, "begun", False) and leaver == person and self.case.way not in ("pause", *OFFERED):
            kept = await self.rows(
                "SELECT 1 FROM answers WHERE member_id = :id AND marks IS NOT NULL "
                "UNION ALL SELECT 1 FROM partial_answers WHERE member_id = :id AND outcome IS NOT NULL",
                **of_person,
            )
            assert kept, "what was begun is in the data"
        if has_answered:
            given = await self.rows(
                "SELECT 1 FROM answers WHERE member_id = :id AND stage_id = 'here' AND valid "
                "UNION ALL SELECT 1 FROM messages WHERE member_id = :id "
                "UNION ALL SELECT 1 FROM members WHERE id = :id AND (position > 1 OR status = 'declined')",
                **of_person,
            )
            assert given, "what was answered is in the data"
        if self.case.way == "failed":
            (failed,) = await self.rows(
                "SELECT status, (SELECT count(*) FROM drafts WHERE member_id = m.id AND state = 'failed') AS in_vain, "
                "(SELECT count(*) FROM alerts WHERE member_id = m.id AND type = 'model_failed') AS alerts "
                "FROM members m WHERE id = :id",
                id=UUID(leaver),
            )
            assert failed.status in ("completed", "failed")
            assert bool(failed.alerts) == bool(failed.in_vain)
        exported = await self.place.try_to("GET", f"/v1/experiments/{self.id}/export")
        assert exported.status_code == 200

    async def step(self) -> bool:
        """Do what the page asks; whether something was answered or said."""
        me = await self.me()
        if me["is_over"] or me["stage_id"] is None or me["is_paused"]:
            return False
        stage = f"/v1/me/stages/{me['stage_id']}"
        page = await self.place.ask("GET", stage, token=self.token)
        if page["state"] != "current":
            return False
        for form in page["forms"]:
            where = f"/v1/me/asks/{form['ask_id']}/answer" if form["ask_id"] else f"{stage}/advance"
            return await self.answered(where, fill(form["form"], self.rng))
        has_said = False
        if page["thread"] is not None:
            words = {"text": "I think so.", "client_message_id": uuid4().hex}
            url = f"/v1/me/threads/{page['thread']['id']}/messages"
            has_said = (await self.place.try_to("POST", url, token=self.token, json=words)).status_code < 300
        if self.case.moment != "answered" or not has_said:
            await self.place.try_to("POST", f"{stage}/advance", token=self.token, json={})
        return has_said

    async def answered(self, where: str, answer: Json) -> bool:
        """Whether the answer was taken; without what is not to be answered, as a person sees on the page."""
        given = await self.place.try_to("POST", where, token=self.token, json={"answer": answer})
        if given.status_code == 422 and isinstance(answer, dict):
            hidden = {one["where"] for one in given.json()["problems"]}
            rest = {name: value for name, value in answer.items() if name not in hidden}
            given = await self.place.try_to("POST", where, token=self.token, json={"answer": rest})
        return bool(given.status_code < 300)

    async def forms(self) -> list[Json]:
        if (await self.me())["stage_id"] != STAGE:
            return []
        page = await self.place.ask("GET", f"/v1/me/stages/{STAGE}", token=self.token)
        return list(page["forms"]) if page["state"] == "current" else []

    async def me(self) -> Json:
        return await self.place.ask("GET", "/v1/me", token=self.token)

    async def rows(self, query: str, **params: Any) -> list[Any]:
        return await self.place.lab.rows(query, **params)
