"""File formats and their libraries are installed only where files are read and written."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEMBERS = ("shared", "formats", "cli", *(f"services/{name.name}" for name in (ROOT / "services").iterdir()))
WITHOUT_FORMATS = ["agent_worker", "orchestrator", "prompt_builder"]

_IMPORTED_WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("parley_lab.formats", "openpyxl")))
import importlib
importlib.import_module(f"parley_lab.{sys.argv[1]}.__main__")
"""


def declared() -> dict[str, set[str]]:
    """What each member of the workspace needs by its own declaration, without versions."""
    files = [ROOT / member / "pyproject.toml" for member in MEMBERS if (ROOT / member / "pyproject.toml").exists()]
    projects = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in files]
    return {one["name"]: {need.split(">")[0].split("[")[0] for need in one["dependencies"]} for one in projects}


def needed(name: str, by_name: dict[str, set[str]]) -> set[str]:
    """What is installed with a member, as far as the members say."""
    return by_name[name].union(*(needed(other, by_name) for other in by_name[name] if other in by_name))


@pytest.mark.parametrize("package", WITHOUT_FORMATS)
def test_a_service_that_reads_no_files_does_not_install_formats(package: str) -> None:
    everything = needed(f"parley-{package.replace('_', '-')}", declared())

    assert "parley-shared" in everything
    assert everything.isdisjoint({"parley-formats", "openpyxl", "defusedxml", "jinja2"})


@pytest.mark.parametrize("package", WITHOUT_FORMATS)
def test_a_service_that_reads_no_files_starts_where_formats_are_not_installed(package: str) -> None:
    command = [sys.executable, "-c", _IMPORTED_WITHOUT, package]

    assert subprocess.run(command, check=False, capture_output=True, text=True).stderr == ""
