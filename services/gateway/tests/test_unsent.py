"""What is filled in when the time is up, or the part of a participant is over, counts question by question."""

import csv
import json
from io import BytesIO, StringIO
from typing import Any, Final
from uuid import UUID
from zipfile import ZipFile

import pytest
from sqlalchemy import text

from parley_lab.answers.staying import go_on_with_what_there_is
from parley_lab.gateway.testing import Api
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.settling import fire_due_timers

pytestmark = pytest.mark.postgres

QUESTIONS: Final[list[dict[str, Any]]] = [
    {"id": "trust", "kind": "scale", "title": "Trust?", "lower": 1, "upper": 7},
    {"id": "why", "kind": "text", "title": "Why?"},
    {"id": "more", "kind": "text", "title": "More?", "required": False},
    {
        "id": "deep",
        "kind": "text",
        "title": "Deeper?",
        "show_if": {"question": "trust", "operator": "less_than", "value": 3},
    },
]
END: Final[dict[str, Any]] = {"id": "end", "kind": "info", "lines": ["Thank you."]}
HALF: Final[dict[str, Any]] = {"trust": 6, "why": "", "more": "  ", "deep": "not shown"}
GO_ON: Final[dict[str, Any]] = {"at_most_seconds": 60, "then": "go_on"}


def survey(**stay: Any) -> dict[str, Any]:
    return {"id": "q", "kind": "survey", "questions": QUESTIONS, "stay": stay}


async def there(api: Api, stage: dict[str, Any], *, people: int = 1, **changes: Any) -> tuple[str, list[str]]:
    """The experiment and the tokens of people on the stage."""
    file = {"stages": [stage, END], "cohorts": [{"seats": [{"open": True, "count": people}]}], **changes}
    experiment_id = await api.running(**file)
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Ben", "Cleo")[:people]]
    await api.settle(experiment_id)
    return experiment_id, tokens


async def fill(api: Api, token: str, answer: Any, stage_id: str = "q") -> None:
    saved = await api.participant(token, "PUT", f"/v1/me/stages/{stage_id}/answer", json={"answer": answer})
    assert saved.status_code == 204, saved.text


async def after(api: Api, seconds: float) -> None:
    api.clock.advance(seconds)
    await fire_due_timers(api.database, api.clock.now())


async def me(api: Api, token: str) -> Any:
    return (await api.participant(token, "GET", "/v1/me")).json()


async def stored(api: Api, stage_id: str = "q") -> list[tuple[Any, Any, Any]]:
    async with api.database.transaction() as session:
        query = "SELECT value, invalid, marks FROM answers WHERE stage_id = :stage_id ORDER BY member_id"
        return [tuple(row) for row in await session.all(text(query), {"stage_id": stage_id})]


async def data(api: Api, experiment_id: str) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """The lines of answers.csv, and data.json."""
    exported = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    with ZipFile(BytesIO(exported.content)) as archive:
        names = {name.rpartition("/")[2]: name for name in archive.namelist()}
        lines = list(csv.DictReader(StringIO(archive.read(names["answers.csv"]).decode())))
        return lines, json.loads(archive.read(names["data.json"]))


MISSING: Final = "not answered before the time was up"


async def test_what_is_filled_in_when_the_time_is_up_counts_question_by_question(api: Api) -> None:
    experiment_id, (token,) = await there(api, survey(**GO_ON))
    await fill(api, token, {**HALF, "why": "x" * 10_001})

    await after(api, 60)

    assert (await me(api, token))["stage_id"] == "end"
    assert await stored(api) == [
        ({"trust": 6, "why": None, "more": None}, {"why": MISSING}, {"trust": "timed_out", "more": "timed_out"})
    ]
    lines, found = await data(api, experiment_id)
    assert [(one["field"], one["value"], one["status"], one["reason"]) for one in lines] == [
        ("trust", "6", "timed_out", ""),
        ("why", "", "invalid", MISSING),
        ("more", "", "timed_out", ""),
    ]
    (kept,) = found["unsent_answers"]
    assert (kept["member_path"], kept["stage"], kept["key"], kept["outcome"]) == ("c1/m1", "q", "", "timed_out")
    assert kept["value"] == {"why": "x" * 10_001, "deep": "not shown"}
    assert (await api.advance(token, "end")).status_code == 200


async def test_what_is_not_filled_in_is_the_default_of_the_file(api: Api) -> None:
    default = {"trust": 4, "why": "no reason", "more": None}
    _, (token,) = await there(api, survey(**GO_ON, default=default))
    await fill(api, token, HALF)

    await after(api, 60)

    marks = {"trust": "timed_out", "why": "default", "more": "timed_out"}
    assert await stored(api) == [({"trust": 6, "why": "no reason", "more": None}, None, marks)]


