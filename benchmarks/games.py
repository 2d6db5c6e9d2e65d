"""How fast are iterated games? Rounds between models that take their time, and policies that take none.

docs/benchmarks.md says what is measured and how to read it.
"""

import asyncio
import os
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg
import uvloop

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.processes import StartFailed, Tool
from benchmarks.servers import own_database
from parley.embedded import EmbeddedLab
from shared.db import experiments
from shared.experiment import load
from shared.settings import ServerSettings

_LOOK_SECONDS: Final = 0.02


def document(players: Sequence[dict[str, Any]], rounds: int, games: int) -> str:
    return orjson.dumps(
        {
            "parley": 1,
            "name": "Games",
            "seed": 1,
            "model_mode": "real",
            "personas": [{"id": f"p{number}", **player} for number, player in enumerate(players)],
            "stages": [{"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": rounds}}],
            "cohorts": [{"id": "pair", "count": games, "seats": [{"persona": "p0"}, {"persona": "p1"}]}],
        }
    ).decode()


async def seconds(database_url: str, model_url: str, text: str) -> float:
    """From the start of the experiment to its end, in an embedded lab that is up."""
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    environ = {**os.environ, "OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "any", "LLM_USE_MOCK": "false"}
    with TemporaryDirectory() as folder:
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=environ, port=None) as lab:
            async with lab.database.transaction() as session:
                experiment_id = await experiments.create(
                    session, lab.operator_id, load(text, "g.json"), lab.clock.now()
                )
            began = time.perf_counter()
            async with lab.database.transaction() as session:
                await experiments.start(session, experiment_id, lab.clock.now())
            await _ended(lab, experiment_id)
            return time.perf_counter() - began


async def _ended(lab: EmbeddedLab, experiment_id: UUID) -> None:
    while True:
        async with lab.database.transaction() as session:
            if (await experiments.find(session, experiment_id)).status == "ended":
                return
        await asyncio.sleep(_LOOK_SECONDS)


MODEL: Final = {"role": "a player", "goal": "to win"}


def policy(name: str) -> dict[str, Any]:
    return {"player": "script", "script": {"matrix_game": {"policy": name}}}


def measure(latency_seconds: float, players: Sequence[dict[str, Any]], rounds: int, games: int) -> float:
    arguments = ["-m", "shared.testing.fake_endpoint", "--port", "0", "--latency", str(latency_seconds)]
    with Tool("fake endpoint", arguments) as endpoint, own_database("games") as database_url:
        model_url = endpoint.line().rpartition("=")[2]
        return uvloop.run(seconds(database_url, model_url, document(players, rounds, games)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bars are judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure iterated games, with models and without.")
    parser.add_argument("--policy-games", type=int, default=1000)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        one = measure(0.2, [MODEL, MODEL], 50, 1)
        print(f"one game of 50 rounds at 200 ms: {one:.2f} s, {one / 10:.3f} times 50 x 200 ms (bar: 1.1)", flush=True)
        policies = measure(0.2, [policy("GTFT"), policy("RANDOM")], 100, options.policy_games)
        print(f"{options.policy_games} policy games of 100 rounds: {policies:.2f} s", flush=True)
    except (StartFailed, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
