"""How long the pages of the console take in a lab that has gathered much.

A list of hundreds of experiments, and one experiment with thousands of groups, messages and calls.

docs/benchmarks.md says what is measured and how to read it.
"""

import os
import shutil
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

import httpx2
import psycopg
import uvloop
from playwright.async_api import Page, async_playwright, expect

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import old_rows
from benchmarks.servers import own_database
from parley_lab.base.logs import set_up_logs
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.design import validate
from parley_lab.experiments import starting

EXPERIMENTS: Final = 300
MEMBERS: Final = 100_000
GROUPS: Final = 10_000
MESSAGES: Final = 5_000
CALLS: Final = 100_000
ROUNDS: Final = 5
_PATIENCE_MS: Final = 60_000
_TALK: Final = {"id": "talk", "kind": "group_chat", "name": "The talk"}
_CONVERSATION: Final = """
    WITH said AS (
        INSERT INTO threads (id, cohort_id, stage_id, scope, path, last_seq, opened_at, ended_at)
        SELECT gen_random_uuid(), c.id, 'talk', 'group', c.path || '/talk', %(messages)s, now(), now()
        FROM cohorts c WHERE c.experiment_id = %(id)s ORDER BY c.path LIMIT 1 RETURNING id, cohort_id
    )
    INSERT INTO messages (id, thread_id, seq, member_id, author_kind, text, elapsed_ms, created_at)
    SELECT gen_random_uuid(), t.id, n, (SELECT m.id FROM members m WHERE m.cohort_id = t.cohort_id LIMIT 1), 'person',
        'The night bus comes once an hour, number ' || n, n * 1000, now() + n * interval '1 second'
    FROM said t, generate_series(1, %(messages)s) n
"""
_CALLS: Final = """
    WITH asked AS (
        INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, ask_id, thread_id, trigger_key, as_of_seq,
            purpose, provider, state, not_before, created_at, closed_at)
        SELECT gen_random_uuid(), m.path || '/' || n, m.cohort_id, 'talk', m.id,
            CASE WHEN t.id IS NULL THEN gen_random_uuid() END, t.id,
            CASE WHEN t.id IS NOT NULL THEN 'message:' || n END, n, 'talk', 'mock', 'failed', now(),
            now() + n * interval '1 second', now()
        FROM (SELECT m.*, row_number() OVER () AS place FROM members m WHERE m.experiment_id = %(id)s) m
            CROSS JOIN LATERAL generate_series(1, CASE WHEN m.place = 1 THEN %(messages)s ELSE
                (%(calls)s - %(messages)s) / greatest(%(members)s - 1, 1) END) n
            LEFT JOIN threads t ON t.cohort_id = m.cohort_id AND m.place = 1
        RETURNING id, created_at, path
    )
    INSERT INTO model_calls (id, draft_id, attempt, path, provider, model_asked, model_mode, settings, prompt,
        prompt_hash, raw, status, error, tokens_in, tokens_out, started_at, finished_at)
    SELECT gen_random_uuid(), a.id, 1, a.path || '/1', 'mock', 'mock', 'mock', '{}', '[]', 'x', '{}',
        CASE WHEN random() < 0.9 THEN 'ok' ELSE 'timeout' END, NULL, 900, 60, a.created_at,
        a.created_at + interval '1 second'
    FROM asked a
"""
_ENDED: Final = (
    "UPDATE members SET status = 'completed', ended_at = now()",
    "UPDATE cohorts SET status = 'ended', ended_at = now()",
    "UPDATE experiments SET status = 'ended', ended_at = now(), paused_at = NULL, pause_reason = NULL",
    "UPDATE streams SET settled = last, unsettled = 0",
)


def study(groups: int, people: int) -> dict[str, Any]:
    seats = [{"open": True, "count": people}]
    return {
        "parley": 1,
        "name": "Night buses",
        "pace": "live",
        "stages": [_TALK],
        "cohorts": [{"count": groups, "seats": seats}],
    }


async def begin(lab: EmbeddedLab, groups: int, people: int) -> UUID:
    """Start an experiment, which no one has joined."""
    async with lab.database.transaction(statement_seconds=300) as session:
        now = lab.clock.now()
        experiment_id = await starting.create(session, lab.operator_id, validate(study(groups, people)), now)
        await starting.start(session, experiment_id, now)
    return experiment_id


