"""What `PARLEY_FORBID_SKIPS=1` does to a run."""

import pytest

from parley_lab.testing.no_skips import FORBID_SKIPS_VARIABLE

SKIPPING_TEST = """
    import pytest

    def test_passes(): pass

    @pytest.mark.skip(reason="no engine here")
    def test_left_out(): pass
"""


def run(pytester: pytest.Pytester) -> pytest.RunResult:
    return pytester.runpytest("-p", "parley_lab.testing.no_skips", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def fixture_loop_scope(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[tool.pytest]\nasyncio_default_fixture_loop_scope = "function"\n')


@pytest.fixture
def skips_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORBID_SKIPS_VARIABLE, "1")


def test_skips_are_allowed_by_default(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FORBID_SKIPS_VARIABLE, raising=False)
    pytester.makepyfile(SKIPPING_TEST)

    assert run(pytester).ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("skips_forbidden")
def test_a_skipped_test_fails_the_run_and_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SKIPPING_TEST)

    result = run(pytester)

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*::test_left_out: *no engine here"])


@pytest.mark.usefixtures("skips_forbidden")
def test_a_skipped_module_fails_the_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_absent="import pytest\npytest.importorskip('not_installed')", test_there="def test_a(): pass"
    )

    assert run(pytester).ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.usefixtures("skips_forbidden")
def test_an_expected_failure_fails_the_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.xfail(reason='later')\ndef test_later(): assert False")

    result = run(pytester)

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*::test_later: xfailed: later"])


@pytest.mark.usefixtures("skips_forbidden")
def test_a_run_without_skips_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_passes(): pass")

    assert run(pytester).ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("skips_forbidden")
def test_folders_may_have_fixtures_of_their_own(pytester: pytest.Pytester) -> None:
    for folder in ("first", "second"):
        pytester.mkdir(folder)
        pytester.path.joinpath(folder, "conftest.py").write_text("")
        pytester.path.joinpath(folder, f"test_{folder}.py").write_text("def test_passes(): pass")

    assert run(pytester).ret == pytest.ExitCode.OK
