"""Cohorts of scripts that are played together: the same data as one after another, once, whatever happens meanwhile."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from parley_lab.contracts.hints import AGENT_STEPS
from parley_lab.formats.exports import export, without_ids_and_clocks
from parley_lab.orchestrator.playing_out import play_out
from parley_lab.orchestrator.settling import settle
from parley_lab.settle import courses
from parley_lab.settle.settling import CohortBusy
from parley_lab.store.bulk import CopyLine
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

GAMES = """
parley: 1
name: Policies
seed: {seed}
personas:
  - {{id: tft, player: script, script: {{matrix_game: {{policy: TFT}}}}}}
  - {{id: random, player: script, script: {{matrix_game: {{policy: RANDOM, alpha: 0.4}}}}}}
  - {{id: gtft, player: script, script: {{matrix_game: {{policy: GTFT}}, second: {{persona: selfish}}}}}}
stages:
  - {{id: welcome, kind: info, lines: [Hello]}}
  - id: form
    kind: survey
    questions: [{{id: why, kind: text, title: Why}}]
  - {{id: game, kind: matrix_game, horizon: {{type: geometric, stop_probability: 0.1}}}}
  - {{id: second, kind: matrix_game, exploratory: true, framing: neutral, counterbalance: true,
     horizon: {{type: fixed, rounds: 4}}}}
pairings:
  stage: game
  replicates: {replicates}
  round_robin: [tft, random, gtft]
  self_play: true
  factors: {{announce_horizon: [false, true]}}
"""


def games(seed: int = 1, replicates: int = 2) -> str:
    return GAMES.format(seed=seed, replicates=replicates)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "together", tmp_path / "one"
    for folder in made:
        folder.mkdir()
    return made


async def data_of(database: Database, document: str, folder: Path, *, one_by_one: bool) -> dict[str, bytes]:
    lab = DrainLab(database, one_by_one=one_by_one)
    experiment_id = await lab.start(document)
    await lab.drain()
    status = (await lab.rows("SELECT status FROM experiments WHERE id = :id", id=experiment_id))[0].status
    assert status == "ended"
    await export(database, experiment_id, folder, lab.clock.now())
    return files_in(folder)


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes() if file.suffix == ".svg" else without_ids_and_clocks(file.name, file.read_bytes())
        for file in sorted(folder.iterdir())
    }


async def counts(lab: DrainLab, experiment_id: UUID) -> tuple[int, int, int, int]:
    row = (
        await lab.rows(
            """
            SELECT (SELECT count(*) FROM answers a JOIN cohorts c ON c.id = a.cohort_id
                    WHERE c.experiment_id = :id) AS a,
                (SELECT count(*) FROM events WHERE experiment_id = :id) AS e,
                (SELECT count(*) FROM members WHERE experiment_id = :id AND status = 'completed') AS m,
                (SELECT count(*) FROM cohorts WHERE experiment_id = :id AND status = 'ended') AS c
            """,
            id=experiment_id,
        )
    )[0]
    return row.a, row.e, row.m, row.c


async def test_playing_out_gives_the_same_data_as_settling_one_by_one(
    database: Database, folders: tuple[Path, Path]
) -> None:
    together = await data_of(database, games(), folders[0], one_by_one=False)
    one_by_one = await data_of(database, games(), folders[1], one_by_one=True)
    assert together.keys() == one_by_one.keys()
    assert "rounds.csv" in together
    for name, content in together.items():
        assert content == one_by_one[name], name


DECLINED = """
parley: 1
name: One declines
seed: 1
personas:
  - {id: stays, player: script, script: {game: SCRIPT}}
  - {id: declines, player: script, script: {terms: {accept: false}, game: SCRIPT}}
stages:
  - {id: terms, kind: terms_of_service, lines: [Our terms]}
  - GAME
