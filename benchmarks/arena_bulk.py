"""How fast are games that need no model? The lab against a bare loop that copies the same rows into Postgres.

docs/benchmarks.md says what is measured and how to read it.
"""

import asyncio
import os
import signal
import statistics
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID, uuid4, uuid5

import orjson
import psycopg
import uvloop

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.servers import own_database
from parley_lab.base import seeds
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.design import load
from parley_lab.experiments import experiments, starting
from parley_lab.store import migrate, tables
from parley_lab.store.databases import connect

SEED: Final = 1
ROUNDS: Final = 100
GENEROSITY: Final = 1 / 3
BAR: Final = 0.5
_POINTS: Final = {"CC": (3, 3), "CD": (0, 5), "DC": (5, 0), "DD": (1, 1)}
_LOOK_SECONDS: Final = 0.02


def document(games: int) -> str:
    return orjson.dumps(
        {
            "parley": 1,
            "name": "Policies",
            "seed": SEED,
            "personas": [
                {"id": "gtft", "player": "script", "script": {"matrix_game": {"policy": "GTFT"}}},
                {"id": "chance", "player": "script", "script": {"matrix_game": {"policy": "RANDOM"}}},
            ],
            "stages": [{"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": ROUNDS}}],
            "pairings": {"stage": "game", "replicates": games, "pairs": [{"seats": ["gtft", "chance"]}]},
        }
    ).decode()


async def in_lab(database_url: str, games: int) -> float:
    """Seconds from handing in the file to the end of the experiment, in an embedded lab that is up."""
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    with TemporaryDirectory() as folder:
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=os.environ, port=None) as lab:
            began = time.perf_counter()
            experiment = load(document(games), "games.json")
            async with lab.database.transaction() as session:
                experiment_id = await starting.create(session, lab.operator_id, experiment, lab.clock.now())
            async with lab.database.transaction() as session:
                await starting.start(session, experiment_id, lab.clock.now())
            await ended(lab, experiment_id)
            return time.perf_counter() - began


async def ended(lab: EmbeddedLab, experiment_id: UUID) -> None:
    while True:
        async with lab.database.transaction() as session:
            if (await experiments.find(session, experiment_id)).status == "ended":
                return
        await asyncio.sleep(_LOOK_SECONDS)


async def prepared(database_url: str, games: int) -> UUID:
    """An experiment without its cohorts, for the floor."""
    database, now, owner_id = connect(database_url), datetime.now(UTC), uuid4()
    async with database.transaction() as session:
        await session.insert(tables.experimenters, [{"id": owner_id, "name": "floor", "created_at": now}])
        experiment = load(document(games), "games.json")
        experiment_id = await starting.create(session, owner_id, experiment, now)
        arm = {"experiment_id": experiment_id, "id": "gtft-vs-chance", "levels": {}, "resolved": {}}
        await session.insert(tables.treatments, [arm])
    await database.close()
    return experiment_id


def floor(database_url: str, experiment_id: UUID, games: int) -> float:
    """Seconds for the same moves in a bare loop, and the same rows by COPY in one transaction."""
    began = time.perf_counter()
    now = datetime.now(UTC).isoformat()
    cohorts, members, stages, answers = [], [], [], []
    moves = {"C": '{"action":"C","cooperates":true}', "D": '{"action":"D","cooperates":false}'}
    config = '{"persona_id":"gtft","script":{"matrix_game":{"policy":"GTFT"}}}'
    for number in range(1, games + 1):
        path, name = f"c{number}", f"gtft-vs-chance-{number}"
        cohort_id = str(uuid5(experiment_id, path))
        lucks = _streams(name)
        own, other = _played(lucks[2], lucks[3])
        cohorts.append((cohort_id, str(experiment_id), path, name, "gtft-vs-chance", "ended", name, now, now))
        seats = [str(uuid5(experiment_id, f"{path}/m{seat}")) for seat in (1, 2)]
        for seat, member_id in enumerate(seats, start=1):
            profile = f'{{"name":"Participant {seat}"}}'
            where = (member_id, str(experiment_id), cohort_id, f"{path}/m{seat}", "participant", "script", profile)
            members.append((*where, config, "completed", "{game}", "1", "2", "2", now, now, now, now))
        draws = {
            "rounds": ROUNDS,
            "swapped": False,
            "luck_a": lucks[2],
            "luck_b": lucks[3],
            "a": seats[0],
            "b": seats[1],
        }
        state = {"actions": [own, other], "status": "over"}
        stages.append((cohort_id, "game", now, orjson.dumps(draws).decode(), orjson.dumps(state).decode()))
        for member_id, mine, theirs in ((seats[0], own, other), (seats[1], other, own)):
            for turn, action in enumerate(mine, start=1):
                answers.append((member_id, "game", f"round:{turn}/move", cohort_id, moves[action], now, now, "1"))
            answers.append((member_id, "game", "", cohort_id, _page(mine, theirs), now, now, "1"))
    with psycopg.connect(database_url) as connection:
        _copy(
            connection,
            "cohorts (id, experiment_id, path, name, treatment_id, status, join_code, created_at, ended_at)",
            cohorts,
        )
        _copy(
            connection,
            "members (id, experiment_id, cohort_id, path, kind, player, profile, agent_config, status, stage_ids,"
            " position, version, stepped_version, created_at, joined_at, arrived_at, ended_at)",
            members,
        )
        _copy(connection, "cohort_stages (cohort_id, stage_id, unlocked_at, draws, state)", stages)
        columns = "(member_id, stage_id, key, cohort_id, value, completed_at, written_at, counted_at)"
        _copy(connection, f"answers {columns}", answers)
    return time.perf_counter() - began