async def test_the_default_of_a_page_on_which_nothing_was_typed_decides_what_follows(api: Api) -> None:
    rule = {"stage": "q", "question": "trust", "operator": "greater_than", "value": 3}
    followed = {"id": "more", "kind": "info", "lines": ["You trust them."], "show_if": rule}
    default = {"trust": 4, "why": "no reason", "more": None}
    _, (token,) = await there(
        api, survey(**GO_ON, default=default), stages=[survey(**GO_ON, default=default), followed, END]
    )

    await after(api, 60)

    assert await stored(api) == [(default, None, {"": "default"})]
    assert (await me(api, token))["stage_id"] == "more"


async def test_a_page_that_was_sent_has_no_mark_and_nothing_is_kept_of_it(api: Api) -> None:
    experiment_id, (token,) = await there(api, survey(**GO_ON))
    await fill(api, token, HALF)
    await api.advance(token, "q", {"trust": 5, "why": "so", "more": None})

    await after(api, 60)

    assert await stored(api) == [({"trust": 5, "why": "so", "more": None}, None, None)]
    lines, found = await data(api, experiment_id)
    assert ({one["status"] for one in lines}, found["unsent_answers"]) == ({"valid"}, [])


@pytest.mark.parametrize("begun", [None, {"a.trust": 3}])
async def test_what_does_not_fit_on_a_row_whose_time_was_up_is_kept_beside_the_page(api: Api, begun: Any) -> None:
    timed = {
        **survey(),
        "questions": QUESTIONS[:3],
        "rows": [{"id": "a"}, {"id": "b"}],
        "one_page_each": {"seconds": 5},
    }
    experiment_id, (token,) = await there(api, timed)
    if begun is not None:
        await fill(api, token, begun)

    went_on = await api.advance(token, "q", {"a.trust": 99, "a.why": "so", "b.trust": 5, "b.more": ["x"]})

    assert went_on.status_code == 200, went_on.text
    page = {"a.trust": None, "a.why": "so", "a.more": None, "b.trust": 5, "b.why": None, "b.more": None}
    assert await stored(api) == [(page, dict.fromkeys(["a.trust", "b.more", "b.why"], MISSING), None)]
    (kept,) = (await data(api, experiment_id))[1]["unsent_answers"]
    assert (kept["stage"], kept["key"], kept["outcome"]) == ("q", "", "timed_out")
    assert kept["value"] == {"a.trust": 99, "b.more": ["x"]}


async def test_nothing_is_stored_of_a_page_that_no_one_filled_in(api: Api) -> None:
    experiment_id, (token,) = await there(api, survey(**GO_ON))
    await fill(api, token, {"trust": None, "why": ""})

    await after(api, 60)

    assert await stored(api) == []
    assert (await data(api, experiment_id))[1]["unsent_answers"] == []


@pytest.mark.parametrize("way", ["left", "removed", "time", "ended"])
async def test_what_is_filled_in_when_the_part_is_over_counts_and_is_marked(api: Api, way: str) -> None:
    experiment_id, (token,) = await there(api, survey(at_most_seconds=60))
    await fill(api, token, {**HALF, "why": "because"})
    member_id = (await me(api, token))["member_id"]

    match way:
        case "left":
            await api.participant(token, "POST", "/v1/me/leave")
        case "removed":
            await api.experimenter("POST", f"/v1/members/{member_id}/remove", json={"reason": "asked for"})
        case "time":
            await after(api, 60)
        case _:
            await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")

    mark = "timed_out" if way == "time" else "not_sent"
    answer = {"trust": 6, "why": "because", "more": None}
    assert await stored(api) == [(answer, None, dict.fromkeys(answer, mark))]
    (kept,) = (await data(api, experiment_id))[1]["unsent_answers"]
    assert (kept["value"], kept["outcome"]) == ({"deep": "not shown"}, mark)


async def test_a_member_is_moved_on_as_if_the_time_were_up(api: Api) -> None:
    _, (token,) = await there(api, survey())
    await fill(api, token, HALF)
    member_id = UUID((await me(api, token))["member_id"])

    async with api.database.transaction() as session:
        standing = await lock_standing(session, member_id)
        await go_on_with_what_there_is(session, standing, api.clock.now(), cause="request")

    assert (await me(api, token))["stage_id"] == "end"
    assert [marks for _, _, marks in await stored(api)] == [{"trust": "timed_out", "more": "timed_out"}]


async def test_a_consent_is_not_given_by_a_box_that_was_ticked_and_not_sent(api: Api) -> None:
    terms = {"id": "q", "kind": "terms_of_service", "lines": ["Be kind."]}
    experiment_id, (token,) = await there(api, terms)
    await fill(api, token, {"accepted": True})

    await api.participant(token, "POST", "/v1/me/leave")

    assert await stored(api) == []
    (kept,) = (await data(api, experiment_id))[1]["unsent_answers"]
    assert (kept["value"], kept["outcome"]) == ({"accepted": True}, "not_sent")


