"""What does it cost to bring a member through a stage? Twelve mixed kinds against a floor that writes the same rows.

docs/benchmarks.md says what is measured and how to read it.
"""

import asyncio
import os
import signal
import sys
import time
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final, LiteralString

import orjson
import psycopg
import uvloop
from psycopg import sql

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.lab_runs import ended, postgres_seconds
from benchmarks.processes import StartFailed
from benchmarks.report import write_samples
from benchmarks.servers import own_database
from parley_lab.base.logs import set_up_logs
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.design import load
from parley_lab.experiments import starting
from parley_lab.store import migrate

BAR: Final = 0.4
"""The lab makes at least this share of the floor's transitions per second."""
GROWTH_BAR: Final = 1.2
"""A transition of 2,000 members in 500 cohorts costs at most so many times that of 100 members in 25."""
CONNECTIONS: Final = 8
_CHOICE: Final = {"id": "pick", "kind": "choice", "title": "Which?", "options": [{"id": i, "text": i} for i in "abc"]}
_SCALE: Final = {"id": "rate", "kind": "scale", "title": "How much do you agree?", "upper": 10}
_PRICES: Final = "date,close\n2022-01-03,100\n2022-12-30,90\n2023-01-02,90\n2023-12-29,117\n"
STAGES: Final[Sequence[dict[str, Any]]] = [
    {"id": "consent", "kind": "terms_of_service", "lines": ["Be kind."]},
    {"id": "welcome", "kind": "info", "lines": ["Welcome."]},
    {"id": "who", "kind": "profile", "set": "numbers"},
    {"id": "before", "kind": "survey", "questions": [_CHOICE, _SCALE]},
    {"id": "understood", "kind": "comprehension", "questions": [{**_CHOICE, "correct": "a"}], "most_attempts": 1},
    {"id": "part", "kind": "role", "roles": [{"id": "one", "lines": ["One."]}, {"id": "two", "lines": ["Two."]}]},
    {"id": "stocks", "kind": "stock_info", "stocks": [{"id": "rail", "name": "Alpha Rail", "prices": _PRICES}]},
    {"id": "shares", "kind": "asset_allocation", "assets": [{"id": i, "name": i} for i in ("rail", "food")]},
    {"id": "order", "kind": "ranking", "rank": "items", "items": [{"id": i, "text": i} for i in "abc"]},
    {"id": "after", "kind": "survey", "questions": [_SCALE]},
    {"id": "outcome", "kind": "reveal", "items": [{"stage": "before"}]},
    {"id": "paid", "kind": "payout", "items": [{"id": "come", "stage": "before", "base": "2.50"}]},
]
_TABLES: Final[Mapping[str, LiteralString]] = {
    "answers": "SELECT member_id, stage_id, to_jsonb(t) AS row FROM answers t",
    "asks": "SELECT member_id, stage_id, to_jsonb(t) AS row FROM asks t",
    "drafts": "SELECT member_id, stage_id, to_jsonb(t) AS row FROM drafts t",
    "model_calls": """
        SELECT d.member_id, d.stage_id, to_jsonb(t) AS row FROM model_calls t JOIN drafts d ON d.id = t.draft_id
    """,
    "payments": "SELECT member_id, stage_id, to_jsonb(t) AS row FROM payments t",
    "events": """
        SELECT t.subject_id AS member_id, CASE t.type WHEN 'member.profile_changed' THEN 'who'
            ELSE coalesce(t.payload ->> 'stage_id', t.payload ->> 'from_stage_id') END AS stage_id, to_jsonb(t) AS row
        FROM events t JOIN members m ON m.id = t.subject_id
    """,
}
"""What is written of a member on a stage, in the order in which rows point at each other."""
_BEFORE: Final = ("experimenters", "experiments", "treatments", "cohorts", "members", "streams", "cohort_stages")
"""What is there before the members begin."""


@dataclass(frozen=True)
class Sample:
    """One run of the lab or of the floor."""

    contestant: str
    cohorts: int
    members: int
    seconds: float
    cpu_seconds: float
    postgres_cpu_seconds: float

    @property
    def transitions(self) -> int:
        return self.members * len(STAGES)

    @property
    def cpu_ms(self) -> float:
        return 1000 * (self.cpu_seconds + self.postgres_cpu_seconds) / self.transitions

    @property
    def summary(self) -> str:
        return (
            f"{self.contestant}, {self.cohorts} x {self.members // self.cohorts} members: {self.transitions} "
            f"transitions in {self.seconds:.1f} s, {self.transitions / self.seconds:.0f}/s, CPU each "
            f"{1000 * self.cpu_seconds / self.transitions:.2f} ms + Postgres "
            f"{1000 * self.postgres_cpu_seconds / self.transitions:.2f} ms"
        )


