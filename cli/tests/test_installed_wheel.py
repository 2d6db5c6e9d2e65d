"""The wheel as a user installs it: in an environment of its own, beside packages of others with names like ours."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest

from parley_lab.cli.testing import TINY, environment

ROOT: Final = Path(__file__).parents[2]
BY_FULL_NAME: Final = "from parley_lab.cli.main import main_by_full_name; main_by_full_name()"
OTHERS: Final = {"shared": "parley", "web.py": "parley", "parley-agents": "parley-lab"}
"""Packages with names like those of our folders, and the command that is this lab's beside them."""

_LISTENS: Final = re.compile(r"http://127\.0\.0\.1:\d+")


def test_the_full_name_says_which_package_shadows_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "parley_agents-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: parley-agents\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[console_scripts]\nparley = parley.cli:main\n")
    command = [sys.executable, "-c", BY_FULL_NAME, "--version"]

    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("parley ")
    assert done.stderr == (
        "parley-agents also brings a command 'parley', which may shadow this lab's. Type 'parley-lab' instead.\n"
    )


class Installed:
    """An environment that has the wheel and its dependencies, and a folder to type commands in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._programs = folder / "venv" / "bin"
        wheel = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
        subprocess.run(wheel, cwd=ROOT, check=True, capture_output=True)
        self._uv("venv", "--quiet", "--python", sys.executable, folder / "venv")
        self.install(*folder.glob("*.whl"))

    def install(self, *packages: str | Path) -> None:
        """Install with dependencies, in the versions of the lock where it has them."""
        python = self._programs / "python"
        self._uv("pip", "install", "--quiet", "--python", python, "--constraint", ROOT / "requirements.lock", *packages)

    def begin(self, program: str, *arguments: str) -> "subprocess.Popen[str]":
        command = [str(self._programs / program), *arguments]
        return subprocess.Popen(
            command, cwd=self.folder, env=environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, program: str, *arguments: str) -> str:
        """What the program prints.

        Raises:
            AssertionError: it failed.
        """
        process = self.begin(program, *arguments)
        told, trouble = process.communicate()
        assert process.returncode == 0, trouble
        return told

    def _uv(self, *words: str | Path) -> None:
        command = [sys.executable, "-m", "uv", *map(str, words)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    """Not below pytest's own folder: another pytest closes that to the user whom root's PostgreSQL runs as."""
    with tempfile.TemporaryDirectory(prefix="parley-installed-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield Installed(folder)


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.waits(240, reason="packages are downloaded and installed, and a lab of its own runs a demo")
def test_an_installed_lab_runs_a_demo_and_serves_a_page_beside_packages_of_others(installed: Installed) -> None:
    assert "The data are in data" in installed.run("parley", "demo", "--out", "data")

    (installed.folder / "open.yaml").write_text(TINY.replace("seats: [{persona: ada}", "seats: [{open: true}"))
    with installed.begin("parley", "up", "--experiment", "open.yaml", "--port", "0") as lab:
        assert lab.stdout is not None
        address = next(found[0] for line in lab.stdout if (found := re.search(r"http://\S+/join/\w+", line)))
        with urlopen(address) as page:
            text = page.read().decode()
        root = _LISTENS.match(address)
        assert root is not None
        for asset in re.findall(r'(?:href|src)="(/assets/[^"]+)"', text):
            with urlopen(root[0] + asset) as file:
                assert file.status == 200
        lab.terminate()

    with installed.begin("parley", "fake-endpoint", "--port", "0") as endpoint:
        assert endpoint.stdout is not None
        assert _LISTENS.search(endpoint.stdout.readline())
        endpoint.terminate()

    for other, command in OTHERS.items():
        installed.install(other)
        assert "is valid" in installed.run(command, "validate", "open.yaml"), other
    with installed.begin("parley-lab", "--version") as told:
        assert told.stderr is not None
        assert "parley-agents also brings a command 'parley'" in told.stderr.read()