cohorts: [{count: 2, seats: [{persona: stays}, {persona: declines}]}]
"""


@pytest.mark.parametrize(
    ("game", "script"),
    [
        ("{id: game, kind: matrix_game, horizon: {type: fixed, rounds: 2}}", "{policy: TFT}"),
        ("{id: game, kind: beauty_contest, rounds: 2}", "{guesses: [50, 40]}"),
    ],
    ids=["matrix_game", "beauty_contest"],
)
async def test_what_counts_for_a_script_that_has_left_is_the_same_as_settled_one_by_one(
    database: Database, folders: tuple[Path, Path], game: str, script: str
) -> None:
    document = DECLINED.replace("GAME", game).replace("SCRIPT", script)
    together = await data_of(database, document, folders[0], one_by_one=False)
    one_by_one = await data_of(database, document, folders[1], one_by_one=True)
    for name, content in together.items():
        assert content == one_by_one[name], name
    assert b"round:1" in together["data.json"]


async def test_scripts_are_played_out_without_a_message_per_member(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(games())
    assert len([hint for hint in lab.hints if hint.queue != "facts"]) == 1


async def test_a_scripted_cohort_that_is_settled_instead_wakes_its_members_and_owes_no_step_before(
    database: Database,
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(games(replicates=1))
    assert not [hint for hint in await lab.overlooked() if hint.queue == AGENT_STEPS]

    (cohort, *_) = await lab.rows("SELECT id FROM cohorts WHERE experiment_id = :id", id=experiment_id)
    members = await lab.rows("SELECT id FROM members WHERE cohort_id = :id", id=cohort.id)
    lab.hints.clear()
    await settle(database, cohort.id, lab.clock.now())
    assert sorted(hint.id for hint in lab.hints if hint.queue == AGENT_STEPS) == sorted(str(row.id) for row in members)


async def test_cohorts_that_need_someone_else_are_not_played_out(database: Database) -> None:
    lab = DrainLab(database)
    visitor = "  pairs: [{seats: [tft, {open: true}]}]\n"
    experiment_id = await lab.start(games().replace("  round_robin:", f"{visitor}  round_robin:"))
    await play_out(database, experiment_id, lab.clock.now())
    left = await lab.rows("SELECT name FROM cohorts WHERE status = 'running' AND experiment_id = :id", id=experiment_id)
    assert {row.name.rpartition("-")[0] for row in left} == {
        "tft-vs-person-false",
        "tft-vs-person-true",
    }


async def test_playing_out_at_once_with_itself_and_with_settling_plays_every_game_once(database: Database) -> None:
    quiet = DrainLab(database)
    expected_id = await quiet.start(games(replicates=12))
    await quiet.drain()
    expected = await counts(quiet, expected_id)

    lab = DrainLab(database)
    experiment_id = await lab.start(games(replicates=12))
    cohorts = [row.id for row in await lab.rows("SELECT id FROM cohorts WHERE experiment_id = :i", i=experiment_id)]

    async def settled(cohort_id: UUID) -> None:
        try:
            await settle(database, cohort_id, lab.clock.now())
        except CohortBusy:
            return

    await asyncio.gather(
        *(play_out(database, experiment_id, lab.clock.now()) for _ in range(4)),
        *(settled(cohort_id) for cohort_id in cohorts[::7]),
    )
    lab.hints += quiet.hints
    await lab.drain()
    await play_out(database, experiment_id, lab.clock.now())

    assert await counts(lab, experiment_id) == expected


async def test_a_crash_between_two_chunks_loses_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(games(replicates=12))
    write, written = courses.write, 0

    async def breaking(*args: object) -> None:
        nonlocal written
        mine = written = written + 1
        await write(*args)  # type: ignore[arg-type]
        if mine > 1:
            raise ConnectionResetError("the process is gone")

    monkeypatch.setattr(courses, "write", breaking)
    with pytest.raises(ConnectionResetError):
        await play_out(database, experiment_id, lab.clock.now())
    done = (await counts(lab, experiment_id))[3]
    assert 0 < done < 144

    monkeypatch.setattr(courses, "write", write)
    await lab.drain()
    assert (await counts(lab, experiment_id))[2:] == (288, 144)


async def test_a_member_who_was_taken_out_is_left_to_settling(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(games(replicates=1))
    member = "UPDATE members SET status = 'removed' WHERE experiment_id = :id AND path = 'c1/m1' RETURNING id"
    await lab.rows(member, id=experiment_id)
    await play_out(database, experiment_id, lab.clock.now())
    running = await lab.rows(
        "SELECT path FROM cohorts WHERE experiment_id = :id AND status = 'running'", id=experiment_id
    )
    assert [row.path for row in running] == ["c1"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.tuples(*[st.none() | st.text(st.characters(exclude_characters="\x00", codec="utf-8"))] * 2)))
async def test_what_is_copied_is_stored_as_it_was(database: Database, lines: list[CopyLine]) -> None:
    async with database.transaction() as session:
        await session.run(text("CREATE TEMPORARY TABLE copied (n serial, a text, b text) ON COMMIT DROP"))
        await session.copy("COPY copied (a, b) FROM STDIN", lines)
        stored = await session.all(text("SELECT a, b FROM copied ORDER BY n"))
    assert [tuple(row) for row in stored] == [tuple(line) for line in lines]


ACCOUNTS = """
parley: 1
name: Accounts
seed: 9
personas:
  - {id: gtft, player: script, script: {matrix_game: {policy: GTFT}}}
  - {id: random, player: script, script: {matrix_game: {policy: RANDOM}}}
  - {id: wsls, player: script, script: {matrix_game: {policy: WSLS}}}
