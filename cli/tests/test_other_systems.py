"""The command line on a system without POSIX, such as Windows: what needs it is taken away, and uvloop, too."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from parley_lab.cli.testing import TINY, environment
from parley_lab.formats.demos import find_demo

WITHOUT_POSIX: Final = """
import sys, warnings
warnings.filterwarnings("ignore", "only soft file lock")  # of filelock, which has another lock on Windows
sys.modules.update(dict.fromkeys(("fcntl", "grp", "pwd", "resource", "termios", "uvloop")))
import asyncio.unix_events
del asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler
"""
"""Runs before everything else in a process, as `sitecustomize`."""

SEVERAL: Final = """
import json, sys
from parley_lab.cli.main import main
for words, code in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    ended = 0
    try:
        main()
    except SystemExit as end:
        ended = end.code or 0
    assert ended == code, words
"""
"""Commands with their exit codes, one after another, so that modules are loaded once."""

WORKS, REFUSED = 0, 2
Command = tuple[list[str], int]


@pytest.fixture
def site(tmp_path: Path) -> str:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WITHOUT_POSIX)
    (tmp_path / "tiny.yaml").write_text(TINY)
    return str(folder)


def run_several(commands: list[Command], folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-c", SEVERAL, json.dumps(commands)]
    return subprocess.run(words, cwd=folder, env=environment(variables), capture_output=True, text=True, check=False)


def test_what_needs_no_server_works_without_posix_and_the_embedded_database_names_the_way_out(
    site: str, tmp_path: Path
) -> None:
    talk, workbook = str(find_demo("deliberation")), str(find_demo("public_goods"))
    commands = [
        (["validate", talk], WORKS),
        (["validate", workbook], WORKS),
        (["schema"], WORKS),
        (["new", "first.yaml"], WORKS),
        (["workbook", "new", "first.xlsx"], WORKS),
        (["run", workbook, "--dry-run"], WORKS),
        (["prompt", talk, "--persona", "mara", "--stage", "before"], WORKS),
        (["kinds", "list"], WORKS),
        (["run", "tiny.yaml"], REFUSED),
    ]

    done = run_several(commands, tmp_path, PYTHONPATH=site)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "first.xlsx").exists()
    (told,) = done.stderr.splitlines()
    assert "WSL" in told
    assert "PARLEY_DATABASE_URL" in told


def test_a_given_database_takes_runs_and_gives_their_data_without_posix(
    site: str, tmp_path: Path, database_url: str
) -> None:
    commands = [(["run", "tiny.yaml", "--out", "results"], WORKS), (["runs"], WORKS)]

    ran = run_several(commands, tmp_path, PYTHONPATH=site, PARLEY_DATABASE_URL=database_url)

    assert "A tiny talk" in ran.stdout, ran.stderr
    assert list(tmp_path.glob("results/**/participants.csv"))