async def test_who_declines_leaves_nothing_that_was_not_sent(api: Api) -> None:
    terms = {"id": "q", "kind": "terms_of_service", "lines": ["Be kind."]}
    experiment_id, (token,) = await there(api, terms)
    await fill(api, token, {"accepted": True})

    await api.advance(token, "q", {"accepted": False})

    assert (await data(api, experiment_id))[1]["unsent_answers"] == []


async def test_a_move_in_a_game_is_not_made_by_one_who_leaves(api: Api) -> None:
    game = {"id": "game", "kind": "beauty_contest", "rounds": 1}
    experiment_id, tokens = await there(api, game, people=3)
    (ask,) = (await me(api, tokens[0]))["asks"]
    url = f"/v1/me/asks/{ask['id']}/answer"
    assert (await api.participant(tokens[0], "PUT", url, json={"answer": {"guess": 30}})).status_code == 204

    await api.participant(tokens[0], "POST", "/v1/me/leave")
    await api.settle(experiment_id)

    assert [(value, marks) for value, _, marks in await stored(api, "game")] == [({"guess": None, "left": True}, None)]
    (kept,) = (await data(api, experiment_id))[1]["unsent_answers"]
    assert (kept["value"], kept["key"]) == ({"guess": 30}, ask["key"])


ABOUT: Final[dict[str, Any]] = {
    "id": "q",
    "kind": "survey_per_participant",
    "questions": [{"id": "trust", "kind": "scale", "title": "Trust?", "lower": 1, "upper": 7}],
}
VOTE: Final[dict[str, Any]] = {
    "id": "q",
    "kind": "ranking",
    "rank": "items",
    "items": [{"id": "bus", "text": "Bus"}, {"id": "tram", "text": "Tram"}],
}
SHARES: Final[dict[str, Any]] = {
    "id": "q",
    "kind": "asset_allocation",
    "assets": [{"id": one, "name": one} for one in ("one", "two", "three")],
}
WHOLE: Final = {"": "not_sent"}


@pytest.mark.parametrize(
    ("stage", "begun", "marks"),
    [
        (ABOUT, {"p1_trust": 7, "p2_trust": 99, "p3_trust": 99}, {"p1_trust": "not_sent"}),
        (VOTE, {"ranking": ["tram", "bus"]}, WHOLE),
        (VOTE, {"ranking": ["tram"]}, None),
        (SHARES, {"one": 50, "two": 30, "three": 20}, WHOLE),
        (SHARES, {"one": 50, "two": 30, "three": 10}, None),
        ({"id": "q", "kind": "profile", "set": "free"}, {"name": "Kim", "avatar": "", "pronouns": ""}, WHOLE),
    ],
    ids=["about others", "ranking", "half a ranking", "shares", "shares that make no whole", "profile"],
)
async def test_of_each_kind_what_fits_counts(api: Api, stage: Any, begun: Any, marks: Any) -> None:
    experiment_id, tokens = await there(api, stage, people=3)
    form = (await api.participant(tokens[0], "GET", "/v1/me/stages/q")).json()["forms"][0]["form"]["properties"]
    if stage is ABOUT:
        first = next(iter(form))
        begun, marks = {first: 7, **dict.fromkeys([*form][1:], 99)}, {first: "not_sent"}
    await fill(api, tokens[0], begun)

    await api.participant(tokens[0], "POST", "/v1/me/leave")
    await api.settle(experiment_id)

    assert [found for _, _, found in await stored(api)] == ([] if marks is None else [marks])
    assert bool((await data(api, experiment_id))[1]["unsent_answers"]) == (marks is None or stage is ABOUT)


INTERVIEW: Final[dict[str, Any]] = {
    "id": "game",
    "kind": "group_interview",
    "roles": [{"label": "voter"}],
    "tasks": [
        {
            "id": "t",
            "type": "private_question",
            "variable": "vote",
            "questions": [{"role": "voter", "text": "Whom?", "options": {"type": "list", "values": ["Ann", "Bob"]}}],
        }
    ],
}


async def test_an_answer_in_an_interview_counts_when_its_author_leaves(api: Api) -> None:
    experiment_id, tokens = await there(api, INTERVIEW)
    (ask,) = (await me(api, tokens[0]))["asks"]
    url = f"/v1/me/asks/{ask['id']}/answer"
    page = (await api.participant(tokens[0], "GET", "/v1/me/stages/game")).json()
    field = next(iter(page["forms"][0]["form"]["properties"]))
    await api.participant(tokens[0], "PUT", url, json={"answer": {field: "Ann"}})

    await api.participant(tokens[0], "POST", "/v1/me/leave")
    await api.settle(experiment_id)

    ((value, _, marks),) = [row for row in await stored(api, "game") if row[2]]
    assert (value["response"], value["valid"], marks) == ("Ann", True, WHOLE)
