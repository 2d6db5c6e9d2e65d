"""Waiting rooms: who is missing, how long people wait, and what happens to a group that is not complete by then."""

import io
import zipfile
from typing import Any, Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import FILE, Api, following, served
from parley_lab.orchestrator.settling import fire_due_timers, settle
from parley_lab.people.waiting import end_wait

pytestmark = pytest.mark.postgres

HELPER: Final[dict[str, Any]] = {"id": "helper", "text": "You help.", "profile": {"name": "Helper"}}
MEET: Final[dict[str, Any]] = {"id": "meet", "kind": "info", "lines": ["Hello, all."]}
WAIT: Final = 300


def study(*, seats: int = 3, before: bool = False, **progress: Any) -> dict[str, Any]:
    """People who meet on a page that waits for all of them."""
    first = [{"id": "first", "kind": "info", "lines": ["Welcome."]}] if before else []
    limited = {"wait_for_all": True, "at_most_seconds": WAIT, **progress}
    return {
        "stages": [*first, {**MEET, "progress": limited}, {"id": "end", "kind": "info", "lines": ["Bye."]}],
        "personas": [HELPER],
        "cohorts": [{"seats": [{"open": True, "count": seats}]}],
    }


async def after(api: Api, experiment_id: str, seconds: float) -> None:
    api.clock.advance(seconds)
    await fire_due_timers(api.database, api.clock.now())
    await api.settle(experiment_id)


async def me(api: Api, token: str) -> Any:
    return (await api.participant(token, "GET", "/v1/me")).json()


async def state(api: Api, token: str) -> tuple[str, str | None]:
    """The status, and how far the participant is with the stage on which they meet."""
    found = await me(api, token)
    return found["status"], {one["id"]: one["state"] for one in found["stages"]}["meet"]


async def rows(api: Api, query: str) -> list[Any]:
    async with api.database.transaction() as session:
        return [tuple(row) for row in await session.all(text(query))]


async def statuses(api: Api) -> list[str]:
    return [row[0] for row in await rows(api, "SELECT status FROM members ORDER BY path")]


async def test_a_person_who_waits_reads_how_many_are_missing_and_until_when(api: Api) -> None:
    experiment_id = await api.running(**study())
    ada = await api.join(experiment_id, "Ada")

    alone = (await me(api, ada))["waiting"]
    api.clock.advance(100)
    ben = await api.join(experiment_id, "Ben")
    two = (await me(api, ada))["waiting"]
    cat = await api.join(experiment_id, "Cat")

    assert (alone["stage_id"], alone["missing"], alone["names"]) == ("meet", 2, [])
    assert (two["missing"], two["until"]) == (1, alone["until"])
    assert [(await me(api, one))["waiting"] for one in (ada, ben, cat)] == [None] * 3
    assert await rows(api, "SELECT DISTINCT state FROM timers") == [("cancelled",)]


async def test_who_comes_first_is_told_until_when_they_wait(api: Api) -> None:
    experiment_id = await api.running(**study(before=True))
    ada = await api.join(experiment_id, "Ada")
    came = (await api.advance(ada, "first")).json()["me"]

    await api.settle(experiment_id)

    assert came["waiting"]["until"] is None
    assert (await me(api, ada))["waiting"]["until"] is not None
    async with served(api.app) as address, following(address, ada, came["cursor"]) as events:
        told = await anext(events)
    assert (told["type"], told["data"]) == ("stage.updated", {"stage_id": "meet"})


async def test_people_who_wait_are_told_that_others_have_come_of_whom_they_are_told_nothing(api: Api) -> None:
    """Members are not told who joins: their pages are read anew, and show another number."""
    experiment_id = await api.running(**study())
    ada = await api.join(experiment_id, "Ada")
    await api.settle(experiment_id)
    before = (await me(api, ada))["cursor"]

    await api.join(experiment_id, "Ben")
    await api.settle(experiment_id)
    await api.settle(experiment_id)

    found = (await api.participant(ada, "GET", f"/v1/me/stream?wait=false&after={before}")).text
    events = [line.removeprefix("event: ") for line in found.splitlines() if line.startswith("event: ")]
    assert events == ["stage.updated"]
    assert (await me(api, ada))["waiting"]["missing"] == 1


async def test_a_time_that_was_up_stays_so_in_the_data_when_the_stage_opens(api: Api) -> None:
    experiment_id = await api.running(**study(then="go_on"))
    for name in ("Ada", "Ben"):
        await api.join(experiment_id, name)

    await after(api, experiment_id, WAIT)

    assert await rows(api, "SELECT state, count(*) FROM timers GROUP BY 1") == [("fired", 2)]


