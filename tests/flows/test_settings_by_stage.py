"""Mediators who sit in some stages, and agents who talk and are called differently from stage to stage."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import ChatSettings, Persona, StageSettings
from parley_lab.design import load, snapshot
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

DOCUMENT = """
parley: 1
name: A guide in private and a free talk
seed: 5
stages:
  - { id: alone, kind: private_chat, max_turns: 2 }
  - { id: talk, kind: group_chat, max_agent_run: 6 }
personas:
  - id: ana
    profile: { name: Ana }
    model: { temperature: 0.1 }
    by_stage: { talk: { chat: { initial_message: "I begin.", max_responses: 2 }, model: { temperature: 0.9 } } }
  - { id: ben, profile: { name: Ben } }
  - { id: guide, profile: { name: Guide }, mediates_in: [alone] }
  - { id: host, profile: { name: Host }, mediates_in: [talk] }
cohorts: [{ seats: [{ persona: ana }, { persona: ben }], mediators: [guide, host] }]
"""


async def test_a_mediator_talks_where_it_sits_and_settings_are_those_of_the_stage(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(DOCUMENT)

    await lab.drain()

    said = await lab.rows(
        "SELECT t.stage_id, m.profile ->> 'name' AS name, g.text FROM messages g JOIN threads t ON t.id = g.thread_id"
        " JOIN members m ON m.id = g.member_id ORDER BY t.stage_id, g.seq"
    )
    speakers = {stage: {row.name for row in said if row.stage_id == stage} for stage in ("alone", "talk")}
    anas = {stage: [row.text for row in said if (row.stage_id, row.name) == (stage, "Ana")] for stage in speakers}
    assert "Guide" in speakers["alone"]
    assert "Host" not in speakers["alone"]
    assert "Guide" not in speakers["talk"]
    assert anas["talk"][0] == "I begin."
    assert len(anas["talk"]) <= 2
    assert "I begin." not in anas["alone"]
    asked = await lab.rows(
        "SELECT DISTINCT d.stage_id, m.profile ->> 'name' AS name FROM drafts d JOIN members m ON m.id = d.member_id"
        " WHERE m.kind = 'mediator'"
    )
    assert {(row.stage_id, row.name) for row in asked} == {("alone", "Guide"), ("talk", "Host")}
    settings = await lab.rows(
        "SELECT DISTINCT d.stage_id, k.settings ->> 'temperature' AS heat FROM model_calls k"
        " JOIN drafts d ON d.id = k.draft_id JOIN members m ON m.id = d.member_id WHERE m.profile ->> 'name' = 'Ana'"
    )
    assert {(row.stage_id, row.heat) for row in settings} == {("alone", "0.1"), ("talk", "0.9")}
    shown = [call for call in await lab.calls() if call.name == "Ana" and call.stage_id == "alone"]
    assert shown
    assert not [call for call in shown if "Host" in str(call.prompt)]


def test_an_agent_types_as_fast_as_the_stage_says() -> None:
    settings = {"talk": StageSettings(chat={"words_per_minute": 90})}
    agent = snapshot(Persona(id="ana", chat=ChatSettings(words_per_minute=40), by_stage=settings))

    assert agent.in_stage("talk").chat.words_per_minute == 90
    assert agent.in_stage("alone").chat.words_per_minute == 40


@pytest.mark.parametrize(
    ("persona", "where"),
    [
        ({"mediates_in": ["page"]}, "personas[0].mediates_in[0]"),
        ({"by_stage": {"tlak": {}}}, "personas[0].by_stage.tlak"),
        ({"by_stage": {"talk": {"chat": {"max_responses": -1}}}}, "personas[0].by_stage.talk.chat.max_responses"),
        ({"by_stage": {"talk": {"chat": {"max": 1}}}}, "personas[0].by_stage.talk.chat.max"),
        ({"by_stage": {"talk": {"model": {"temperature": 9}}}}, "personas[0].by_stage.talk.model.temperature"),
        ({"by_stage": {"talk": {"model": {"provider": "mock"}}}}, "personas[0].by_stage.talk.model.provider"),
    ],
)
def test_settings_that_no_stage_can_have_are_told_with_their_place(persona: Mapping[str, Any], where: str) -> None:
    file = {
        "parley": 1,
        "name": "Wrong",
        "stages": [{"id": "page", "kind": "info", "lines": ["Hello"]}, {"id": "talk", "kind": "group_chat"}],
        "personas": [{"id": "ana", **persona}],
        "cohorts": [{"seats": [{"persona": "ana"}]}],
    }

    with pytest.raises(InvalidInput) as refused:
        load(json.dumps(file), "wrong.json")

    assert where in [problem.where for problem in refused.value.problems]
