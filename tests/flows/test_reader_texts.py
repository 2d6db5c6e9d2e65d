"""Texts that are something else for every reader: own answers, results, assigned variables, on pages and in prompts."""

import csv
from pathlib import Path

from parley_lab.formats.exports import export
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

DOCUMENT = """
parley: 1
name: Own words
seed: 3
variables: { town: Altmere }
stages:
  - id: before
    kind: survey
    questions:
      - id: takes
        kind: choice
        title: Do you take it?
        options: [{ id: yes, text: "Yes, I do" }, { id: no, text: "Never" }]
      - { id: why, kind: text, title: "Why?", show_if: { question: takes, operator: less_than, value: 0 } }
  - id: after
    kind: survey
    description: >-
      In {{town}} {{word}} {{side}} you said
      <{{answers.before.takes}}|{{answers.before.takes.text}}|{{answers.before.why}}>.
    questions: [{ id: more, kind: text, title: "More about {{answers.before.takes.text}}?" }]
personas:
  - { id: ana, profile: { name: Ana }, text: "You said ({{answers.before.takes}}) and got {{word}}." }
  - { id: ben, profile: { name: Ben } }
assigned:
  - { id: word, kind: balanced, values: [left, right] }
  - { id: side, kind: by_cohort, value: nowhere, cohorts: { north: uphill } }
cohorts: [{ id: north, seats: [{ persona: ana }, { persona: ben }] }]
"""


async def test_each_reader_has_their_own_words_in_texts(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT)

    await lab.drain()

    given = {
        (row.path, row.stage_id): row.value
        for row in await lab.rows(
            "SELECT m.path, a.stage_id, a.value FROM answers a JOIN members m ON m.id = a.member_id WHERE a.key = ''"
        )
    }
    prompts = {
        (call.member_path, call.stage_id): "\n".join(message["content"] for message in call.prompt)
        for call in await lab.calls()
    }
    words = {"yes": "Yes, I do", "no": "Never"}
    for path, word in (("c1/m1", "left"), ("c1/m2", "right")):
        takes = given[path, "before"]["takes"]
        said = f"In Altmere {word} uphill you said <{takes}|{words[takes]}|>."
        assert said in prompts[path, "after"]
        assert f"More about {words[takes]}?" in prompts[path, "after"]
    assert "You said () and got left." in prompts["c1/m1", "before"]
    assert f"You said ({given['c1/m1', 'before']['takes']}) and got left." in prompts["c1/m1", "after"]

    await export(database, experiment_id, tmp_path, lab.clock.now())
    with (tmp_path / "variables.csv").open() as file:
        kept = ("scope", "member_path", "name", "value", "draw")
        rows = [tuple(row[column] for column in kept) for row in csv.DictReader(file)]
    assert rows == [
        ("cohort", "", "side", "uphill", "c1/variable:side"),
        ("participant", "c1/m1", "word", "left", "variable:word/1"),
        ("participant", "c1/m2", "word", "right", "variable:word/2"),
    ]
