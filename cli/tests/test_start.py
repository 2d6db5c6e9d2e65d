"""How fast the command line starts: what a run does not need is not loaded for it."""

import subprocess
import sys

_LOADED = """
import sys
from parley_lab.cli import main as cli, running
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


def test_a_run_without_the_rest_api_loads_neither_the_gateway_nor_libraries_for_real_models_or_new_tables() -> None:
    """Each would make every start slower, some by half a second."""
    unwanted = ("alembic", "crewai", "fastapi", "openai", "uvicorn")

    result = subprocess.run(
        [sys.executable, "-c", _LOADED, "parley_lab.cli.running", *unwanted], check=True, capture_output=True, text=True
    )

    assert result.stdout.split() == ["parley_lab.cli.running"]
