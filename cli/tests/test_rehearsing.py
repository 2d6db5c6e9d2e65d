"""Rehearsals: made-up people go through a study over REST."""

import csv
import signal
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.cli.made_up_answers import fill_in
from parley_lab.cli.made_up_minds import Minds
from parley_lab.cli.made_up_people import Turnout
from parley_lab.cli.rehearsing import rehearse
from parley_lab.cli.testing import BeginParley, Parley, line_with
from parley_lab.experiments.experiments import find
from parley_lab.people.opening import close_to_people
from tests.faults.lab_tools import start

pytestmark = pytest.mark.postgres
DEMO = Path(__file__).resolve().parent.parent.parent / "demos" / "people_and_agents.yaml"


def test_the_demo_of_people_and_agents_is_rehearsed_to_its_data(
    tmp_path: Path, parley: Parley, database_url: str
) -> None:
    fast = tmp_path / "fast.yaml"
    fast.write_text(DEMO.read_text().replace("pace: live", "pace: fast"))

    done = parley("run", fast, "--rehearse", "--out", tmp_path / "out", PARLEY_DATABASE_URL=database_url)

    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (tmp_path / "out").glob("*/*/")
    with (folder / "participants.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    people = [row for row in rows if row["player"] == "rehearsed"]
    assert len([row for row in people if "." not in row["path"]]) == 3
    assert [row["status"] for row in rows if row["player"] == "agent"] == ["completed", "completed"]
    assert {row["status"] for row in people} <= {"completed", "declined", "left", "removed"}


QUICK = """
parley: 1
name: A quick talk
pace: live
stages: [{id: talk, kind: group_chat, time_limit_seconds: 1}]
personas: [{id: ada}]
cohorts: [{seats: [{open: true}, {persona: ada, count: 2}]}]
"""


def test_a_run_warns_of_agents_that_people_cannot_follow(tmp_path: Path, parley: Parley, database_url: str) -> None:
    (tmp_path / "quick.yaml").write_text(QUICK)

    done = parley("run", "quick.yaml", "--rehearse", "--out", "out", PARLEY_DATABASE_URL=database_url)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning: line 5, stages[0] (talk): agents answer at once" in " ".join((done.stdout + done.stderr).split())


LONG = """
parley: 1
name: A long study
seed: 3
stages:
  - {id: one, kind: survey, questions: [{id: yes, kind: check, title: Yes}]}
  - {id: wait, kind: info, lines: [Wait], stay: {at_least_seconds: 3}}
  - {id: two, kind: info, lines: [Bye], progress: {wait_for_all: true}}
personas: [{id: ada, profile: {name: Ada}}]
cohorts: [{seats: [{open: true, count: 2}, {persona: ada}]}]
"""


def test_the_same_made_up_people_go_on_when_a_rehearsal_is_resumed(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(LONG)
    options = ("run", file, "--rehearse", "--data-dir", data_dir, "--out", tmp_path / "out")

    run = begin_parley(*options)
    line_with(run, "c1/m2 has")
    run.send_signal(signal.SIGINT)
    told = run.communicate()[0]
    resumed = parley(*options, "--resume")

    assert "--resume --rehearse" in told
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    (folder,) = (tmp_path / "out").glob("*/*/")
    with (folder / "participants.csv").open(newline="", encoding="utf-8") as table:
        people = [row for row in csv.DictReader(table) if row["player"] == "rehearsed"]
    assert {row["status"] for row in people} <= {"completed", "left"}
    assert people[0]["status"] == "completed"


ALONE = """
parley: 1
name: Nobody else comes
seed: 3
stages: [{id: meet, kind: info, lines: [Hello], progress: {wait_for_all: true, at_most_seconds: 1, RULE}}]
personas: [{id: ada, profile: {name: Ada}}]
cohorts: [{seats: [{open: true, count: 2}]}]
"""


@pytest.mark.parametrize(
    ("rule", "end"),
    [("then: fill, fill_with: ada", "completed"), ("then: release", "released")],
    ids=["fill", "release"],
)
async def test_a_made_up_person_goes_through_a_waiting_room(
    tmp_path: Path, database_url: str, rule: str, end: str
) -> None:
    async with EmbeddedLab(tmp_path, servers=ServerSettings(database_url=database_url), environ={}, port=0) as lab:
        experiment_id = await start(lab, ALONE.replace("RULE", rule))
        async with lab.database.transaction() as session:
            code = (await find(session, experiment_id)).join_code

        ends = await rehearse(lab.url or "", code, 1, 3)

    assert ends == [end]


MISSING = """
parley: 1
name: Some are missing
seed: 3
stages:
  - {id: meet, kind: info, lines: [Hello], progress: {wait_for_all: true, at_most_seconds: 1, RULE}}
  - {id: ask, kind: survey, questions: [{id: why, kind: text, title: Why}], STAY}
personas: [{id: ada, profile: {name: Ada}}]
cohorts: [{seats: [{open: true, count: 4}]}]
"""


@pytest.mark.parametrize(
    ("rule", "stay", "ends"),
    [
        ("then: go_on", "stay: {at_most_seconds: 1}", ["completed", "completed", "dropped_out"]),
        ("then: fill, fill_with: ada", "when_gone: wait", ["completed", "completed", "left"]),
        ("then: release", "when_gone: wait", ["released"] * 3),
    ],
    ids=["go on, with a limit", "fill, without a limit", "release"],
)
async def test_some_never_come_and_some_go_silent(
    tmp_path: Path, database_url: str, rule: str, stay: str, ends: list[str]
) -> None:
    given_up: list[str] = []

    async def give_up() -> None:
        async with lab.database.transaction() as session:
            given_up.extend(await close_to_people(session, experiment_id, lab.clock.now(), cause="test"))

    async with EmbeddedLab(tmp_path, servers=ServerSettings(database_url=database_url), environ={}, port=0) as lab:
        experiment_id = await start(lab, MISSING.replace("RULE", rule).replace("STAY", stay))
        async with lab.database.transaction() as session:
            code = (await find(session, experiment_id)).join_code

        found = await rehearse(
            lab.url or "", code, 4, 7, turnout=Turnout(no_shows=1, silent=1), give_up_seats=give_up, patience_seconds=5
        )

    assert found == ends
    # The seat of one who went silent is free again; the waiting room has closed or filled that of one who never came.
    assert [path for path in given_up if "." not in path] == []


LIMITED = """
parley: 1
name: Some limits
seed: 3
pace: live
stages: [STAGE]
cohorts: [{seats: [{open: true, count: 2}]}]
"""


@pytest.mark.parametrize(
    ("turnout", "limit", "ends"),
    [
        (Turnout(no_shows=1), "progress: {wait_for_all: true, at_most_seconds: 3}", ["released"]),
        (Turnout(silent=1), "stay: {at_most_seconds: 3}", ["completed", "dropped_out"]),
    ],
    ids=["a waiting room", "the time of a page"],
)
async def test_a_rehearsal_waits_for_the_limits_of_the_file(
    tmp_path: Path, database_url: str, turnout: Turnout, limit: str, ends: list[str]
) -> None:
    """Also for those that take longer than its patience when nothing happens."""
    stage = f"{{id: meet, kind: info, lines: [Hello], {limit}}}"

    async def give_up() -> None:
        async with lab.database.transaction() as session:
            await close_to_people(session, experiment_id, lab.clock.now(), cause="test")

    async with EmbeddedLab(tmp_path, servers=ServerSettings(database_url=database_url), environ={}, port=0) as lab:
        experiment_id = await start(lab, LIMITED.replace("STAGE", stage))
        async with lab.database.transaction() as session:
            code = (await find(session, experiment_id)).join_code

        found = await rehearse(lab.url or "", code, 2, 3, turnout=turnout, give_up_seats=give_up, patience_seconds=1.5)

    assert found == ends


ALONE_TOGETHER = """
parley: 1
name: Nobody waits
seed: 3
stages: [{id: read, kind: info, lines: [Hello]}]
cohorts: [{seats: [{open: true, count: 2}], count: 3, made: on_arrival}]
"""


def test_a_run_without_some_of_its_people_comes_to_its_data(tmp_path: Path, parley: Parley, database_url: str) -> None:
    file = tmp_path / "missing.yaml"
    file.write_text(ALONE_TOGETHER)
    options = ("run", file, "--rehearse", "--no-shows", "3", "--out", tmp_path / "out")

    done = parley(*options, PARLEY_DATABASE_URL=database_url)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "these seats are given up: c2/m2" in done.stdout
    (folder,) = (tmp_path / "out").glob("*/*/")
    with (folder / "participants.csv").open(newline="", encoding="utf-8") as table:
        found = {row["path"]: row["status"] for row in csv.DictReader(table)}
    assert [*found] == ["c1/m1", "c1/m2", "c2/m1", "c2/m2"]
    assert found["c1/m1"] == "completed"
    assert found["c2/m2"] == "removed"


LEFT_ALONE = """
parley: 1
name: One agent is left alone
seed: 3
personas: [{id: ada, profile: {name: Ada}}]
stages: [{id: talk, kind: group_chat, time_limit_seconds: 2, progress: {min_participants: 2, wait_for_all: true}}]
cohorts: [{seats: [{open: true}, {persona: ada}], count: 2}]
"""


def test_a_run_ends_with_the_reason_for_which_agents_were_released(
    tmp_path: Path, parley: Parley, database_url: str
) -> None:
    file = tmp_path / "alone.yaml"
    file.write_text(LEFT_ALONE)
    options = ("run", file, "--rehearse", "--no-shows", "1", "--out", tmp_path / "out")

    done = parley(*options, PARLEY_DATABASE_URL=database_url)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 agent waited in vain for others and was released: talk (1)." in done.stdout


@pytest.mark.parametrize("resume", [(), ("--resume",)], ids=["a new run", "one that goes on"])
def test_a_rehearsal_in_which_no_one_would_take_part_is_refused_before_anything_begins(
    tmp_path: Path, parley: Parley, database_url: str, resume: tuple[str, ...]
) -> None:
    file = tmp_path / "missing.yaml"
    file.write_text(ALONE_TOGETHER)
    options = ("run", file, "--rehearse", "--no-shows", "5", "--silent", "1", "--out", tmp_path / "out", *resume)

    refused = parley(*options, PARLEY_DATABASE_URL=database_url)

    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "Of 6 made-up people 5 never come and 1 goes silent: at least one has to take part." in refused.stderr
    assert "Starting the lab" not in refused.stdout + refused.stderr
    assert not (tmp_path / "out").exists()


ARRIVING = """
parley: 1
name: They make their groups
seed: 8
stages:
  - {id: talk, kind: group_chat, time_limit_seconds: 60}
  - {id: after, kind: survey, questions: [{id: free, kind: check, title: Free}]}
personas: [{id: ada, profile: {name: Ada}, chat: {max_responses: 1}}]
treatments: [{id: a}, {id: b}]
ALLOCATION
cohorts: [{seats: [{open: true, count: 2}, {persona: ada}], count: 4, made: on_arrival}]
"""


@pytest.mark.parametrize("allocation", ["", "allocation: {by: participant}"], ids=["by cohort", "by participant"])
def test_made_up_people_make_all_cohorts_that_are_made_on_arrival(
    tmp_path: Path, parley: Parley, database_url: str, allocation: str
) -> None:
    file = tmp_path / "arriving.yaml"
    file.write_text(ARRIVING.replace("ALLOCATION", allocation))

    done = parley("run", file, "--rehearse", "--out", tmp_path / "out", PARLEY_DATABASE_URL=database_url)

    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (tmp_path / "out").glob("*/*/")
    with (folder / "participants.csv").open(newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert {row["cohort_path"] for row in rows} == {"c1", "c2", "c3", "c4"}
    people = [row for row in rows if row["player"] == "rehearsed"]
    assert Counter(row["treatment"] for row in people) == {"a": 4, "b": 4}
    assert {row["status"] for row in people} <= {"completed", "left"}
    assert {row["status"] for row in rows if row["player"] == "agent"} == {"completed"}


@given(seed=st.integers(0, 2**32))
def test_a_hidden_field_is_not_answered(seed: int) -> None:
    form = {
        "type": "object",
        "properties": {
            "rides": {"type": "boolean", "title": "I ride."},
            "often": {"type": "integer", "minimum": 1, "x-show-if": {"question": "rides", "value": True}},
        },
    }

    answer = fill_in(form, Random(seed))

    assert ("often" in answer) is answer["rides"]


TOGETHER = """
parley: 1
name: Those who are there
seed: 5
stages:
  - {id: check, kind: comprehension, questions: [{id: three, kind: text, title: How many, correct: "12"}]}
  - {id: meet, kind: info, lines: [Hello], progress: {wait_for_all: true}}
  - {id: bye, kind: info, lines: [Bye]}
personas: [{id: ada, profile: {name: Ada}}]
cohorts:
  - made: when_together
    at: meet
    count: 2
    seats: [{open: true, count: 3}, {persona: ada}]
    match: {confirm_seconds: 20}
"""


async def test_made_up_people_answer_a_check_as_the_file_says_and_meet(tmp_path: Path, database_url: str) -> None:
    async def give_up() -> None:
        async with lab.database.transaction() as session:
            await close_to_people(session, experiment_id, lab.clock.now(), cause="test")

    async with EmbeddedLab(tmp_path, servers=ServerSettings(database_url=database_url), environ={}, port=0) as lab:
        experiment_id = await start(lab, TOGETHER)
        async with lab.database.transaction() as session:
            code = (await find(session, experiment_id)).join_code

        mind = Minds(lab.database, lab.clock, 5)
        ends = await rehearse(lab.url or "", code, 6, 5, mind=mind, give_up_seats=give_up, patience_seconds=5)

        async with lab.database.transaction() as session:
            groups = await session.all(text("SELECT cardinality(people) AS people FROM matches"))
    assert len(ends) >= 6
    assert {*ends} <= {"completed", "left", "released"}
    assert [one.people for one in groups] == [3] * len(groups) != []


SLOW = """
parley: 1
name: Some words to read, and a wait
seed: 3
pace: live
stages:
  - {id: read, kind: info, lines: [One two three four five six seven eight.]}
  - {id: meet, kind: info, lines: [Wait], progress: {wait_for_all: true, at_most_seconds: 4}}
cohorts: [{seats: [{open: true, count: 2}]}]
"""


async def test_made_up_people_take_the_time_of_a_page_and_wait_without_asking(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    request = httpx2.AsyncClient.request

    async def count(client: httpx2.AsyncClient, method: str, url: Any, **options: Any) -> httpx2.Response:
        asked.append(f"{method} {url}")
        return await request(client, method, url, **options)

    monkeypatch.setattr(httpx2.AsyncClient, "request", count)
    async with EmbeddedLab(tmp_path, servers=ServerSettings(database_url=database_url), environ={}, port=0) as lab:
        experiment_id = await start(lab, SLOW)
        async with lab.database.transaction() as session:
            code = (await find(session, experiment_id)).join_code

        ends = await rehearse(lab.url or "", code, 2, 3, turnout=Turnout(no_shows=1), takes_time=True)

        async with lab.database.transaction() as session:
            (took,) = await session.all(
                text(
                    "SELECT EXTRACT(EPOCH FROM arrived_at - joined_at) AS reading "
                    "FROM members WHERE joined_at IS NOT NULL"
                )
            )
    assert ends == ["released"]
    # Eight words at 240 a minute are two seconds, times 0.75 to 1.25.
    assert 1.5 <= took.reading < 4
    assert len(asked) < 20
