"""What commands load: time that each of them takes before it does anything."""

import subprocess
import sys

import pytest

HEAVY = frozenset({"sqlalchemy", "fastapi", "openai", "psycopg", "openpyxl", "agent_worker", "gateway"})
"""What only commands that run something need."""
SCRIPT = """
import sys
from parley_lab.cli.main import main

sys.argv = ["parley", *sys.argv[1:]]
try:
    main()
finally:
    print("\\n".join(sys.modules), file=sys.stderr)
"""


def _loaded(*arguments: str) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return set(ran.stderr.split())


def test_a_file_is_validated_without_what_runs_it(request: pytest.FixtureRequest) -> None:
    loaded = _loaded("validate", str(request.config.rootpath / "demos" / "deliberation.yaml"))

    assert "parley_lab.design" in loaded
    assert loaded & HEAVY == set()


def test_help_loads_no_part_of_the_lab() -> None:
    loaded = _loaded("--help")

    assert "parley_lab.cli.main" in loaded
    assert loaded & {*HEAVY, "pydantic", "parley_lab.design"} == set()
