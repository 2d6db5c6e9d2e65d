"""Every kind of stage, and every way of leaving it: each ends in a named state, and no member is stuck."""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

import pytest

from parley_lab.contracts.lives import OUTCOMES
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.stages import kinds, parts_of
from parley_lab.people import presence
from parley_lab.settle.watch import find_stuck
from parley_lab.testing.fresh_databases import FreshDatabases
from parley_lab.testing.quick import quick_first
from tests.flows.one_lab import Json, Place, one_lab

pytestmark = pytest.mark.postgres

LONG_SECONDS: Final = 50_000
STAGE: Final = "here"
QUIET: Final = {"chat": {"words_per_minute": 0, "max_responses": 2}, "pages": {
    "reading_words_per_minute": 0, "writing_words_per_minute": 0}}  # fmt: skip
QUIZ: Final = [{"id": "capital", "kind": "choice", "title": "?", "correct": "a", "options": [{"id": "a", "text": "A"}]}]
READ: Final[list[Json]] = [
    {"id": "before", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why"}]},
    {"id": "quiz", "kind": "survey", "questions": QUIZ},
]
"""What some examples read."""
ANSWERS: Final[dict[str, Json]] = {"before": {"why": "So"}, "quiz": {"capital": "a"}}
WAYS: Final = ("done", "boot", "drop-out", "transfer", "pause", "time-out")
NAMED: Final[dict[str, str]] = {
    "boot": "removed", "drop-out": "dropped_out", "transfer": "in_progress", "pause": "paused",
}  # fmt: skip
"""The state in which each way leaves a member right away."""
DONE: Final[dict[str, set[str]]] = {
    "terms_of_service": {"completed", "declined"}, "comprehension": {"completed", "screened_out"},
}  # fmt: skip
"""How agents that go through a kind by themselves may end, where that is not `completed` alone."""
FOR_EVERY_RUN: Final = ("beauty_contest", "comprehension", "group_chat", "terms_of_service")
"""A game, talk, and pages with ends of their own; `test_every_leaving.py` has a case of each other kind."""
KINDS: Final = sorted(kinds(), key=lambda kind: (kind not in FOR_EVERY_RUN, kind))


@pytest.fixture(scope="module")
def place(fresh_databases: FreshDatabases) -> Iterator[Place]:
    with one_lab(fresh_databases) as found:
        yield found


def document(kind: str) -> Json:
    """A cohort for each way, with a person and agents on a stage of this kind, and one to move to."""
    example = kinds()[kind].example()
    parts = parts_of(example)
    stage = {**example.model_dump(mode="json"), "id": STAGE, "kind": kind, "when_gone": "go_on"}
    if parts.talk is not None:
        stage["time_limit_seconds"] = LONG_SECONDS
    elif not plays_together(parts):
        stage["stay"] = {"at_most_seconds": LONG_SECONDS, "then": "leave"}
    agents = max(1, parts.players[0] - 1)
    cast = [{"id": f"agent{number}", "profile": {"name": f"Agent {number}"}, **QUIET} for number in range(agents + 1)]
    seated = [{"persona": f"agent{number}"} for number in range(agents)]
    alone = {"id": "done", "seats": [*seated, {"persona": f"agent{agents}"}]}
    mixed = [{"id": way, "seats": [*seated, {"open": True}]} for way in WAYS[1:]]
    room = {"id": "room", "seats": [{"open": True}, *seated]}
    return {
        "parley": 1, "name": kind, "seed": 5, "pace": "live", "personas": cast,
        "stages": [*(READ if parts.reads else ()), stage, {"id": "last", "kind": "info", "lines": ["Bye"]}],
        "cohorts": [alone, *mixed, room],
    }  # fmt: skip


async def leave(place: Place, way: str, member_id: str, token: str, room: str) -> str:
    """Send the person this way; their state right after."""
    now = place.lab.clock.now()
    if way == "boot":
        await place.ask("POST", f"/v1/members/{member_id}/remove", json={"reason": "a test"})
    elif way == "pause":
        await place.ask("POST", f"/v1/members/{member_id}/pause")
    elif way == "transfer":
        await place.ask("POST", f"/v1/members/{member_id}/transfer", json={"cohort_id": room})
        await place.ask("POST", "/v1/me/transfer", token=token, json={"accept": True})
    elif way == "drop-out":
        async with place.database.transaction() as session:
            await presence.come(session, UUID(member_id), now)
        for act in (presence.mark_gone, presence.apply_rule):
            place.lab.clock.advance(120)
            async with place.database.transaction() as session:
                await act(session, UUID(member_id), place.lab.clock.now())
    else:
        place.lab.clock.advance(LONG_SECONDS + 1)
        await place.lab.fire_timers()
    (row,) = await place.lab.rows("SELECT status FROM members WHERE id = :id", id=UUID(member_id))
    found: str = row.status
    return found


async def end_all(place: Place, experiment_id: str) -> None:
    """Take out the people who are left, and let everything come to its end."""
    people = "SELECT id, status FROM members WHERE experiment_id = :id AND player = 'person'"
    for person in await place.lab.rows(people, id=UUID(experiment_id)):
        if person.status not in OUTCOMES:
            await place.ask("POST", f"/v1/members/{person.id}/remove", json={"reason": "the end"})
    for _ in range(3):
        await place.lab.drain()
        place.lab.clock.advance(60)
        await place.lab.fire_timers()
        place.lab.hints += await place.lab.overlooked()
    await place.lab.drain()


@pytest.mark.parametrize("kind", quick_first(KINDS, len(FOR_EVERY_RUN)))
def test_every_way_out_of_a_stage_ends_in_a_named_state_and_no_one_is_stuck(place: Place, kind: str) -> None:
    place.runner.run(_every_way(place, kind))


async def _every_way(place: Place, kind: str) -> None:
    lab = place.lab
    experiment_id = (await place.ask("POST", "/v1/experiments", json=document(kind)))["id"]
    await place.ask("POST", f"/v1/experiments/{experiment_id}/start")
    listed = (await place.ask("GET", f"/v1/experiments/{experiment_id}/cohorts"))["cohorts"]
    cohorts = {one["name"]: one["id"] for one in listed}
    parts, seats = parts_of(kinds()[kind].example()), {}
    for way in WAYS[1:]:
        body = {"cohort_id": cohorts[way]}
        seats[way] = await place.ask("POST", f"/v1/experiments/{experiment_id}/join", json=body)
        token = seats[way]["token"]
        for stage, answer in ANSWERS.items() if parts.reads else ():
            await place.ask("POST", f"/v1/me/stages/{stage}/advance", token=token, json={"answer": answer})
    named = {**NAMED, "time-out": "in_progress" if parts.talk is not None else "dropped_out"}

    for way, seat in seats.items():
        if plays_together(parts) and way == "time-out":
            # The file may give it no limit: rounds end when all have answered, or have gone.
            continue
        if plays_together(parts) and way == "transfer":
            refused = await place.client.post(
                f"/v1/members/{seat['member_id']}/transfer", json={"cohort_id": cohorts["room"]}
            )
            assert (refused.status_code, refused.json()["reason"]) == (409, "in_a_game")
            continue
        state = await leave(place, way, seat["member_id"], seat["token"], cohorts["room"])
        await lab.drain()
        assert state == named[way], way
    await end_all(place, experiment_id)

    here = {"id": UUID(experiment_id)}
    members = await lab.rows(
        "SELECT m.path, m.status, c.name FROM members m JOIN cohorts c ON c.id = m.cohort_id "
        "WHERE m.experiment_id = :id ORDER BY m.path", **here,
    )  # fmt: skip
    assert [(row.path, row.name, row.status) for row in members if row.status not in OUTCOMES] == []
    assert {row.status for row in members if row.name == "done"} <= DONE.get(kind, {"completed"})
    assert [row.status for row in await lab.rows("SELECT status FROM experiments WHERE id = :id", **here)] == ["ended"]
    async with place.database.transaction() as session:
        assert not await find_stuck(session, UUID(experiment_id))
    assert await lab.overlooked() == [], "the watchdog has nothing to announce"
