"""What a new user types first: a demo, a file of their own, an endpoint that costs nothing."""

import inspect
import json
from pathlib import Path
from urllib.request import urlopen

import pytest

from parley_lab.cli.first_file import FIRST_FILE, SCHEMA
from parley_lab.cli.main import demo, run
from parley_lab.cli.testing import BeginFreshParley, Parley
from parley_lab.design import json_schema
from parley_lab.formats.demos import DEMOS, find_demo

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", DEMOS)
def test_every_demo_is_valid(parley: Parley, name: str) -> None:
    validated = parley("validate", find_demo(name))

    assert (validated.returncode, validated.stderr) == (0, "")


def test_every_file_in_the_folder_of_demos_is_a_demo() -> None:
    files = {file.name for file in (ROOT / "demos").iterdir() if file.suffix in {".yaml", ".xlsx"}}

    assert files == {demo.file for demo in DEMOS.values()}


def test_a_demo_takes_the_options_of_run() -> None:
    options = list(inspect.signature(run).parameters.values())[1:]

    assert list(inspect.signature(demo).parameters.values())[1:] == options


def test_a_demo_ends_with_its_data(parley: Parley, tmp_path: Path) -> None:
    ran = parley("demo", "--out", "data")

    assert ran.returncode == 0, ran.stderr
    assert "The data are in data" in ran.stdout.splitlines()[-1]
    (folder,) = (tmp_path / "data" / "quiet-streets").iterdir()
    assert json.loads((folder / "data.json").read_text())["experiment"]["status"] == "ended"


def test_a_demo_that_does_not_exist_is_refused_with_those_that_do(parley: Parley) -> None:
    refused = parley("demo", "dictator")

    assert refused.returncode == 2
    assert refused.stderr == f"There is no demo 'dictator'. There are: {', '.join(DEMOS)}.\n"


def test_a_first_file_is_valid_and_names_the_schema_beside_it(parley: Parley, tmp_path: Path) -> None:
    written = parley("new", "bus.yaml")

    assert written.returncode == 0, written.stderr
    assert parley("validate", "bus.yaml").returncode == 0
    assert (tmp_path / "bus.yaml").read_text().splitlines()[0] == f"# yaml-language-server: $schema={SCHEMA}"
    assert json.loads((tmp_path / SCHEMA).read_text()) == json_schema()


@pytest.mark.parametrize(("name", "told"), [("bus.yaml", "exists already"), ("bus.xlsx", "parley workbook new")])
def test_a_first_file_replaces_nothing(parley: Parley, tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / name).write_text("mine")

    refused = parley("new", name)

    assert refused.returncode == 2
    assert told in refused.stderr
    assert (tmp_path / name).read_text() == "mine"


def test_the_readme_shows_the_first_file() -> None:
    assert f"```yaml\n{FIRST_FILE}```" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_fake_endpoint_takes_its_own_options(begin_fresh_parley: BeginFreshParley) -> None:
    process = begin_fresh_parley("fake-endpoint", "--port", "0")
    assert process.stdout is not None
    address = process.stdout.readline().rpartition("=")[2].strip()

    with urlopen(f"{address.removesuffix('/v1')}/stats") as answer:
        assert json.loads(answer.read())["calls"] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["words", "--language", "fr"], "'en', 'de', 'es', 'ar'"),
        (["demo", "--patience", "inf"], "less than or equal to 525600"),
        (["demo", "--patience", "nan"], "less than or equal to 525600"),
        (["doctor", "--disk", "absent"], "'absent' does not exist"),
        (["keys", "create", "ana", "--days", "9999999"], "less than or equal to 36500"),
        (["doctor", "--data-dir", "typo"], "There is no lab in typo. Make one with parley up"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_a_value_that_no_option_takes_is_refused_with_those_that_it_takes(
    parley: Parley, tmp_path: Path, words: list[str], told: str
) -> None:
    refused = parley(*words)

    assert refused.returncode == 2
    assert told in " ".join(refused.stderr.split())
    assert "Traceback" not in refused.stderr
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "words",
    [["runs"], ["console"], ["keys", "list"], ["watch", "abc"], ["link", "abc"], ["stop", "abc"], ["export", "abc"]],
    ids=lambda words: words[0],
)
def test_a_command_about_a_lab_says_that_there_is_none_and_makes_none(
    parley: Parley, tmp_path: Path, words: list[str]
) -> None:
    asked = parley(*words, "--data-dir", tmp_path / "nothing")

    assert asked.returncode == 2
    assert asked.stderr.startswith(f"There is no lab in {tmp_path / 'nothing'}. Make one with parley up")
    assert not (tmp_path / "nothing").exists()
