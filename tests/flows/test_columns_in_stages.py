"""Agents of a table read their own row in the texts of a stage, and answer with its options."""

import json
from typing import Any

import pytest

from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.design.persona_table import csv_table
from parley_lab.design.reading import read
from parley_lab.kinds import PAGE
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

STUDY = """
parley: 1
name: Vignettes
seed: 1
model_mode: real
stages:
  - id: page
    kind: survey
    questions:
      - { id: fair, kind: scale, title: "Is {{sum}} francs fair for {{who}}?", lower: 1, upper: 7 }
      - { id: pick, kind: choice, title: "Pay whom?", options: [{ id: a, text: "{{who}}" }, { id: b, text: Another }] }
personas_from: { file: people.csv, numbers: [sum], each: { text: "You live in {{town}}." } }
cohorts: [{ seats: [{ each_row: true }] }]
"""
TABLE = b"id,town,sum,who\nada,Bern,30,Mia {{x}}\nR_3AbC,Basel,4.5,Noa\n"


class Telling:
    """Answers with the first option, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: dict[str, ModelRequest] = {}

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.requests[request.path[: len("c1/m1")]] = request
        words = "Mia {{x}}" if request.path.startswith("c1/m1") else "Noa"
        parsed = {"fair": 4, "pick": words}
        return ModelReply(status="ok", parsed=parsed, raw=json.dumps(parsed), model_returned="some")

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_each_agent_reads_its_own_row_and_is_held_to_its_own_options(database: Database) -> None:
    def table(source: PersonasFrom) -> Any:
        return csv_table(source, TABLE)

    experiment = read(STUDY, "study.yaml", read_table=table).experiment({})
    model = Telling()
    lab = DrainLab(database, models={"openai": model})
    await lab.start(experiment.model_dump_json())
    await lab.drain()

    shown = {path: request.messages[-1].content for path, request in model.requests.items()}
    assert "Is 30 francs fair for Mia {{x}}?" in shown["c1/m1"]
    assert "Is 4.5 francs fair for Noa?" in shown["c1/m2"]
    assert "Noa" not in shown["c1/m1"]
    pages = await lab.rows("SELECT value FROM answers WHERE key = :page", page=PAGE)
    assert [page.value for page in pages] == [{"fair": 4, "pick": "a"}] * 2
    members = await lab.rows("SELECT path, assigned FROM members ORDER BY path")
    assert members[1].assigned["sum"] == {"value": 4.5, "draw": "persona:R_3AbC/sum"}
