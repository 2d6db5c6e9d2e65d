"""A pytest plugin: the modules of a run are compiled once, before its processes begin.

In a fresh clone each process would compile all of them at the same time as the others.
"""

import compileall
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc_fp, get_cache_dir

FEW: Final = 50
"""So many files that are not compiled are left to the processes that import them."""
_REWRITTEN: Final = ("test_*.py", "conftest.py")
"""Pytest compiles these itself, with words for each assertion that fails."""
_LEFT_OUT: Final = {"node_modules", "__pycache__"}


# First, before xdist starts its processes.
@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    is_first_of_several = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if is_first_of_several and not sys.dont_write_bytecode:
        compile_all(config.rootpath / argument.partition("::")[0] for argument in config.args)


def compile_all(folders: Iterable[Path]) -> int:
    """Compile what has changed in these folders, with all processors; how many files. A few are not worth it."""
    stale = [file for folder in folders for file in _modules_in(folder) if _is_stale(file)]
    if len(stale) <= FEW:
        return 0
    processors = os.cpu_count() or 1
    compiling = [_begin(stale[number::processors]) for number in range(processors)]
    for process in compiling:
        process.wait()
    return len(stale)


def _begin(files: Sequence[Path]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", f"from {__name__} import main; main()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write("\n".join(map(str, files)))
    return process


def _modules_in(folder: Path) -> Iterable[Path]:
    for place, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in _LEFT_OUT and not name.startswith(".")]
        yield from (Path(place) / file for file in files if file.endswith(".py"))


def _is_stale(file: Path) -> bool:
    compiled = _cache_of(file)
    return not compiled.exists() or compiled.stat().st_mtime < file.stat().st_mtime


def _cache_of(file: Path) -> Path:
    tail = PYC_TAIL if _is_rewritten(file) else f".{sys.implementation.cache_tag}.pyc"
    return get_cache_dir(file) / (file.stem + tail)


def _is_rewritten(file: Path) -> bool:
    return any(fnmatch(file.name, pattern) for pattern in _REWRITTEN)


def main() -> None:
    """Compile the files that are named at stdin."""
    _compile(list(map(Path, sys.stdin.read().splitlines())))


def _compile(files: Sequence[Path]) -> None:
    for file in files:
        if not _is_rewritten(file):
            compileall.compile_file(file, quiet=2)
            continue
        try:
            source_hash, code = _rewrite_test(file, None)  # type: ignore[arg-type]  # as without options
        except SyntaxError:
            continue  # the process that imports it tells where
        compiled = _cache_of(file)
        compiled.parent.mkdir(parents=True, exist_ok=True)
        unfinished = compiled.with_suffix(f".{os.getpid()}")
        with unfinished.open("wb") as written:
            _write_pyc_fp(written, source_hash, code)
        unfinished.replace(compiled)
