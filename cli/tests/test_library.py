"""The persona library on the command line, and experiments that take their personas from it."""

import signal
from pathlib import Path

import pytest

from parley_lab.cli.testing import BeginParley, Parley, line_with

LIBRARY = """
parley: 1
personas:
  - {id: lia, profile: {name: Lia}, text: You keep the books of the town., chat: {max_responses: 1}}
  - {id: leo, model: {provider: crewai, model: openai/some}}
"""
TALK = """
parley: 1
name: A talk with Lia
seed: 0
stages: [{id: talk, kind: group_chat}]
personas: [{id: ada, profile: {name: Ada}, chat: {max_responses: 1}}]
cohorts: [{seats: [{persona: ada}], mediators: [lia]}]
"""


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    (tmp_path / "library.yaml").write_text(LIBRARY)
    path = tmp_path / "talk.yaml"
    path.write_text(TALK)
    return path


def test_without_a_lab_a_valid_file_says_which_personas_it_expects(parley: Parley, talk: Path, tmp_path: Path) -> None:
    result = parley("validate", talk)

    assert (result.returncode, result.stderr) == (3, "")
    assert f"{talk} is valid, if the library has: lia." in result.stdout
    assert not (tmp_path / ".parley").exists()


def test_what_is_wrong_whatever_the_library_has_is_told_before_anything_starts(
    parley: Parley, talk: Path, tmp_path: Path
) -> None:
    talk.write_text(TALK.replace("group_chat", "seance"))

    result = parley("run", talk)

    assert result.returncode == 2
    assert "line 5, stages[0] (talk).kind" in result.stderr
    assert not (tmp_path / ".parley").exists()


def test_a_name_that_is_nearly_one_of_the_file_is_an_error(parley: Parley, talk: Path) -> None:
    talk.write_text(TALK.replace("lia", "adda"))

    result = parley("validate", talk)

    assert result.returncode == 2
    assert "there is no persona called 'adda'. Did you mean ada?" in result.stderr


def test_a_directory_without_a_lab_has_no_library(parley: Parley, talk: Path, tmp_path: Path) -> None:
    result = parley("validate", talk, "--data-dir", "nowhere")

    assert result.returncode == 2
    assert "There is no lab in nowhere, so no library that could have: lia." in result.stderr
    assert not (tmp_path / "nowhere").exists()


def test_an_experiment_is_no_persona_file(parley: Parley, talk: Path, tmp_path: Path) -> None:
    refused, absent = parley("personas", "import", talk), parley("personas", "import", "tlak.yaml")

    assert (refused.returncode, absent.returncode) == (2, 2)
    assert "It is an experiment file; a persona file has `parley` and `personas` only." in refused.stderr
    assert "Did you mean talk.yaml?" in absent.stderr
    assert not (tmp_path / ".parley").exists()


def test_a_persona_file_with_a_problem_is_refused_before_anything_starts(parley: Parley, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("parley: 1\npersonas: [{id: ada, txt: Hello}]\n")

    result = parley("personas", "import", "bad.yaml")

    assert result.returncode == 2
    assert "line 2, personas[0] (ada): there is no field txt. Did you mean text?" in result.stderr
    assert not (tmp_path / ".parley").exists()


@pytest.mark.postgres
def test_a_library_is_filled_listed_used_and_given_away(
    parley: Parley, talk: Path, tmp_path: Path, data_dir: Path
) -> None:
    lab = ("--data-dir", data_dir)

    missing = parley("run", talk, *lab)
    first = parley("personas", "import", "library.yaml", *lab)
    second = parley("personas", "import", "library.yaml", *lab)
    listed = parley("personas", "list", *lab)
    validated = parley("validate", talk, *lab)
    exported = parley("personas", "export", "--out", "all.json", *lab)
    again = parley("personas", "import", "all.json", *lab)
    on_screen = parley("personas", "export", *lab)
    ran = parley("run", talk, *lab)

    assert missing.returncode == 2
    assert "cohorts[0].mediators[0]: there is no persona called 'lia'" in missing.stderr
    assert "Traceback" not in missing.stderr + ran.stderr
    assert first.stdout == "library.yaml: 2 created, 0 replaced, 0 unchanged.\n"
    assert second.stdout == again.stdout.replace("all.json", "library.yaml")
    assert second.stdout == "library.yaml: 0 created, 0 replaced, 2 unchanged.\n"
    assert listed.stdout.splitlines() == [
        "leo  openai/some",
        "lia  Lia  gpt-4.1-mini  You keep the books of the town.",
    ]
    assert (validated.returncode, len(validated.stdout.splitlines())) == (0, 1)
    assert exported.returncode == 0
    assert on_screen.stdout.startswith("parley: 1\npersonas:\n- id: leo\n")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    [data] = (tmp_path / "results").glob("*/*/data.json")
    assert "You keep the books of the town." in data.read_text()


@pytest.mark.postgres
def test_models_of_the_library_go_through_the_gate_too(parley: Parley, talk: Path, data_dir: Path) -> None:
    talk.write_text(TALK.replace("mediators: [lia]", "mediators: [leo]"))
    parley("personas", "import", "library.yaml", "--data-dir", data_dir)

    result = parley("run", talk, "--models", "real", "--data-dir", data_dir, OPENAI_API_KEY="any text")

    assert result.returncode == 2
    assert "No worker of this lab serves the models of provider 'crewai/openai'" in result.stderr


@pytest.mark.postgres
def test_a_run_goes_on_with_the_personas_that_it_began_with(
    parley: Parley, begin_parley: BeginParley, talk: Path, tmp_path: Path, data_dir: Path
) -> None:
    talk.write_text(TALK.replace("{persona: ada}", "{persona: ada}, {open: true}"))

    def run_until_it_waits(*options: str) -> str:
        run = begin_parley("run", talk, "--data-dir", data_dir, "--port", "0", *options)
        before = line_with(run, "Going on with the run") if options else ""
        line_with(run, "Waiting for 1 person")
        run.send_signal(signal.SIGINT)
        return before + run.communicate()[0]

    parley("personas", "import", "library.yaml", "--data-dir", data_dir)
    run_until_it_waits()
    (tmp_path / "changed.yaml").write_text(LIBRARY.replace("keep the books", "sell books"))
    parley("personas", "import", "changed.yaml", "--data-dir", data_dir)

    told = run_until_it_waits("--resume")

    assert "Going on with the run" in told
    [data] = (tmp_path / "results").glob("*/*/data.json")
    assert "You keep the books" in data.read_text()
    assert "sell books" not in data.read_text()


def test_an_arena_is_seeded_once_however_often_and_gives_its_agents_away(
    parley: Parley, tmp_path: Path, data_dir: Path
) -> None:
    where = ("--data-dir", str(data_dir))
    assert "16 created, 0 replaced, 0 unchanged" in parley("arena", "seed", *where).stdout
    assert "0 created, 0 replaced, 16 unchanged" in parley("arena", "seed", *where).stdout
    agent = tmp_path / "agent.yaml"
    agent.write_text(parley("arena", "export", "--id", "selfish-agent", *where).stdout, encoding="utf-8")
    again = parley("arena", "import", str(agent), "--id", "selfish-agent", *where)
    assert "0 created, 0 replaced, 1 unchanged" in again.stdout
