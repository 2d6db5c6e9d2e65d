"""Make each change in a copy of the sources, run the tests that decide its rule, and name the changes none noticed.

python -m tests.mutants              # all
python -m tests.mutants leases seat  # those whose rule or file has one of these words
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.mutants.changes import CHANGES, Change

ROOT: Final = Path(__file__).parents[2]
_SECONDS: Final = 600
_FAILED: Final = 1
"""How pytest ends when a test has failed; it ends otherwise when it could not run them."""


class CannotDecide(Exception):
    """The tests of a change could not be run, or fail without it."""


def main(words: Sequence[str]) -> int:
    chosen = [change for change in CHANGES if _is_wanted(change, words)]
    with tempfile.TemporaryDirectory(prefix="parley-mutants-") as folder:
        copy = Path(folder) / "copy"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", copy], cwd=ROOT, check=True)
        try:
            survived = [change for change in chosen if not _is_noticed(change, copy)]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", copy], cwd=ROOT, check=True)
    print(f"{len(chosen) - len(survived)} of {len(chosen)} changes were noticed.")
    for change in survived:
        print(f"NOT NOTICED: {change.rule} ({change.file})")
    return 1 if survived else 0


def _is_wanted(change: Change, words: Sequence[str]) -> bool:
    return not words or any(word in f"{change.rule} {change.file}" for word in words)


def _is_noticed(change: Change, copy: Path) -> bool:
    source = copy / change.file
    original = source.read_text()
    source.write_text(original.replace(change.before, change.after))
    try:
        code = _run_tests(change, copy)
    finally:
        source.write_text(original)
    print(f"{'noticed' if code else 'NOT NOTICED'}: {change.rule}", flush=True)
    return code != 0


def _run_tests(change: Change, copy: Path) -> int:
    """How pytest ends: 0 when all tests passed, 1 when one failed. The copy comes before what is installed."""
    sources = sorted({str(path.parent) for path in copy.glob("**/src/parley_lab")})
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sources)}
    # A change that makes a test wait for ever is noticed, too.
    options = [
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "-m",
        "not long and not crewai and not docker",
    ]
    command = [sys.executable, "-m", "pytest", *options, *change.tests]
    try:
        ended = subprocess.run(
            command, cwd=copy, env=environ, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return _FAILED
    if ended.returncode not in (0, _FAILED):
        raise CannotDecide(f"The tests of this change could not run: {change.rule}\n{ended.stdout[-2000:]}")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
