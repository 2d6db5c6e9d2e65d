"""`python -m tests.fuzzing` sends made-up requests to every address of a lab; exits with 1 when an answer is wrong."""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic
from typing import Final

from prometheus_client import REGISTRY

from parley_lab.base.logs import set_up_logs
from parley_lab.cli.lab_for_tests import ParleyLab, running_lab
from parley_lab.testing.services import DATABASE_VARIABLE
from tests.fuzzing.configuration import WORLD_VARIABLE, configuration
from tests.fuzzing.world import make_world

Answers = Counter[str]
"""How many requests were answered with each status."""

_ROOT: Final = Path(__file__).resolve().parents[2]
_SCHEMATHESIS: Final = Path(sys.executable).with_name("schemathesis")
_COVERING: Final = 2_500
"""About how many requests the first round makes to try each bound of each parameter and body."""
_MOST_EXAMPLES: Final = 30
"""Of each operation in one round: after it other studies take the place of those that it has used up."""
_PING_SECONDS: Final = "0.2"
"""A stream without news is left when it says that it is alive."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000, help="how many requests are made at least")
    parser.add_argument("--seed", type=int, default=1, help="decides which requests are made up")
    parser.add_argument("--only", nargs="*", default=[], help="paths, as OpenAPI has them; without any, all")
    options = parser.parse_args()
    os.environ["GATEWAY_STREAM_PING_SECONDS"] = _PING_SECONDS
    set_up_logs("lab", level="WARNING", as_json=False)
    folder = Path(mkdtemp(prefix="parley-fuzzing-"))
    with running_lab(folder / "lab", _database(os.environ)) as lab:
        return _Run(lab, folder, options.requests, options.seed, options.only).go()


def _database(environ: Mapping[str, str]) -> dict[str, str]:
    """Where tests find PostgreSQL, if somewhere; the bus is in memory."""
    return {DATABASE_VARIABLE: environ[DATABASE_VARIABLE]} if DATABASE_VARIABLE in environ else {}


class _Run:
    """Rounds, each with studies of its own, until enough requests were made."""

    def __init__(self, lab: ParleyLab, folder: Path, requests: int, seed: int, only: list[str]) -> None:
        self._lab = lab
        self._folder = folder
        self._requests = requests
        self._seed = seed
        self._only = only
        self._operations = len(only) or _operations(lab)

    def go(self) -> int:
        """0: every answer was as it should be."""
        began, answers, failed, number = monotonic(), Answers(), 0, 0
        while (missing := self._requests - answers.total()) > 0:
            number += 1
            code, given = self._round(number, missing)
            answers += given
            failed += code != 0
            print(f"Round {number}: {answers.total():,} requests in {monotonic() - began:.0f} s.", flush=True)
            if not given:
                break
        told = ", ".join(f"{status}: {count:,}" for status, count in sorted(answers.items()))
        print(f"\n{answers.total():,} requests ({told}); {failed} of {number} rounds found something.")
        return 1 if failed else 0

    def _round(self, number: int, missing: int) -> tuple[int, Answers]:
        """The exit code of schemathesis, and what it was answered."""
        world, seed = make_world(self._lab), self._seed + number - 1
        known = {**asdict(world), "seed": seed}
        (self._folder / "world.json").write_text(json.dumps(known), encoding="utf-8")
        (self._folder / "schemathesis.toml").write_text(configuration(world), encoding="utf-8")
        covering = number == 1
        examples = (missing - (_COVERING if covering else 0)) // self._operations
        phases = "examples,coverage,fuzzing,stateful" if covering else "fuzzing,stateful"
        command = [str(_SCHEMATHESIS), "--no-color", "--config-file", "schemathesis.toml", "run"]
        command += [f"{self._lab.url}/openapi.json", "--phases", phases, "--seed", str(seed)]
        command += ["--max-examples", str(min(max(examples, 1), _MOST_EXAMPLES))]
        command += [part for path in self._only for part in ("--include-path", path)]
        before = _answered()
        done = subprocess.run(
            command,
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": str(_ROOT), WORLD_VARIABLE: "world.json"},
        )
        return done.returncode, _answered() - before


def _operations(lab: ParleyLab) -> int:
    return sum(len(methods) for methods in lab.client.get("/openapi.json").json()["paths"].values())


def _answered() -> Answers:
    """What the gateway, which is in this process, has answered so far."""
    found = Answers()
    for metric in REGISTRY.collect():
        for sample in metric.samples:
            if sample.name == "parley_request_seconds_count":
                found[sample.labels["status"]] += int(sample.value)
    return found


if __name__ == "__main__":
    sys.exit(main())