async def test_without_a_limit_people_wait_as_long_as_it_takes(api: Api) -> None:
    experiment_id = await api.running(**study(at_most_seconds=None))
    ada = await api.join(experiment_id, "Ada")

    await after(api, experiment_id, 100_000)

    told = {"stage_id": "meet", "missing": 2, "names": [], "is_passed_over": False}
    of_groups = dict.fromkeys(("until", "arrived", "expected", "position", "wait_seconds", "confirm_until"))
    assert (await me(api, ada))["waiting"] == {**told, **of_groups}


async def test_a_stage_that_does_not_say_who_has_come_says_until_when_alone(api: Api) -> None:
    experiment_id = await api.running(**study(show_progress=False))
    ada = await api.join(experiment_id, "Ada")

    found = (await me(api, ada))["waiting"]

    assert (found["missing"], found["names"], found["until"] is not None) == (None, [], True)


async def test_only_those_are_named_whom_one_has_met(api: Api) -> None:
    met = study(seats=2)
    met["stages"] = [
        {"id": "talk", "kind": "group_chat"},
        {"id": "ask", "kind": "info", "lines": ["?"]},
        *met["stages"],
    ]
    experiment_id = await api.running(**met)
    ada, _ = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    for stage in ("talk", "ask"):
        gone_on = await api.advance(ada, stage)
        assert gone_on.status_code == 200, gone_on.text
    await api.settle(experiment_id)

    assert (await me(api, ada))["waiting"]["names"] == ["Ben"]


async def test_those_who_waited_in_vain_are_released_with_the_code_of_that_end(api: Api) -> None:
    code = {"code": "WAITED1", "redirect": "https://example.org/back"}
    experiment_id = await api.running(**study(), completion={"released": code})
    ada = await api.join(experiment_id, "Ada")
    await after(api, experiment_id, 200)
    ben = await api.join(experiment_id, "Ben")

    await after(api, experiment_id, 99)
    before = await statuses(api)
    await after(api, experiment_id, 1)

    assert before == ["in_progress", "in_progress", "expected"]
    for token in (ada, ben):
        found = await me(api, token)
        assert (found["status"], found["completion"], found["waiting"]) == ("released", code, None)
    assert await statuses(api) == ["released", "released", "removed"]
    assert await rows(api, "SELECT stage_id, outcome FROM waits") == [("meet", "released")]
    found = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()
    assert found["status"] == "ended"
    exported = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        assert archive.read("payments.csv").decode().count("WAITED1,released") == 2


async def test_the_stage_opens_for_those_who_have_come_and_empty_seats_are_closed(api: Api) -> None:
    experiment_id = await api.running(**study(then="go_on", min_participants=2))
    ada, ben = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")

    await after(api, experiment_id, WAIT)

    assert [await state(api, one) for one in (ada, ben)] == [("in_progress", "current")] * 2
    assert await statuses(api) == ["in_progress", "in_progress", "removed"]
    late = await api.take_seat(experiment_id)
    assert (late.status_code, late.json()["reason"]) == (409, "full")


async def test_too_few_are_released_instead(api: Api) -> None:
    experiment_id = await api.running(**study(then="go_on", min_participants=2))
    ada = await api.join(experiment_id, "Ada")

    await after(api, experiment_id, WAIT)

    assert await state(api, ada) == ("released", "waiting")


async def test_a_game_does_not_begin_with_fewer_than_it_needs(api: Api) -> None:
    game = study(seats=2, then="go_on")
    game["stages"].append({"id": "guess", "kind": "beauty_contest"})
    experiment_id = await api.running(**game)
    ada = await api.join(experiment_id, "Ada")

    await after(api, experiment_id, WAIT)

    assert (await me(api, ada))["status"] == "released"


async def test_someone_who_is_slow_is_not_waited_for_and_comes_late(api: Api) -> None:
    experiment_id = await api.running(**study(seats=2, before=True, then="go_on"))
    ada, ben = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    await api.advance(ada, "first")
    await api.settle(experiment_id)

    missing = (await me(api, ada))["waiting"]["missing"]
    await after(api, experiment_id, WAIT)
    opened = await state(api, ada)
    late = await api.advance(ben, "first")

    assert (missing, opened) == (1, ("in_progress", "current"))
    assert late.json()["page"]["state"] == "current"


