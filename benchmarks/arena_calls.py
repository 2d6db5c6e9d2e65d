"""How fast are games between models? What the lab adds to the time that the models take.

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

from benchmarks.floor import game as floor
from benchmarks.processes import StartFailed, fake_model
from benchmarks.servers import own_broker_corner, own_database
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.design import load
from parley_lab.experiments import experiments, starting

BARS: Final = {"in-process": 1.1, "rabbitmq": 1.2}
SIDE_BY_SIDE_BAR: Final = 1.3
_LOOK_SECONDS: Final = 0.1


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


async def seconds(database_url: str, amqp_url: str | None, model_url: str, text: str) -> tuple[float, float]:
    """From the start of the experiment to its end in a lab of one process, and the CPU of that process."""
    servers = ServerSettings(database_url=database_url, amqp_url=amqp_url)
    environ = {**os.environ, "OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "any", "LLM_USE_MOCK": "false"}
    with TemporaryDirectory() as folder:
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=environ, port=None) as lab:
            async with lab.database.transaction() as session:
                experiment_id = await starting.create(session, lab.operator_id, load(text, "g.json"), lab.clock.now())
            own = time.process_time()
            async with lab.database.transaction() as session:
                await starting.start(session, experiment_id, lab.clock.now())
            return await _lasted(lab, experiment_id), time.process_time() - own


async def _lasted(lab: EmbeddedLab, experiment_id: UUID) -> float:
    """From start to end by the lab's own clock: to look more often would slow it down."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        async with lab.database.transaction() as session:
            experiment = await experiments.find(session, experiment_id)
        if experiment.status == "ended":
            return float((experiment.ended_at - experiment.started_at).total_seconds())


MODEL: Final = {"role": "a player", "goal": "to win"}


def measure(bus: str, latency_seconds: float, rounds: int, games: int) -> tuple[float, float]:
    with (
        fake_model(latency_seconds) as (model_url, _),
        own_database("games") as database_url,
        own_broker_corner() as amqp,
    ):
        text = document([MODEL, MODEL], rounds, games)
        return uvloop.run(seconds(database_url, amqp if bus == "rabbitmq" else None, model_url, text))


def by_hand(latency_seconds: float, rounds: int) -> float:
    with fake_model(latency_seconds) as (model_url, _), own_database("games_by_hand") as database_url:
        return uvloop.run(floor.seconds(model_url, database_url, rounds))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bars are judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure games between models.")
    parser.add_argument("--bus", choices=BARS, nargs="+", default=list(BARS))
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--games", type=int, default=50, help="how many are played side by side (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        for bus in options.bus:
            took, cpu = measure(bus, 0.2, options.rounds, 1)
            least, hand = 0.2 * options.rounds, by_hand(0.2, options.rounds)
            print(
                f"{bus}: one game of {options.rounds} rounds at 200 ms took {took:.2f} s, {took / least:.3f} times "
                f"{least:g} s (bar: {BARS[bus]}) and {took / hand:.3f} times the {hand:.2f} s of the same by hand; "
                f"CPU per round {1000 * cpu / options.rounds:.1f} ms",
                flush=True,
            )
            one, _ = measure(bus, 1.0, options.rounds, 1)
            many, cpu = measure(bus, 1.0, options.rounds, options.games)
            print(
                f"{bus}: {options.games} games side by side at 1 s took {many:.2f} s, {many / one:.3f} times the "
                f"{one:.2f} s of one (bar: {SIDE_BY_SIDE_BAR}); "
                f"CPU per round and game {1000 * cpu / options.rounds / options.games:.1f} ms",
                flush=True,
            )
    except (StartFailed, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