def document(cohorts: int, members: int) -> str:
    content = {
        "parley": 1,
        "name": "Mixed stages",
        "seed": 1,
        "pace": "fast",
        "personas": [{"id": "one", "text": "You run a small bakery."}],
        "stages": STAGES,
        "cohorts": [{"count": cohorts, "seats": [{"persona": "one", "count": members // cohorts}]}],
    }
    return orjson.dumps(content).decode()


async def in_lab(database_url: str, cohorts: int, members: int) -> Sample:
    """The lab with its mock model, from the start of the experiment to its end."""
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    with TemporaryDirectory() as folder, (Path(folder) / "log").open("w") as log:
        # As users have it: `parley run` writes all lines of the log into a file.
        set_up_logs("lab", stream=log)
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=os.environ, port=None) as lab:
            experiment = load(document(cohorts, members), "benchmark.json")
            async with lab.database.transaction() as session:
                experiment_id = await starting.create(session, lab.operator_id, experiment, lab.clock.now())
            own, postgres, began = time.process_time(), postgres_seconds(database_url), time.perf_counter()
            async with lab.database.transaction() as session:
                await starting.start(session, experiment_id, lab.clock.now())
            await ended(lab, experiment_id)
            return Sample(
                "lab",
                cohorts,
                members,
                time.perf_counter() - began,
                time.process_time() - own,
                postgres_seconds(database_url) - postgres,
            )


Rows = Mapping[tuple[str, str], Mapping[str, list[Any]]]
"""By member and stage, the rows of each table."""


def written(database_url: str) -> tuple[dict[str, list[Any]], Rows]:
    """What was there before the members began, and what the lab has written of each member on each stage."""
    with psycopg.connect(database_url) as connection:
        before = {
            name: [
                row
                for (row,) in connection.execute(
                    sql.SQL("SELECT to_jsonb(t) FROM {} t").format(sql.Identifier(name))
                ).fetchall()
            ]
            for name in _BEFORE
        }
        rows: dict[tuple[str, str], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for name, query in _TABLES.items():
            for member_id, stage_id, row in connection.execute(query).fetchall():
                rows[str(member_id), stage_id][name].append(row)
    return before, rows


async def by_hand(database_url: str, lab: Sample, before: Mapping[str, list[Any]], rows: Rows) -> Sample:
    """The same rows: a transaction a transition, in which the member moves; one message put into a queue, one taken."""
    stages = [stage["id"] for stage in STAGES]
    queue: asyncio.Queue[tuple[str, int] | None] = asyncio.Queue()
    members = [member["id"] for member in before["members"]]
    left = len(members)

    async def work(connection: psycopg.AsyncConnection[Any]) -> None:
        nonlocal left
        while (taken := await queue.get()) is not None:
            member_id, place = taken
            found = rows[member_id, stages[place]]
            async with connection.transaction(), connection.pipeline():
                await connection.execute(_MOVE, (place + 1, member_id))
                for name, written_there in found.items():
                    await _insert(connection, name, written_there)
                await connection.execute(_COUNT, (len(found["events"]), found["events"][0]["cohort_id"]))
            if place + 1 < len(stages):
                queue.put_nowait((member_id, place + 1))
            else:
                left -= 1
            if not left:
                for _ in range(CONNECTIONS):
                    queue.put_nowait(None)

    async with AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(await psycopg.AsyncConnection.connect(database_url, autocommit=True))
            for _ in range(CONNECTIONS)
        ]
        for name in _BEFORE:
            await _insert(connections[0], name, before[name])
        own, postgres, began = time.process_time(), postgres_seconds(database_url), time.perf_counter()
        for member_id in members:
            queue.put_nowait((member_id, 0))
        await asyncio.gather(*map(work, connections))
        return Sample(
            "floor",
            lab.cohorts,
            lab.members,
            time.perf_counter() - began,
            time.process_time() - own,
            postgres_seconds(database_url) - postgres,
        )


_MOVE: Final = "UPDATE members SET position = %s, version = version + 1 WHERE id = %s"
_COUNT: Final = "UPDATE streams SET last = last + %s WHERE cohort_id = %s"
"""Events are numbered within their cohort, so each transaction takes as many numbers as it has events."""


@cache
def _insert_into(table: str) -> bytes:
    statement = "INSERT INTO {0} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset(NULL::{0}, %s::jsonb)"
    return sql.SQL(statement).format(sql.Identifier(table)).as_bytes(None)


async def _insert(connection: psycopg.AsyncConnection[Any], table: str, rows: Sequence[Any]) -> None:
    await connection.execute(_insert_into(table), (orjson.dumps(rows).decode(),))


def measure(cohorts: int, members: int) -> tuple[Sample, Sample]:
    """The lab, and then the floor on the rows that the lab has written."""
    with own_database("mixed") as lab_url:
        lab = uvloop.run(in_lab(lab_url, cohorts, members))
        before, rows = written(lab_url)
    with own_database("mixed") as floor_url:
        migrate.upgrade(floor_url)
        floor = uvloop.run(by_hand(floor_url, lab, before, rows))
    return lab, floor


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure members who go through twelve stages of mixed kinds.")
    parser.add_argument("--members", type=int, default=200, metavar="N", help="in one cohort (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured (default: %(default)s)")
    parser.add_argument("--no-growth", action="store_true", help="leave out 100 and 2,000 members in cohorts of four")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    samples: list[Sample] = []
    try:
        for _ in range(options.rounds):
            for sample in measure(1, options.members):
                samples.append(sample)
                print(sample.summary, flush=True)
        ratio = median(floor.seconds / lab.seconds for lab, floor in zip(samples[::2], samples[1::2], strict=True))
        print(f"the lab makes {ratio:.2f} of the floor's transitions (bar: {BAR}, {_verdict(ratio >= BAR)})")
        if not options.no_growth:
            few, many = (_alone(members // 4, members) for members in (100, 2000))
            samples += [few, many]
            growth = many.cpu_ms / few.cpu_ms
            print(f"a transition costs x {growth:.2f} (bar: {GROWTH_BAR}, {_verdict(growth <= GROWTH_BAR)})")
    except (StartFailed, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    print(f"All numbers: {write_samples('mixed-stages', samples, stages=len(STAGES))}")
    return 0


def _alone(cohorts: int, members: int) -> Sample:
    with own_database("mixed") as database_url:
        sample = uvloop.run(in_lab(database_url, cohorts, members))
    print(sample.summary, flush=True)
    return sample


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "NOT MET"


if __name__ == "__main__":
    sys.exit(main())