async def test_who_comes_after_the_others_were_released_is_released_as_well(api: Api) -> None:
    experiment_id = await api.running(**study(seats=2, before=True))
    ada, ben = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    await api.advance(ada, "first")
    await api.settle(experiment_id)

    await after(api, experiment_id, WAIT)
    busy = (await me(api, ben))["status"]
    await api.advance(ben, "first")
    await api.settle(experiment_id)

    assert busy == "in_progress"
    assert [(await me(api, one))["status"] for one in (ada, ben)] == ["released"] * 2


async def test_an_agent_takes_the_empty_seat_as_the_others_know_it(api: Api) -> None:
    experiment_id = await api.running(**study(seats=2, then="fill", fill_with="helper"))
    ada = await api.join(experiment_id, "Ada")

    await after(api, experiment_id, WAIT)

    assert await state(api, ada) == ("in_progress", "current")
    seats = "SELECT player, status, profile ->> 'name' AS name, joining ->> 'rule' AS rule FROM members ORDER BY path"
    assert await rows(api, seats) == [
        ("person", "in_progress", "Ada", "one_arm"),
        ("agent", "in_progress", "Participant 2", "filled"),
    ]
    assert await rows(api, "SELECT number, player, persona FROM sittings") == [(1, "agent", "helper")]
    late = await api.take_seat(experiment_id)
    assert late.json()["reason"] == "full"


async def test_an_agent_that_takes_a_seat_is_given_the_next_of_the_balanced_values(api: Api) -> None:
    assigned = [{"id": "word", "kind": "balanced", "values": ["free", "cheap"]}]
    experiment_id = await api.running(**study(seats=2, then="fill", fill_with="helper"), assigned=assigned)
    await api.join(experiment_id, "Ada")

    await after(api, experiment_id, WAIT)

    values = await rows(api, "SELECT assigned -> 'word' ->> 'value' AS value FROM members ORDER BY path")
    assert values == [("free",), ("cheap",)]


async def test_a_pause_holds_the_wait(api: Api) -> None:
    experiment_id = await api.running(**study())
    ada = await api.join(experiment_id, "Ada")

    await after(api, experiment_id, 200)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    await after(api, experiment_id, 3600)
    held = (await me(api, ada))["waiting"]
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    await after(api, experiment_id, 99)
    before = (await me(api, ada))["status"]
    await after(api, experiment_id, 1)

    assert (held["missing"], held["until"]) == (2, None)
    assert (before, (await me(api, ada))["status"]) == ("in_progress", "released")


async def test_a_member_who_is_paused_alone_keeps_their_time_and_is_released_after_it(api: Api) -> None:
    experiment_id = await api.running(**study())
    ada, ben = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    ids = [(await me(api, one))["member_id"] for one in (ada, ben)]

    await api.experimenter("POST", f"/v1/members/{ids[0]}/pause")
    await after(api, experiment_id, WAIT)
    during = [(await me(api, one))["status"] for one in (ada, ben)]
    await api.experimenter("POST", f"/v1/members/{ids[0]}/resume")
    await api.settle(experiment_id)

    assert during == ["paused", "released"]
    assert (await me(api, ada))["status"] == "released"


async def test_who_has_a_check_to_answer_is_released_once_they_have(api: Api) -> None:
    experiment_id = await api.running(**study(), attention_checks={"seconds": 10_000})
    ada = await api.join(experiment_id, "Ada")
    await api.experimenter("POST", f"/v1/members/{(await me(api, ada))['member_id']}/check")

    await after(api, experiment_id, WAIT)
    during = (await me(api, ada))["status"]
    await api.participant(ada, "POST", "/v1/me/check")
    await api.settle(experiment_id)

    assert (during, (await me(api, ada))["status"]) == ("attention_check", "released")


async def test_the_time_of_someone_who_was_removed_is_over(api: Api) -> None:
    experiment_id = await api.running(**study())
    ada = await api.join(experiment_id, "Ada")
    await after(api, experiment_id, 200)
    ben = await api.join(experiment_id, "Ben")

    await api.experimenter("POST", f"/v1/members/{(await me(api, ada))['member_id']}/remove", json={"reason": "asked"})
    await after(api, experiment_id, 200)
    before = (await me(api, ben))["status"]
    await after(api, experiment_id, 100)

    assert (before, (await me(api, ben))["status"]) == ("in_progress", "released")


