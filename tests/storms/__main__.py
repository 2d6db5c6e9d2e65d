"""`python -m tests.storms` runs a storm and prints its table; exits with 1 when something is wrong afterwards."""

import argparse
import asyncio
import sys
from pathlib import Path
from tempfile import mkdtemp

from tests.storms.cluster import FAKETIME
from tests.storms.faults import GROUPS
from tests.storms.lab import lab
from tests.storms.report import table, verdict
from tests.storms.storm import Plan, Storm


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="decides which faults strike, and what people do")
    parser.add_argument("--messages", type=int, default=10_000, help="how many messages are said at least")
    parser.add_argument("--faults", type=int, default=200, help="how many faults strike")
    parser.add_argument("--only", nargs="*", choices=GROUPS, default=list(GROUPS), help="kinds of faults")
    parser.add_argument("--at-once", type=int, default=3, help="how many studies of eight members run at a time")
    options = parser.parse_args()
    plan = Plan(options.seed, options.messages, options.faults, set(options.only), options.at_once)
    if "clock" in plan.groups and not FAKETIME.exists():
        print(f"LEFT OUT: clocks that jump, because there is no {FAKETIME}. `apt-get install faketime` brings it.")
    return asyncio.run(_run(plan))


async def _run(plan: Plan) -> int:
    folder = Path(mkdtemp(prefix="parley-storm-"))
    async with lab(folder, plan.seed) as running:
        outcome = await Storm(running, plan).run()
    print(f"\n{table(outcome)}\n\n{verdict(outcome)}\n\nLogs, data and servers' files are in {folder}.")
    return 1 if outcome.findings or outcome.broken else 0


if __name__ == "__main__":
    sys.exit(main())
