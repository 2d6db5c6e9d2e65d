"""Made-up people of a rehearsal: their names, what they know, and what becomes of them."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from parley_lab.base.settings import ServerSettings
from parley_lab.cli import made_up_people
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.cli.made_up_minds import Minds
from parley_lab.cli.made_up_people import Turnout, name_of
from parley_lab.cli.rehearsing import rehearse
from parley_lab.design import load
from parley_lab.experiments.experiments import find
from tests.faults.lab_tools import start

OF_READERS = """
parley: 1
name: Each has another right answer
seed: 2
variables: {town: Bern}
assigned: [{id: word, kind: balanced, values: [oak, elm, ash, fir]}]
stages:
  - {id: profile, kind: profile}
  - id: check
    kind: comprehension
    questions:
      - {id: word, kind: text, title: "Which tree?", correct: "An {{word}}"}
      - {id: town, kind: text, title: "Which town?", correct: ["{{town}}", Paris]}
  - id: rows
    kind: comprehension
    rows: [{id: a, right: 1}, {id: b, right: 2}]
    questions: [{id: n, kind: number, title: "How many?", correct: "{{row.right}}"}]
  - {id: view, kind: survey, questions: [{id: why, kind: scale, title: Why, lower: 1, upper: 7}]}
treatments: [{id: one}, {id: two, variables: {town: Rome}}]
personas: [{id: eve, profile: {name: Eve}, text: You are old.}, {id: sol, profile: {name: Sol}}]
cohorts: [{seats: [{open: true}], count: 4}]
"""


@pytest.mark.postgres
async def test_made_up_people_have_names_and_know_what_is_right_for_each(tmp_path: Path, database_url: str) -> None:
    async with EmbeddedLab(tmp_path, servers=ServerSettings(database_url=database_url), environ={}, port=0) as lab:
        found = {}
        for personas in ((), load(OF_READERS, "readers.yaml").personas):
            experiment_id = await start(lab, OF_READERS)
            async with lab.database.transaction() as session:
                code = (await find(session, experiment_id)).join_code
            mind = Minds(lab.database, lab.clock, 2, personas)
            ends = await rehearse(lab.url or "", code, 4, 3, mind=mind)
            async with lab.database.transaction() as session:
                rows = await session.all(
                    text(
                        "SELECT m.profile ->> 'name' AS name, a.value ->> 'attempts' AS attempts FROM members m"
                        " JOIN answers a ON a.member_id = m.id AND a.stage_id IN ('check', 'rows') AND a.key = ''"
                        " WHERE m.experiment_id = :id ORDER BY m.joined_at, m.path"
                    ),
                    {"id": experiment_id},
                )
            assert "completed" in ends
            found[len(personas)] = [row.name for row in rows]
            assert {row.attempts for row in rows} == {"1"}

    assert found[0]
    assert not any("Participant" in name for name in found[0])
    assert set(found[2]) == {"Eve", "Sol"}


@given(seed=st.integers(0, 2**32), seats=st.integers(4, 100), bursts=st.integers(1, 5))
def test_so_many_made_up_people_do_what_was_asked_for(seed: int, seats: int, bursts: int) -> None:
    turnout = Turnout(no_shows=1, silent=1, closing=1, declining=1, bursts=bursts)
    coming = range(1, seats)

    fates = Counter(turnout.fate_of(number, seats, seed) for number in coming)
    times = {turnout.comes_after_seconds(number, seats, seed) for number in coming}

    assert (fates["goes silent"], fates["closes the page"], fates["declines"]) == (1, 1, 1)
    assert len(times) <= bursts
    assert len({name_of(number, seed) for number in coming}) == seats - 1


CLOSED = """
parley: 1
name: Some decline, and one closes the page
seed: 3
stages:
  - {id: terms, kind: terms_of_service, lines: ["Do you agree?"]}
  - {id: why, kind: survey, questions: [{id: why, kind: text, title: Why}]}
cohorts: [{seats: [{open: true}], count: 3}]
"""


@pytest.mark.postgres
async def test_one_declines_and_another_comes_and_one_closes_the_page_and_comes_back(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_up_people, "_CLOSED_SECONDS", (0.5, 1.0))
    monkeypatch.setattr(made_up_people, "_BETWEEN_BURSTS_SECONDS", (0.5, 1.0))
    async with EmbeddedLab(tmp_path, servers=ServerSettings(database_url=database_url), environ={}, port=0) as lab:
        experiment_id = await start(lab, CLOSED)
        async with lab.database.transaction() as session:
            code = (await find(session, experiment_id)).join_code

        turnout = Turnout(closing=1, declining=1, bursts=2)
        ends = await rehearse(lab.url or "", code, 3, 3, turnout=turnout)

    # Those who close the page are the last, after those who decline; the fourth came in the place of that one.
    assert ends[:3] == ["completed", "declined", "completed"]
    assert len(ends) > 3