async def test_the_time_begins_anew_in_another_group_and_no_one_moves_to_one_that_was_released(api: Api) -> None:
    groups = study(seats=2)
    groups["cohorts"] = [{"seats": [{"open": True, "count": 2}], "count": 3}]
    experiment_id = await api.running(**groups)
    listed = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    cohorts = {one["path"]: one["id"] for one in listed}
    tokens = {}
    for name, path in (("Ada", "c1"), ("Ben", "c2")):
        joined = await api.take_seat(experiment_id, cohort_id=cohorts[path], profile={"name": name})
        tokens[name] = joined.json()["token"]
        await api.settle(experiment_id)
        await after(api, experiment_id, 100)

    ada = (await me(api, tokens["Ada"]))["member_id"]
    await api.experimenter("POST", f"/v1/members/{ada}/transfer", json={"cohort_id": cohorts["c3"]})
    await api.participant(tokens["Ada"], "POST", "/v1/me/transfer", json={"accept": True})
    await api.settle(experiment_id)
    moved = (await me(api, tokens["Ada"]))["waiting"]
    await after(api, experiment_id, 200)
    statuses = [(await me(api, one))["status"] for one in tokens.values()]
    refused = await api.experimenter("POST", f"/v1/members/{ada}/transfer", json={"cohort_id": cohorts["c2"]})

    assert moved["missing"] == 2
    assert statuses == ["in_progress", "released"]
    assert (refused.status_code, refused.json()["reason"]) == (409, "cohort_ended")


async def test_settling_twice_or_late_changes_nothing(api: Api) -> None:
    experiment_id = await api.running(**study(then="fill", fill_with="helper"))
    await api.join(experiment_id, "Ada")

    for _ in range(3):
        await after(api, experiment_id, WAIT)
    (cohort,) = await rows(api, "SELECT id FROM cohorts")
    await settle(api.database, UUID(str(cohort[0])), api.clock.now())

    told = "SELECT type, count(*) FROM events WHERE type IN ('member.waited', 'member.seated', 'stage.wait_ended') "
    assert await rows(api, told + "GROUP BY 1 ORDER BY 1") == [
        ("member.seated", 2),
        ("member.waited", 1),
        ("stage.wait_ended", 1),
    ]


@pytest.mark.parametrize(
    ("progress", "where"),
    [
        ({"wait_for_all": False}, "at_most_seconds"),
        ({"at_most_seconds": None, "then": "go_on"}, "then"),
        ({"then": "fill"}, "fill_with"),
        ({"fill_with": "helper"}, "fill_with"),
        ({"then": "fill", "fill_with": "nobody"}, "fill_with"),
        ({"then": "fill", "fill_with": "robot"}, "fill_with"),
    ],
)
async def test_a_limit_that_does_not_fit_the_stage_is_refused(api: Api, progress: Any, where: str) -> None:
    wrong = {**FILE, **study(**progress)}
    wrong["personas"] = [HELPER, {"id": "robot", "player": "script"}]

    refused = await api.experimenter("POST", "/v1/experiments", json=wrong)

    assert [problem["where"] for problem in refused.json()["problems"]] == [f"stages[0].progress.{where}"]


async def test_only_a_release_fits_a_stage_that_shows_what_all_have_answered(api: Api) -> None:
    wrong = {**FILE, **study(before=True)}
    choices = [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}]
    ranking = {"id": "rank", "kind": "ranking", "rank": "items", "items": choices}
    shown = {"id": "show", "kind": "reveal", "items": [{"stage": "rank", "show": "result"}]}
    wrong["stages"] = [ranking, {**shown, "progress": {"at_most_seconds": 9, "then": "go_on"}}]

    refused = await api.experimenter("POST", "/v1/experiments", json=wrong)

    assert [problem["where"] for problem in refused.json()["problems"]] == ["stages[1].progress.then"]


async def test_a_wait_that_is_over_a_second_time_waits_for_no_lock_of_settling(api: Api) -> None:
    """Settling holds the row of the wait and then wants the member, whom the second timer holds."""
    experiment_id = await api.running(**study())
    await api.join(experiment_id, "Ada")
    await api.settle(experiment_id)
    await api.join(experiment_id, "Ben")
    await api.settle(experiment_id)
    waits = "SELECT id, member_id FROM timers WHERE purpose = 'waiting' ORDER BY path"
    (first, ada), (second, ben) = await rows(api, waits)
    now = api.clock.now()
    async with api.database.transaction() as session:
        await end_wait(session, first, ada, now)

    async with api.database.transaction() as settling, api.database.transaction() as timer:
        await settling.run(text("UPDATE waits SET outcome = 'released'"))
        await timer.run(text("SET LOCAL lock_timeout = '1s'"))
        await end_wait(timer, second, ben, now)

    assert await rows(api, "SELECT outcome FROM waits") == [("released",)]
