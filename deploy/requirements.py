"""Prints what the given members of the workspace need besides each other: `requirements.py <pyproject.toml>...`.

`--extra NAME` anywhere adds what they need for that extra, `--without NAME` leaves a distribution out.

From the project files alone, so that a change of code leaves the layer with the dependencies as it is.
"""

import argparse
import re
import tomllib
from pathlib import Path


def needed(projects: list[Path], extras: list[str], left_out: list[str]) -> list[str]:
    """The dependencies of all projects, without the projects themselves."""
    read = [tomllib.loads(path.read_text())["project"] for path in projects]
    own = {project["name"] for project in read}
    unwanted = re.compile("|".join(f"{re.escape(name)}\\b" for name in left_out) or "(?!)")
    lists = [
        *(project.get("dependencies", []) for project in read),
        *(project.get("optional-dependencies", {}).get(extra, []) for project in read for extra in extras),
    ]
    return sorted({need for needs in lists for need in needs if need not in own and not unwanted.match(need)})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("projects", type=Path, nargs="+")
    parser.add_argument("--extra", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    told = parser.parse_args()
    print("\n".join(needed(told.projects, told.extra, told.without)))