async def gather(database_url: str, folder: Path) -> UUID:
    """Fill the database; the id of the large experiment."""
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    per_experiment = MEMBERS // EXPERIMENTS
    async with EmbeddedLab(folder, servers=servers, environ={}, port=None) as lab:
        first = await begin(lab, per_experiment // 3, 3)
    _fill(database_url, first, messages=200, calls=600, members=per_experiment // 3 * 3)
    old_rows.fill(database_url, MEMBERS, of="members")
    async with EmbeddedLab(folder, servers=servers, environ={}, port=None) as lab:
        large = await begin(lab, GROUPS, 2)
    _fill(database_url, large, messages=MESSAGES, calls=CALLS, members=GROUPS * 2)
    return large


def _fill(database_url: str, experiment_id: UUID, *, messages: int, calls: int, members: int) -> None:
    """Give an experiment a long conversation and calls of models, and end it."""
    given = {"id": experiment_id, "messages": messages, "calls": calls, "members": members}
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(_CONVERSATION, given)
        connection.execute(_CALLS, given)
        for statement in _ENDED:
            connection.execute(statement)
        connection.execute("VACUUM ANALYZE")


async def measure(url: str, key: str, large: UUID) -> None:
    """Print the median seconds of each request that pages make."""
    own = f"/v1/experiments/{large}"
    headers = {"Authorization": f"Bearer {key}", "Accept-Encoding": "gzip"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        [thread] = (await client.get(f"{own}/threads")).json()["threads"]
        requests = {
            "list": "/v1/experiments?limit=50",
            "list by name": "/v1/experiments?limit=50&sort=name&name=bus",
            "board": f"{own}/board",
            "alerts": f"{own}/alerts?is_open=true",
            "conversations": f"{own}/threads",
            "conversation": f"/v1/threads/{thread['id']}/messages?before_seq=2147483647&limit=100",
            "its drafts": f"/v1/threads/{thread['id']}/drafts",
            "calls": f"{own}/calls?order=newest",
            "failed calls": f"{own}/calls?order=newest&status=failed",
            "activity": f"{own}/activity",
            "charts": f"{own}/charts",
            "table of members": f"{own}/tables/participants",
            "table of calls": f"{own}/tables/model_calls",
        }
        for name, path in requests.items():
            seconds = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                (await client.get(path)).raise_for_status()
                seconds.append(time.perf_counter() - began)
            print(f"{median(seconds):7.3f} s  {name}", flush=True)


async def in_browser(url: str, key: str, large: UUID) -> None:
    """The seconds until each page shows what it has."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no Chromium: the pages themselves are left out")
        return
    own = f"/console/e/{large}"
    pages = [
        "/console",
        own,
        f"{own}/threads",
        f"{own}/calls",
        f"{own}/file",
        f"{own}/see",
        f"{own}/results",
        f"{own}/data",
    ]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = await browser.new_page(base_url=url)
        await page.goto("/console")
        await page.get_by_label("Or paste an API key").fill(key)
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("button", name="Sign out").wait_for(timeout=_PATIENCE_MS)
        for path in pages:
            print(f"{await _shown_after(page, path):7.3f} s  {path.replace(str(large), '…')}", flush=True)
        await browser.close()


async def _shown_after(page: Page, path: str) -> float:
    began = time.perf_counter()
    await page.goto(path)
    await page.locator("h1").wait_for(timeout=_PATIENCE_MS)
    await expect(page.locator(".c-loading")).to_have_count(0, timeout=_PATIENCE_MS)
    return time.perf_counter() - began


async def run(database_url: str) -> None:
    set_up_logs("lab", stream=StringIO())
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    with TemporaryDirectory() as folder:
        large = _large(database_url) or await gather(database_url, Path(folder) / "lab")
        environ = {**os.environ, "LLM_USE_MOCK": "true"}
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=environ, port=0) as lab:
            key = (Path(folder) / "lab" / "api-key").read_text().strip()
            assert lab.url is not None
            await measure(lab.url, key, large)
            await in_browser(lab.url, key, large)


def _large(database_url: str) -> UUID | None:
    """The large experiment of a database that was filled before."""
    with psycopg.connect(database_url) as connection:
        if connection.execute("SELECT to_regclass('cohorts')").fetchone() == (None,):
            return None
        largest = "SELECT experiment_id FROM cohorts GROUP BY 1 HAVING count(*) >= %s LIMIT 1"
        found = connection.execute(largest, (GROUPS,)).fetchone()
    return found[0] if found else None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(description="Measure the pages of the console in a lab that has gathered much.")
    parser.add_argument("--database", help="one to keep, filled if it is empty (default: one of its own)")
    options = parser.parse_args(arguments)
    if options.database:
        uvloop.run(run(options.database))
        return 0
    with own_database("console_pages") as database_url:
        uvloop.run(run(database_url))
    return 0


if __name__ == "__main__":
    sys.exit(main())
