"""The data of a design with factors: a column for each, how cohorts came by their arms, and the balance of the arms."""

import csv
from pathlib import Path
from typing import Any

from parley_lab.experiments import ending
from parley_lab.formats.exports import export
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

DOCUMENT = """
parley: 1
name: Two by two
seed: 3
stages: [{ id: page, kind: info, lines: ["{{framing}} {{length}}"] }]
personas:
  - { id: ana, attributes: { age: 30, town: Altmere, children: "1" } }
  - { id: ben, attributes: { age: 41, town: Berg, children: "2.5" } }
cohorts: [{ count: 8, seats: [{ persona: ana }, { persona: ben }, { open: true }] }]
factors:
  framing: [loss, gain]
  to: [all]
  length: [short, long]
"""


def table(path: Path) -> list[dict[str, Any]]:
    with path.open() as file:
        return list(csv.DictReader(file))


async def test_the_data_have_factors_probabilities_and_the_balance(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT)
    await lab.drain()

    await export(database, experiment_id, tmp_path, lab.clock.now())

    balance = table(tmp_path / "balance.csv")
    assert [row["treatment"] for row in balance] == [
        "gain-all-long",
        "gain-all-short",
        "loss-all-long",
        "loss-all-short",
    ]
    for row in balance:
        assert (row["factor.framing"], row["factor.to"], row["factor.length"]) == tuple(row["treatment"].split("-"))
        # The database has no order of fields: it would put `to` first.
        levels = [one for one in row if one in ("factor.framing", "factor.length")]
        assert levels == ["factor.framing", "factor.length"]
        counted = [row[column] for column in ("cohorts", "seats", "people", "agents", "completed", "out")]
        assert counted == ["2", "6", "0", "4", "4", "0"]
        assert float(row["attribute.age.mean"]) == 35.5
        assert float(row["attribute.children.mean"]) == 1.75
        assert "attribute.town.mean" not in row
    people = table(tmp_path / "participants.csv")
    assert {row["arm_probability"] for row in people} == {"0.25"}
    assert {row["joining"] for row in people} == {"complete"}
    assert sorted({int(row["arm_draw"]) for row in people}) == [*range(1, 9)]


async def test_an_empty_seat_is_no_person_and_not_out_once_the_experiment_has_ended(
    database: Database, tmp_path: Path
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT)
    await lab.join(experiment_id)
    await lab.drain()
    async with database.transaction() as session:
        await ending.end(session, experiment_id, lab.clock.now())

    await export(database, experiment_id, tmp_path, lab.clock.now())

    counted = [tuple(row[one] for one in ("people", "out")) for row in table(tmp_path / "balance.csv")]
    assert sorted(counted) == [("0", "0"), ("0", "0"), ("0", "0"), ("1", "1")]
