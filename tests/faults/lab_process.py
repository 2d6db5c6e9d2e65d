"""A lab in a process of its own that kills itself at a failpoint: its argument is `{"database_url": ..., ...}`.

It says `started <experiment id>` and `ended` on standard output, and its id in the file `pid` of the data directory.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.failpoints import on_failpoint
from parley_lab.base.logs import set_up_logs
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.experiments import experiments, pausing
from parley_lab.store.databases import connect
from parley_lab.store.session import Session
from tests.faults.lab_tools import start


def kill_at(name: str, hits: int) -> None:
    """SIGKILL this process when it reaches the failpoint for the `hits`-th time."""
    left = hits

    async def handler(reached: str) -> None:
        nonlocal left
        if reached == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    on_failpoint(handler)


async def go_on(url: str, lab: EmbeddedLab, experiment_id: UUID) -> None:
    """Resume the experiment. All hints about it are lost: its rows must be enough."""
    database = connect(url)
    async with database.transaction() as session:
        assert await pausing.resume(session, experiment_id, lab.clock.now())
    async with database.transaction() as session:
        await session.run(text("DELETE FROM outbox"))
    await database.close()


async def status(session: Session, experiment_id: UUID) -> str:
    return str((await experiments.find(session, experiment_id)).status)


async def main(task: dict[str, Any]) -> None:
    servers = ServerSettings(
        database_url=task["database_url"], amqp_url=task.get("amqp_url"), amqp_prefix=task.get("amqp_prefix", "")
    )
    environ = {**os.environ, **task.get("environ", {})}
    (Path(task["data_dir"]) / "pid").write_text(str(os.getpid()))
    async with EmbeddedLab(Path(task["data_dir"]), servers=servers, environ=environ, port=None) as lab:
        if "document" in task:
            experiment_id = await start(lab, task["document"])
        else:
            experiment_id = UUID(task["experiment_id"])
            await go_on(task["database_url"], lab, experiment_id)
        print("started", experiment_id, flush=True)
        if "kill_at" in task:
            kill_at(task["kill_at"], task["hits"])
        while True:
            async with lab.database.transaction() as session:
                if await status(session, experiment_id) == "ended":
                    break
            await asyncio.sleep(0.05)
    print("ended", flush=True)


def command() -> None:
    set_up_logs("lab", level="WARNING")
    asyncio.run(main(json.loads(sys.argv[1])))
