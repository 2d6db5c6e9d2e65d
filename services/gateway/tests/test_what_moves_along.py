"""What becomes of roles, payments, and answers about others when their member moves to another cohort."""

import asyncio
import csv
from io import BytesIO, StringIO
from typing import Any, Final
from zipfile import ZipFile

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api
from parley_lab.gateway.testing.moves import Study, a_study

pytestmark = pytest.mark.postgres

LAST: Final[dict[str, Any]] = {"id": "last", "kind": "info", "lines": ["Bye"]}
TWO_EACH: Final[list[dict[str, Any]]] = [{"seats": [{"open": True, "count": 2}], "count": 2}]


async def table(study: Study, name: str) -> list[dict[str, str]]:
    exported = await study.api.experimenter("GET", f"/v1/experiments/{study.id}/export?format=csv")
    assert exported.status_code == 200, exported.text
    with ZipFile(BytesIO(exported.content)) as archive:
        (found,) = [one for one in archive.namelist() if one.endswith(f"/{name}") or one == name]
        return list(csv.DictReader(StringIO(archive.read(found).decode())))


async def page(study: Study, name: str, stage_id: str) -> Any:
    return (await study.api.participant(study.tokens[name], "GET", f"/v1/me/stages/{stage_id}")).json()["view"]


ROLES: Final[dict[str, Any]] = {
    "id": "parts",
    "kind": "role",
    "progress": {"wait_for_all": False},
    "roles": [
        {"id": "chair", "min_participants": 1, "max_participants": 1},
        {"id": "member", "max_participants": 1},
    ],
}
TALK: Final[dict[str, Any]] = {"id": "talk", "kind": "info", "lines": [{"text": "You lead.", "for": "chair"}, "Hello."]}


async def role(study: Study, name: str) -> str:
    found: str = (await page(study, name, "parts"))["role"]["id"]
    return found


async def in_their_roles(api: Api) -> tuple[Study, str, str]:
    """The names of the chair and of the member of the first cohort; Bob is the chair of the second one."""
    study = await a_study(api, stages=[ROLES, TALK, LAST], cohorts=TWO_EACH)
    roles = {await role(study, name): name for name in ("Ada", "Ann")}
    assert await role(study, "Bob") == "chair"
    return study, roles["chair"], roles["member"]


async def test_who_moves_keeps_the_role_on_pages_in_texts_and_in_data(api: Api) -> None:
    free = {**ROLES, "roles": [{"id": f"r{number}"} for number in range(20)]}
    told = {**TALK, "lines": [{"text": f"You are r{number}.", "for": f"r{number}"} for number in range(20)]}
    study = await a_study(api, stages=[free, told, LAST], cohorts=TWO_EACH)
    before = await role(study, "Ada")
    for name in ("Ada", "Ann", "Bob"):
        await study.go_on(name, "parts")

    await study.move("Ada", "c2")

    assert await role(study, "Ada") == before
    assert (await page(study, "Ada", "talk"))["lines"] == [f"You are {before}."]
    (row,) = [row for row in await table(study, "participants.csv") if row["path"] == "c1/m1"]
    assert row["parts.role"] == before


async def test_who_moves_while_they_read_their_role_keeps_it(api: Api) -> None:
    free = {**ROLES, "roles": [{"id": f"r{number}"} for number in range(20)]}
    study = await a_study(api, stages=[free, LAST], cohorts=TWO_EACH)
    before = await role(study, "Ada")

    await study.move("Ada", "c2")
    shown = await role(study, "Ada")
    await study.move("Ada", "c1")

    assert (shown, await role(study, "Ada")) == (before, before)
    await study.go_on("Ada", "parts")
    (row,) = [row for row in await table(study, "participants.csv") if row["path"] == "c1/m1"]
    assert row["parts.role"] == before


async def test_a_role_that_is_still_read_needs_room_as_well(api: Api) -> None:
    study, chair, _ = await in_their_roles(api)

    refused = await study.offer(chair, "c2")

    assert (refused.status_code, refused.json()["reason"]) == (409, "full")


