"""A run says how many tests it has left out, and why."""

import pytest

TESTS = """
import pytest

@pytest.mark.docker
def test_container(): pass

@pytest.mark.parametrize("_", range(3))
def test_skipped(_): pytest.skip("no RabbitMQ")

def test_run(): pass
"""


@pytest.mark.parametrize("processes", [[], ["-n", "2"]])
def test_what_is_left_out_is_counted_by_reason(pytester: pytest.Pytester, processes: list[str]) -> None:
    pytester.makepyprojecttoml('[tool.pytest]\nasyncio_default_fixture_loop_scope = "function"\nmarkers = ["docker"]\n')
    pytester.makepyfile(TESTS)

    run = pytester.runpytest_subprocess if processes else pytester.runpytest
    result = run(*processes, "-p", "parley_lab.testing.left_out", "-p", "no:cacheprovider", "-m", "not docker")

    result.stdout.fnmatch_lines(["*4 tests were left out*", "*3 *no RabbitMQ*", "*1 marked docker*"])


def test_a_run_that_leaves_nothing_out_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[tool.pytest]\nasyncio_default_fixture_loop_scope = "function"\n')
    pytester.makepyfile("def test_run(): pass")

    result = pytester.runpytest("-p", "parley_lab.testing.left_out", "-p", "no:cacheprovider")

    assert "left out" not in result.stdout.str()