stages: [{id: game, kind: matrix_game, horizon: {type: fixed, rounds: 50}}]
pairings: {stage: game, replicates: 5, pairs: [PAIRS]}
"""
TWO = "{seats: [gtft, random]}, {seats: [wsls, random]}"


async def played(database: Database, pairs: str) -> dict[str, list[tuple[str, str]]]:
    """The moves of every game of a new run, by the name of its cohort."""
    lab = DrainLab(database)
    experiment_id = await lab.start(ACCOUNTS.replace("PAIRS", pairs))
    assert (await lab.rows("SELECT status FROM experiments WHERE id = :id", id=experiment_id))[0].status == "running"
    await lab.drain()
    assert (await lab.rows("SELECT status FROM experiments WHERE id = :id", id=experiment_id))[0].status == "ended"
    found = await lab.rows(
        """
        SELECT c.name, right(m.path, 2) || a.key AS place, a.value ->> 'action' AS action FROM answers a
            JOIN members m ON m.id = a.member_id JOIN cohorts c ON c.id = a.cohort_id
        WHERE c.experiment_id = :id AND a.key <> '' ORDER BY c.name, place
        """,
        id=experiment_id,
    )
    games: dict[str, list[tuple[str, str]]] = {}
    for row in found:
        games.setdefault(row.name, []).append((row.place, row.action))
    return games


async def test_two_conditions_of_five_replicates_are_ten_different_games_of_fifty_rounds(database: Database) -> None:
    games = await played(database, TWO)
    assert sorted(games) == [f"{pair}-{n}" for pair in ("gtft-vs-random", "wsls-vs-random") for n in range(1, 6)]
    assert {len(moves) for moves in games.values()} == {2 * 50}
    assert len({tuple(moves) for moves in games.values()}) == 10


async def test_a_run_again_plays_the_same_and_a_third_condition_leaves_the_first_two_alone(database: Database) -> None:
    first = await played(database, TWO)
    again = await played(database, TWO)
    with_third = await played(database, "{seats: [random, random]}, " + TWO)
    assert again == first
    assert len(with_third) == 15
    assert {name: with_third[name] for name in first} == first
