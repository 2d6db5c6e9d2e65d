"""What was said is what was said: values are filled in once, for all who hear it and in the data."""

import csv
from pathlib import Path
from typing import Any

import pytest

from parley_lab.formats.exports import export
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

TRADE = """
parley: 1
name: Minutes with a value of each participant
seed: 3
assigned:
  - { id: worth, kind: balanced, values: ["10", "99"] }
  - { id: town, kind: by_cohort, value: Altmere }
stages:
  - id: before
    kind: survey
    questions:
      - { id: fruit, kind: choice, title: Fruit, options: [{ id: fig, text: A fig }, { id: pear, text: A pear }] }
  - id: trade
    kind: group_interview
    roles: [{ label: Seller }, { label: Buyer }]
    tasks:
      - { id: place, type: context, variable: place, text: "You are in {{town}}." }
      - id: ask
        type: private_question
        variable: ask
        questions:
          - role: Seller
            text: "{{answers.before.fruit.text}} is worth {{worth}} to you."
            options: { type: list, values: ["{{worth}}", "none"] }
        check: true
      - { id: buy, type: public_question, variable: buy, questions: [{ role: Buyer, text: "Do you buy, {{worth}}?" }] }
personas:
  - { id: ana }
  - { id: ben }
cohorts: [{ seats: [{ persona: ana }, { persona: ben }] }]
"""
TALK = """
parley: 1
name: A talk with values
seed: 3
assigned:
  - { id: worth, kind: balanced, values: ["10", "99"] }
  - { id: town, kind: by_cohort, value: Altmere }
stages:
  - id: talk
    kind: group_chat
    topics: [{ id: one, name: "The fair of {{town}}" }, { id: two, name: "The harbour of {{town}}" }]
personas:
  - { id: ana, chat: { initial_message: "It is worth {{worth}} in {{town}}." } }
  - { id: ben, chat: { initial_message: "To me it is {{worth}}." } }
cohorts: [{ seats: [{ persona: ana }, { persona: ben }] }]
"""


async def told(database: Database, document: str, folder: Path) -> tuple[DrainLab, list[dict[str, Any]]]:
    """The lab after a run, and the lines of its messages.csv."""
    lab = DrainLab(database)
    experiment_id = await lab.start(document)
    await lab.drain()
    await export(database, experiment_id, folder, lab.clock.now())
    with (folder / "messages.csv").open() as file:
        return lab, list(csv.DictReader(file))


async def test_minutes_have_what_each_member_was_asked_in_the_words_of_that_member(
    database: Database, tmp_path: Path
) -> None:
    lab, lines = await told(database, TRADE, tmp_path)

    given = "SELECT value ->> 'fruit' AS fruit FROM answers JOIN members m ON m.id = member_id AND m.path = 'c1/m1' "
    (seller,) = await lab.rows(given + "WHERE stage_id = 'before' AND key = ''")
    asked = f"A {seller.fruit} is worth 10 to you."
    read_out = [line["text"] for line in lines if line["author_kind"] == "system"]
    assert read_out[0] == "Facilitator: You are in Altmere."
    assert read_out[1].startswith(f"Facilitator (to Seller): {asked}")
    assert read_out[2] == "Facilitator (to Buyer): Do you buy, 99?"
    assert not [line for line in lines if "{{" in line["text"]]
    (buyers,) = [call for call in await lab.calls() if call.member_path == "c1/m2" and call.stage_id == "trade"]
    prompt = "\n".join(message["content"] for message in buyers.prompt)
    assert asked in prompt
    assert "worth 99" not in prompt


async def test_an_agent_is_held_to_the_options_with_its_own_values(database: Database, tmp_path: Path) -> None:
    lab, lines = await told(database, TRADE, tmp_path)

    said = [line["text"] for line in lines if line["topic"] == "ask" and line["author_kind"] == "agent"]
    assert said in (["10"], ["none"])
    assert not await lab.rows("SELECT 1 FROM alerts")


async def test_opening_lines_and_topics_are_said_with_their_values(database: Database, tmp_path: Path) -> None:
    lab, lines = await told(database, TALK, tmp_path)

    texts = [line["text"] for line in lines]
    assert {"It is worth 10 in Altmere.", "To me it is 99."} <= {*texts}
    assert any("The harbour of Altmere" in one for one in texts)
    prompts = [message["content"] for call in await lab.calls() for message in call.prompt]
    assert not [one for one in [*texts, *prompts] if "{{" in one]
