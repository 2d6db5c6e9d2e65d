"""The modules of a run are compiled once, as pytest would."""

from pathlib import Path

import pytest

from parley_lab.testing.compiled import FEW, compile_all

MANY = FEW + 10


@pytest.fixture
def files(pytester: pytest.Pytester) -> dict[Path, Path]:
    """Modules of tests, and where pytest looks for each one compiled."""
    pytester.makepyprojecttoml('[tool.pytest]\nasyncio_default_fixture_loop_scope = "function"\n')
    folder = pytester.mkdir("rules")
    made = [folder / f"test_rule_{number}.py" for number in range(MANY)]
    for file in made:
        file.write_text("def test_rule():\n    assert [1, 2] == [1, 3]\n")
    return {file: folder / "__pycache__" / f"{file.stem}{_tail()}" for file in made}


def _tail() -> str:
    import sys

    return f".{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"


def test_pytest_takes_what_is_compiled_and_shows_what_was_compared(
    pytester: pytest.Pytester, files: dict[Path, Path]
) -> None:
    assert compile_all([pytester.path]) == MANY
    before = {compiled: compiled.stat().st_ino for compiled in files.values()}

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(failed=MANY)
    result.stdout.fnmatch_lines(["*assert [[]1, 2[]] == [[]1, 3[]]*", "*At index 1 diff: 2 != 3*"])
    assert {compiled: compiled.stat().st_ino for compiled in files.values()} == before


def test_only_what_has_changed_is_compiled_and_a_few_files_are_left(
    pytester: pytest.Pytester, files: dict[Path, Path]
) -> None:
    compile_all([pytester.path])
    assert compile_all([pytester.path]) == 0
    for compiled in list(files.values())[: FEW + 1]:
        compiled.unlink()
    assert compile_all([pytester.path]) == FEW + 1

    for compiled in list(files.values())[:FEW]:
        compiled.unlink()
    assert compile_all([pytester.path]) == 0


def test_a_file_that_cannot_be_read_is_left_to_the_run(pytester: pytest.Pytester, files: dict[Path, Path]) -> None:
    first = next(iter(files))
    first.write_text("def test_rule(:\n")

    assert compile_all([pytester.path]) == MANY

    assert not files[first].exists()
    assert all(compiled.exists() for compiled in list(files.values())[1:])


@pytest.mark.parametrize("processes", [["-n", "2"], pytest.param([], marks=pytest.mark.long)], ids=["several", "one"])
def test_a_run_of_several_processes_compiles_first(
    pytester: pytest.Pytester, files: dict[Path, Path], processes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)

    pytester.runpytest_subprocess(
        *processes, "-p", "parley_lab.testing.compiled", "-p", "no:cacheprovider", "-k", "rule_1", "--rootdir=.", "."
    )

    assert all(compiled.exists() for compiled in files.values())
