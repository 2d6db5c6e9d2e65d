"""In pace `fast` one file and one seed give the same files, ids and clocks aside: in every run, on every bus."""

import asyncio
import os
from pathlib import Path
from uuid import UUID

import pytest
import yaml

from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.experiments import experiments
from parley_lab.formats.exports import export, without_ids_and_clocks
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.quick import quick_first
from tests.faults.lab_tools import start

DEMO = Path(__file__).parents[2] / "demos" / "deliberation.yaml"
SURVEYS = """
parley: 1
name: Surveys
seed: 5
personas: [{id: ada, text: A baker.}, {id: bob}]
stages:
  - id: one-by-one
    kind: survey
    ask: sequential
    questions:
      - {id: free, kind: scale, title: Should it be free, upper: 5}
      - {id: why, kind: text, title: Why, show_if: {question: free, operator: greater_than, value: 2}}
      - {id: sure, kind: check, title: Sure}
  - id: at-once
    kind: survey
    ask: independent
    questions:
      - {id: age, kind: number, title: Age, minimum: 18, maximum: 90, integer: true}
      - {id: old, kind: check, title: Do you feel old, show_if: {question: age, operator: greater_than, value: 50}}
      - {id: town, kind: text, title: Where do you live}
      - {id: back, kind: text, title: Why, show_if: {stage: one-by-one, question: free, operator: less_than, value: 3}}
cohorts: [{count: 3, seats: [{persona: ada}, {persona: bob}]}]
"""
TALKS = {
    "race": "kind: group_chat, wake_up_after_seconds: 20, max_wake_ups: 2",
    "select": "kind: group_chat, turn_taking: select, ready_check_every: 2",
    "round": "kind: group_chat, turn_taking: round, max_agent_run: 15",
    "topics": "kind: group_chat, turn_taking: select, topics: [{id: cost, name: Who pays}, {id: end, name: And now}]",
    "topics in turns": "kind: group_chat, turn_taking: round, topics: [{id: a, name: One}, {id: b, name: Two}]",
    "private": "kind: private_chat, min_turns: 2, time_limit_seconds: 60",
}
TALK = """
parley: 1
name: Talk
seed: 8
pace: fast
personas:
  - {{id: ada, profile: {{name: Ada}}, chat: {{words_per_minute: 90}}}}
  - {{id: bob, profile: {{name: Bob}}, mock: {{silence: 0.6}}}}
  - {{id: cid, profile: {{name: Cid}}, chat: {{initial_message: Good morning.}}}}
  - {{id: med, profile: {{name: Mia}}, mock: {{silence: 0.5, failures: [{{status: auth_error, probability: 0.2}}]}}}}
stages:
  - {{id: talk, {talk}}}
  - {{id: after, kind: survey, questions: [{{id: free, kind: scale, title: Should it be free, upper: 5}}]}}
cohorts: [{{count: 2, seats: [{{persona: ada}}, {{persona: bob}}, {{persona: cid}}], mediators: [med]}}]
"""


INTERVIEW = """
parley: 1
name: Interview
seed: 9
pace: fast
personas:
  - {id: ada, chat: {words_per_minute: 90}}
  - {id: bob}
  - {id: cid, mock: {failures: [{status: auth_error, probability: 0.3}]}}
  - {id: sum, profile: {name: Summarizer}}
stages:
  - {id: before, kind: survey, questions: [{id: free, kind: scale, title: Should it be free, upper: 5}]}
  - id: interview
    kind: group_interview
    roles: [{label: A}, {label: B}, {label: C}]
    special_roles: [{label: Summarizer}]
    tasks:
      - {id: talk, type: discussion, text: How should we play, variable: talk}
      - id: share
        type: private_question
        variable: share
        questions: [{role: A, text: How much}, {role: B, text: How much}, {role: C, text: And you},
                    {role: Summarizer, text: What is in the pot}]
      - {id: news, type: context, text: The pot is full., variable: news}
      - {id: fair, type: public_question, variable: fair, questions: [{role: C, text: Fair}, {role: A, text: Fair}]}
  - {id: after, kind: group_chat}
cohorts: [{count: 3, seats: [{persona: ada}, {persona: bob}, {persona: cid}], mediators: [sum]}]
"""


async def ended(lab: EmbeddedLab, experiment_id: UUID) -> None:
    while True:
        async with lab.database.transaction() as session:
            if (await experiments.find(session, experiment_id)).status == "ended":
                return
        await asyncio.sleep(0.02)


async def run(document: str, servers: ServerSettings, folder: Path) -> dict[str, bytes]:
    """The files of one run in a lab of its own, without ids and clocks."""
    environ = {"LLM_USE_MOCK": "true", **os.environ}
    async with EmbeddedLab(folder / "lab", servers=servers, environ=environ, port=None) as lab:
        experiment_id = await start(lab, document)
        await ended(lab, experiment_id)
        (folder / "data").mkdir()
        await export(lab.database, experiment_id, folder / "data", now=lab.clock.now())
    return {
        file.name: without_ids_and_clocks(file.name, file.read_bytes()) for file in sorted((folder / "data").iterdir())
    }


DOCUMENTS = {"surveys": SURVEYS} | {name: TALK.format(talk=talk) for name, talk in TALKS.items()}
# The last has pages, talk and replies that fail.
DOCUMENTS |= {"deliberation": DEMO.read_text(), "interview": INTERVIEW, "private": DOCUMENTS.pop("private")}


@pytest.mark.parametrize("document", quick_first(DOCUMENTS.values(), 2), ids=DOCUMENTS)
async def test_one_file_and_seed_give_the_same_data_run_after_run(
    database_url: str, tmp_path: Path, document: str
) -> None:
    servers = ServerSettings(database_url=database_url)

    first = await run(document, servers, tmp_path / "1")
    second = await run(document, servers, tmp_path / "2")

    assert len(first) == 7 + ("treatments:" in document)  # balance.csv
    assert first["answers.csv"].count(b"\n") > 5
    assert second == first


@pytest.mark.parametrize("document", quick_first(reversed(DOCUMENTS.values()), 1), ids=[*reversed(DOCUMENTS)])
async def test_one_file_and_seed_give_the_same_data_on_both_buses(
    database_url: str, second_database_url: str, amqp_url: str, tmp_path: Path, document: str
) -> None:
    broker = RabbitBroker(amqp_url, queues=[ORCHESTRATOR, AGENT_STEPS, provider_queue("mock")])
    on_rabbit = ServerSettings(database_url=second_database_url, amqp_url=amqp_url, amqp_prefix=broker.prefix)

    try:
        in_memory = await run(document, ServerSettings(database_url=database_url), tmp_path / "1")
        over_rabbit = await run(document, on_rabbit, tmp_path / "2")
    finally:
        await broker.close()

    assert over_rabbit == in_memory


async def test_another_seed_gives_other_data(database_url: str, tmp_path: Path) -> None:
    document = DEMO.read_text()
    servers = ServerSettings(database_url=database_url)

    first = await run(document, servers, tmp_path / "1")
    second = await run(document.replace("seed: 2026", "seed: 2027"), servers, tmp_path / "2")

    assert second["messages.csv"] != first["messages.csv"]
    assert second["answers.csv"] != first["answers.csv"]


def test_no_one_in_the_demo_is_first_for_want_of_a_typing_speed() -> None:
    personas = yaml.safe_load(DEMO.read_text())["personas"]

    assert [persona["id"] for persona in personas if not persona["chat"].get("words_per_minute")] == []