async def test_a_cohort_that_has_as_many_of_a_role_as_it_may_takes_no_more(api: Api) -> None:
    study, chair, _ = await in_their_roles(api)
    for name in ("Ada", "Ann", "Bob"):
        await study.go_on(name, "parts")

    refused = await study.offer(chair, "c2")
    await api.experimenter("POST", f"/v1/members/{study.ids['Bob']}/remove", json={"reason": "a test"})
    allowed = await study.offer(chair, "c2")

    assert (refused.status_code, refused.json()["reason"]) == (409, "full")
    assert allowed.status_code == 200


async def test_a_role_that_a_member_brings_is_not_given_again(api: Api) -> None:
    study, _, member = await in_their_roles(api)
    await study.go_on(member, "parts")
    await api.experimenter("POST", f"/v1/members/{study.ids['Bob']}/remove", json={"reason": "a test"})
    await api.settle(study.id)

    await study.move(member, "c2")
    await study.fill({"Cat": "c2"})

    assert (await role(study, "Cat"), await role(study, member)) == ("chair", "member")


async def test_an_agent_that_is_added_behind_the_roles_has_none_and_takes_none(api: Api) -> None:
    helper = {"id": "helper", "profile": {"name": "Helper"}}
    study = await a_study(api, stages=[ROLES, TALK, LAST], cohorts=TWO_EACH, personas=[helper])
    await api.experimenter("POST", f"/v1/members/{study.ids['Bob']}/remove", json={"reason": "a test"})
    await api.settle(study.id)

    body = {"persona": "helper", "kind": "participant", "stage_id": "talk"}
    added = await api.experimenter("POST", f"/v1/cohorts/{study.cohorts['c2']}/members", json=body)
    await api.settle(study.id)
    await study.fill({"Cat": "c2"})

    assert added.status_code == 201, added.text
    assert await role(study, "Cat") == "chair"
    drawn = await study.rows(
        "SELECT s.draws ->> CAST(m.id AS text) AS role FROM members m JOIN cohort_stages s ON s.cohort_id = m.cohort_id"
        " WHERE s.stage_id = 'parts' AND m.added_by IS NOT NULL"
    )
    assert [row.role for row in drawn] == [None]


async def test_what_is_drawn_for_one_who_moved_does_not_follow_the_seat_of_another(api: Api) -> None:
    """With roles without bounds two members by the same chance would always have the same role."""
    free = {**ROLES, "roles": [{"id": f"r{number}"} for number in range(8)]}
    first = {"id": "first", "kind": "info", "lines": ["Hi"]}
    alike = 0
    for seed in range(4):
        study = await a_study(api, stages=[first, free, LAST], cohorts=TWO_EACH, seed=seed)
        await study.move("Ada", "c2")
        for name in ("Ada", "Bob"):
            await study.go_on(name, "first")
        alike += await role(study, "Ada") == await role(study, "Bob")

    assert alike < 4


