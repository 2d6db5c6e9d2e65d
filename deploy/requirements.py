"""Prints what the given members of the workspace need besides each other: `requirements.py <pyproject.toml>...`.

From the project files alone, so that a change of code leaves the layer with the dependencies as it is.
"""

import sys
import tomllib
from pathlib import Path


def needed(projects: list[Path]) -> list[str]:
    """The dependencies of all projects, without the projects themselves."""
    read = [tomllib.loads(path.read_text())["project"] for path in projects]
    own = {project["name"] for project in read}
    return sorted({need for project in read for need in project.get("dependencies", []) if need not in own})


if __name__ == "__main__":
    print("\n".join(needed([Path(argument) for argument in sys.argv[1:]])))
