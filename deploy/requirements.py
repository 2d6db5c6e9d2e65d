"""Prints the dependencies that a `pyproject.toml` names: `requirements.py pyproject.toml`.

`--extra NAME` adds those of an extra, `--without NAME` leaves a distribution out. It reads the project file alone, so
that a change of code keeps the image's layer of dependencies.
"""

import argparse
import re
import tomllib
from pathlib import Path


def list_dependencies(project: Path, extras: list[str], left_out: list[str]) -> list[str]:
    """The dependencies of the project and of these extras, sorted."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    unwanted = re.compile("|".join(f"{re.escape(name)}\\b" for name in left_out) or "(?!)")
    lists = [table["dependencies"], *(table["optional-dependencies"][extra] for extra in extras)]
    return sorted({need for needs in lists for need in needs if not unwanted.match(need)})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("project", type=Path)
    parser.add_argument("--extra", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    told = parser.parse_args()
    print("\n".join(list_dependencies(told.project, told.extra, told.without)))