PAID: Final[list[dict[str, Any]]] = [
    {"id": "one", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why"}]},
    {
        "id": "pay",
        "kind": "payout",
        "items": [{"id": f"i{at}", "stage": "one", "base": at, "selection": "drawn"} for at in range(1, 30)],
    },
    LAST,
]


async def test_a_payment_is_shown_as_it_was_paid_after_a_move(api: Api) -> None:
    study = await a_study(api, stages=PAID, cohorts=TWO_EACH)
    await study.go_on("Ada", "one", {"why": "So"})
    before = (await page(study, "Ada", "pay"))["amount"]
    await study.go_on("Ada", "pay")

    await study.move("Ada", "c2")

    assert (await page(study, "Ada", "pay"))["amount"] == before
    (paid,) = await study.rows("SELECT amount FROM payments")
    assert float(before) == float(paid.amount)


ABOUT: Final[dict[str, Any]] = {
    "id": "others",
    "kind": "survey_per_participant",
    "progress": {"min_participants": 2, "wait_for_all": False},
    "questions": [{"id": "trust", "kind": "scale", "title": "Trust?", "lower": 0, "upper": 10}],
}


BEGUN: Final = text(
    """
    INSERT INTO answers (member_id, stage_id, key, cohort_id, value, completed_at, written_at)
    VALUES (:member, 'others', 'about:p1', :cohort, '{"trust": 3}', :now, :now)
    """
)


async def about_each_other(api: Api, **changes: Any) -> Study:
    study = await a_study(api, stages=[ABOUT, LAST], cohorts=TWO_EACH, **changes)
    await study.fill({"Ben": "c2"})
    return study


async def trusting(study: Study, name: str, value: int) -> dict[str, int]:
    (person,) = (await page(study, name, "others"))["people"]
    return {f"{person['tag']}_trust": value}


async def test_answers_about_others_stay_with_those_whom_they_are_about(api: Api) -> None:
    study = await about_each_other(api)
    values = {"Ada": 1, "Ann": 2, "Bob": 3, "Ben": 4}
    for name, value in values.items():
        await study.go_on(name, "others", await trusting(study, name, value))

    await study.move("Ada", "c2")
    await study.move("Bob", "c1")

    found = {row["participant"]: (row["about"], row["value"]) for row in await table(study, "answers_about.csv")}
    assert found == {
        "c1/m1": ("c1/m2", "1"),
        "c1/m2": ("c1/m1", "2"),
        "c2/m1": ("c2/m2", "3"),
        "c2/m2": ("c2/m1", "4"),
    }
    shown = await page(study, "Ada", "others")
    assert "Bob" not in [one["name"] for one in shown["people"]]


async def test_what_was_begun_about_others_is_not_filled_in_about_new_ones(api: Api) -> None:
    study = await about_each_other(api)
    begun = await trusting(study, "Ada", 9)
    url = "/v1/me/stages/others/answer"
    saved = await api.participant(study.tokens["Ada"], "PUT", url, json={"answer": begun})

    await study.move("Ada", "c2")

    here = (await api.participant(study.tokens["Ada"], "GET", "/v1/me/stages/others")).json()
    assert saved.status_code == 204, saved.text
    assert [form["saved"] for form in here["forms"]] == [None]


async def test_a_game_that_has_all_its_players_takes_no_more(api: Api) -> None:
    game = {"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 2}}
    study = await a_study(api, stages=[{"id": "first", "kind": "info", "lines": ["Hi"]}, game, LAST])

    refused = await study.offer("Ada", "c2")

    assert (refused.status_code, refused.json()["reason"]) == (409, "full")


async def test_the_data_have_what_a_member_answered_in_an_arm_that_the_other_cohort_has_not(api: Api) -> None:
    stages = [
        {"id": "extra", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why"}]},
        {"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}},
        LAST,
    ]
    arms = [{"id": "long"}, {"id": "short", "leave_out": ["extra"]}]
    cohorts = [{"seats": [{"open": True, "count": 2}], "treatment": arm} for arm in ("long", "short")]
    study = await a_study(api, stages=stages, treatments=arms, cohorts=cohorts)
    await study.go_on("Ada", "extra", {"why": "So"})

    await study.move("Ada", "c2")

    (ada,) = [row for row in await table(study, "participants.csv") if row["name"] == "Ada"]
    (answer,) = [row for row in await table(study, "answers.csv") if row["path"] == "c1/m1"]
    assert (ada["treatment"], ada["cohort_path"], ada["extra.why"]) == ("short", "c2", "So")
    assert (answer["treatment"], answer["cohort_path"], answer["value"]) == ("long", "c1", "So")


QUIZ: Final[list[dict[str, Any]]] = [
    {
        "id": "quiz",
        "kind": "survey",
        "questions": [
            {
                "id": "capital",
                "kind": "choice",
                "title": "The capital of Australia?",
                "correct": "c",
                "options": [{"id": "s", "text": "Sydney"}, {"id": "c", "text": "Canberra"}],
            }
        ],
    },
    {"id": "vote", "kind": "ranking", "self_vote": True, "places": 1, "progress": {"min_participants": 1}},
    {
        "id": "pay",
        "kind": "payout",
        "items": [{"id": "right", "stage": "quiz", "questions": {"capital": 0.35}, "winner_of": "vote"}],
    },
    LAST,
]


async def test_the_answers_of_an_elected_member_who_moves_still_count_for_their_voters(api: Api) -> None:
    study = await a_study(api, stages=QUIZ, cohorts=TWO_EACH)
    await study.go_on("Ada", "quiz", {"capital": "c"})
    await study.go_on("Ann", "quiz", {"capital": "s"})
    for row in await study.rows("SELECT id FROM members WHERE status = 'expected'"):
        await api.experimenter("POST", f"/v1/members/{row.id}/remove", json={"reason": "a test"})
    for name in ("Ada", "Ann"):
        await study.go_on(name, "vote", {"ranking": [study.ids["Ada"]]})
    before = (await page(study, "Ann", "pay"))["amount"]

    await study.move("Ada", "c2")

    assert (before, (await page(study, "Ann", "pay"))["amount"]) == ("0.35", "0.35")
    await study.go_on("Ann", "pay")
    (paid,) = await study.rows("SELECT amount FROM payments")
    assert float(paid.amount) == 0.35


@pytest.mark.parametrize("others", [("Bob", "Ben"), ("Bob",)], ids=["enough players", "too few players"])
async def test_who_has_played_elsewhere_is_no_player_of_a_game_that_begins_later(
    api: Api, others: tuple[str, ...]
) -> None:
    first = {"id": "first", "kind": "info", "lines": ["Hi"]}
    game = {"id": "game", "kind": "beauty_contest", "rounds": 1}
    study = await a_study(api, stages=[first, game, {**LAST, "id": "more"}, LAST], cohorts=TWO_EACH)
    if "Ben" in others:
        await study.fill({"Ben": "c2"})
    for row in await study.rows("SELECT id FROM members WHERE status = 'expected'"):
        await api.experimenter("POST", f"/v1/members/{row.id}/remove", json={"reason": "a test"})
    for name in ("Ada", "Ann"):
        await study.go_on(name, "first")
    for name in ("Ada", "Ann"):
        await study.guess(name)
    for name in ("Ada", "Ann"):
        await study.go_on(name, "game")

    async with asyncio.timeout(20):
        await study.move("Ada", "c2")
        for name in others:
            await study.go_on(name, "first")
        for name in others if len(others) > 1 else ():
            await study.guess(name, 20)
        for name in others:
            await study.go_on(name, "game")

    assert {(await study.me(name))["stage_id"] for name in (*others, "Ada")} == {"more"}
    given = await study.rows(
        "SELECT value FROM answers WHERE stage_id = 'game' AND key <> '' AND valid ORDER BY cohort_id"
    )
    assert sorted(row.value["guess"] for row in given) == [10, 10, *([20, 20] if len(others) > 1 else [])]
    found = [(row["cohort_path"], row["participant"]) for row in await table(study, "guesses.csv")]
    assert [one for one in found if one[1] == "c1/m1"] == [("c1", "c1/m1")]


async def test_who_answers_about_the_others_one_by_one_is_moved_when_that_is_done(api: Api) -> None:
    study = await about_each_other(api)
    (ada,) = await study.rows("SELECT cohort_id FROM members WHERE path = 'c1/m1'")
    async with api.database.transaction() as session:
        entry = {"member": study.ids["Ada"], "cohort": ada.cohort_id, "now": api.clock.now()}
        await session.run(BEGUN, entry)

    refused = await study.offer("Ada", "c2")

    assert (refused.status_code, refused.json()["reason"]) == (409, "in_a_game")