def _streams(name: str) -> list[int]:
    """The numbers that a game's draws begin with."""
    rng = seeds.rng(SEED, f"{name}/game/draw")
    return [rng.getrandbits(53) for _ in range(4)]


def _played(own_seed: int, other_seed: int) -> tuple[str, str]:
    own_luck, other_luck = Random(own_seed).random, Random(other_seed).random
    own, other = [], []
    last = "C"
    for _ in range(ROUNDS):
        luck, chance = own_luck(), other_luck()
        own.append("D" if last == "D" and luck >= GENEROSITY else "C")
        last = "C" if chance < 0.5 else "D"
        other.append(last)
    return "".join(own), "".join(other)


def _page(own: str, other: str) -> str:
    counts = Counter(one + two for one, two in zip(own, other, strict=True))
    points = [sum(count * _POINTS[outcome][side] for outcome, count in counts.items()) for side in (0, 1)]
    provoked = other[:-1].count("D")
    answered = sum(before == "D" and after == "D" for before, after in zip(other, own[1:], strict=False))
    return orjson.dumps(
        {
            "status": "over",
            "is_dilemma": True,
            "rounds": len(own),
            "counted_rounds": len(own),
            "points": points[0],
            "opponent_points": points[1],
            "cooperation": own.count("C") / len(own),
            "opponent_cooperation": other.count("C") / len(other),
            "mutual_cooperation": counts["CC"] / len(own),
            "mutual_defection": counts["DD"] / len(own),
            "exploits": counts["DC"] / len(own),
            "is_exploited": counts["CD"] / len(own),
            "retaliation": answered / provoked if provoked else None,
        }
    ).decode()


def _copy(connection: psycopg.Connection[Any], target: str, rows: Iterable[Sequence[str]]) -> None:
    with connection.cursor().copy(f"COPY {target} FROM STDIN".encode()) as copy:
        for batch in _batches(rows):
            copy.write("".join("\t".join(row) + "\n" for row in batch))


def _batches(rows: Iterable[Sequence[str]], size: int = 2_000) -> Iterator[list[Sequence[str]]]:
    batch: list[Sequence[str]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    yield batch


_STORED = """
    SELECT c.path || substring(m.path from '/m.$') || a.key, a.value ->> 'action'
    FROM answers a JOIN members m ON m.id = a.member_id JOIN cohorts c ON c.id = a.cohort_id WHERE a.key <> ''
"""


def stored_moves(database_url: str) -> dict[str, str]:
    with psycopg.connect(database_url) as connection:
        return dict(connection.execute(_STORED).fetchall())


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 when lab and floor do not store the same moves; what the figures are does not matter to it."""
    parser = ArgumentParser(description="Measure games between policies against a bare loop.")
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3, help="how often both are measured (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ratios = []
    try:
        for _ in range(options.rounds):
            with own_database("floor") as floor_url, own_database("bulk") as lab_url:
                migrate.upgrade(floor_url)
                bare = floor(floor_url, uvloop.run(prepared(floor_url, options.games)), options.games)
                lab = uvloop.run(in_lab(lab_url, options.games))
                if stored_moves(floor_url) != stored_moves(lab_url):
                    print("The floor and the lab have stored different moves.", file=sys.stderr)
                    return 1
            ratios.append(bare / lab)
            games = f"{options.games} games of {ROUNDS} rounds"
            print(f"{games}: floor {bare:.2f} s, lab {lab:.2f} s, ratio {bare / lab:.2f}", flush=True)
    except psycopg.OperationalError as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    print(f"median ratio {statistics.median(ratios):.2f} (bar: at least {BAR})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
