"""Texts for one role, on pages, in prompts and in previews: no member is shown what is for another."""

from typing import Any

import pytest

from parley_lab.store.session import Database
from tests.flows.playing import a_cast, pages, playing
from tests.flows.previewing import an_api

pytestmark = pytest.mark.postgres

WORDS = {"chair": "opengavel", "member": "sitquiet"}
STAGES = [
    {
        "id": "parts",
        "kind": "role",
        "roles": [{"id": "chair", "min_participants": 1, "max_participants": 1}, {"id": "member"}],
    },
    {
        "id": "asked",
        "kind": "survey",
        "description": [{"text": word, "for": role} for role, word in WORDS.items()],
        "questions": [
            {
                "id": "why",
                "kind": "text",
                "title": [{"text": f"Why {word}?", "for": role} for role, word in WORDS.items()],
            }
        ],
    },
]


async def test_a_person_and_an_agent_read_what_is_for_their_own_role(database: Database) -> None:
    scripts = {"survey": {"answers": {"why": "So."}}}
    async with playing(database, stages=STAGES, **a_cast(scripts=scripts)) as ana:
        mine = (await ana.page("parts"))["view"]["role"]["id"]
        page = str((await ana.go_on("parts"))["page"])
        prompt = await ana.prompts("Bob", "asked")
        of_bob = await ana.lab.rows(
            "SELECT a.value ->> 'role' AS role, a.member_id FROM answers a JOIN members m ON m.id = a.member_id "
            "WHERE a.stage_id = 'parts' AND m.profile ->> 'name' = 'Bob'"
        )
        experiment_id = (await ana.lab.rows("SELECT id FROM experiments"))[0].id
        async with an_api(database, ana.lab) as client:
            address = f"/v1/experiments/{experiment_id}/prompt?persona=bob&stage=asked"
            before_the_start = (await client.get(address)).text

    others = {role: word for role, word in WORDS.items() if role != mine}
    assert page.count(WORDS[mine]) >= 2
    assert not [word for word in others.values() if word in page]
    his = WORDS[of_bob[0].role]
    (not_his,) = (word for word in WORDS.values() if word != his)
    for shown in (prompt, before_the_start):
        assert his in shown
        assert not_his not in shown


INTERVIEW: dict[str, Any] = {
    "id": "panel",
    "kind": "group_interview",
    "roles": [{"label": "The host"}, {"label": "Guest"}],
    "tasks": [{"id": "hello", "type": "discussion", "text": "Say hello.", "variable": "hello"}],
}
AFTER: dict[str, Any] = {
    "id": "asked",
    "kind": "survey",
    "description": ["You were {{answers.panel.role}}."],
    "questions": [
        {
            "id": "why",
            "kind": "text",
            "title": [{"text": "Why opengavel?", "for": "The host"}, {"text": "Why sitquiet?", "for": "Guest"}],
        }
    ],
}


async def test_later_stages_have_texts_for_the_roles_of_an_interview(database: Database) -> None:
    cast = {**a_cast(), "cohorts": [{"seats": [{"open": True}, {"persona": "bob"}]}]}
    async with playing(database, stages=[INTERVIEW, AFTER], **cast) as ana:
        (ask,) = (await ana.me())["asks"]
        await ana.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": {"response": "Hello"}})
        page = str((await ana.go_on("panel"))["page"])
        prompt = await ana.prompts("Bob", "asked")

    words = ("opengavel", "sitquiet", "You were The host.", "You were Guest.")
    assert [word for word in words if word in page] == ["opengavel", "You were The host."]
    assert [word for word in words if word in prompt] == ["sitquiet", "You were Guest."]


async def test_a_task_that_is_called_role_keeps_its_column(database: Database) -> None:
    tasks = [{**INTERVIEW["tasks"][0], "variable": "role"}]
    cast = {**a_cast(), "cohorts": [{"seats": [{"open": True}, {"persona": "bob"}]}]}
    async with playing(database, stages=[{**INTERVIEW, "tasks": tasks}], **cast) as ana:
        (ask,) = (await ana.me())["asks"]
        await ana.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": {"response": "Hello"}})
        await ana.go_on("panel")
        given = await pages(ana.lab, "panel")

    assert given["c1/m1"]["role"]["response"] == "Hello"
