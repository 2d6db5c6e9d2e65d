"""The fixture for other people's tests works in a folder that has nothing of this repository."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parley_lab.cli.testing import environment
from parley_lab.testing import services

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "testing"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "servers",
    [
        "embedded",
        pytest.param("named", marks=pytest.mark.long),
        pytest.param("containers", marks=pytest.mark.docker),
    ],
)
def test_a_foreign_folder_tests_its_study_in_a_running_lab(
    servers: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "theirs")
    variables = {"PARLEY_TEST_DATABASE_URL": "embedded"}
    if servers == "named":
        variables = {
            "PARLEY_TEST_DATABASE_URL": request.getfixturevalue("postgres_server").url,
            "PARLEY_TEST_AMQP_URL": request.getfixturevalue("amqp_url"),
        }
    if servers == "containers":
        try:
            services.require_docker()
        except services.NoServer as error:
            pytest.skip(str(error))
        variables = {"PARLEY_TEST_LAB": "containers"}
    # pytest closes the folder of all its runs to other users when one begins, and this run needs it.
    variables["PYTEST_DEBUG_TEMPROOT"] = str(tmp_path)
    clean = {name: value for name, value in environment({}).items() if not name.startswith("PYTEST_")}

    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=folder,
        env={**clean, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    assert told.returncode == 0, told.stdout + told.stderr
    assert "1 passed" in told.stdout


def test_the_example_is_short() -> None:
    assert len((EXAMPLE / "test_my_study.py").read_text().splitlines()) <= 15
