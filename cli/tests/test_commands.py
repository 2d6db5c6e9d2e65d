"""What the command line says without starting a lab: versions, checks, refusals."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from parley_lab.base.errors import SettingsInvalid
from parley_lab.cli.environment import read_dotenv
from parley_lab.cli.experiment_run import failed_lines
from parley_lab.experiments.following import Failed
from parley_lab.formats.testing.workbooks import base_values, task_row, with_setting, with_tasks, xlsx_of
from parley_lab.testing.pause_kind import PAUSE, write_kind

Parley = Callable[..., "subprocess.CompletedProcess[str]"]

GOOD = """
parley: 1
name: A talk
seed: 0
model_mode: real
stages:
  - {id: talk, kind: group_chat}
personas:
  - {id: ada, profile: {name: Ada}}
cohorts:
  - seats: [{persona: ada, count: 2}]
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    return path


def test_version_is_told(parley: Parley) -> None:
    assert parley("--version").stdout.startswith("parley 0")


def test_schema_is_json_schema(parley: Parley) -> None:
    assert "properties" in json.loads(parley("schema").stdout)


def test_a_valid_file_is_called_valid(parley: Parley, good: Path) -> None:
    result = parley("validate", good)

    assert (result.returncode, result.stderr) == (0, "")
    assert "good.yaml is valid: 'A talk', stages: 1, treatments: 0, cohorts: 1, participants: 2." in result.stdout


@pytest.mark.parametrize("command", [("validate",), ("run",), ("up", "--experiment")])
def test_an_invalid_file_is_refused_with_all_problems_before_anything_starts(
    parley: Parley, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "bad.yaml").write_text("parley: 1\nname: Bad\nstages: [{id: a, kind: nonsense}]\ncohorts: []\n")

    result = parley(*command, "bad.yaml")

    assert result.returncode == 2
    assert "stages[0]" in result.stderr
    assert "cohorts" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / ".parley").exists()


def test_a_file_that_is_not_there_is_refused(parley: Parley) -> None:
    result = parley("run", "absent.yaml")

    assert result.returncode == 2
    assert "absent.yaml cannot be read: No such file" in result.stderr


def test_a_provider_that_is_not_installed_is_refused_before_anything_starts(parley: Parley, good: Path) -> None:
    good.write_text(GOOD.replace("{id: ada,", "{id: ada, model: {provider: crewai, model: openai/some},"))

    result = parley("run", good, OPENAI_API_KEY="any text")

    assert result.returncode == 2
    assert "No worker of this lab serves the models of provider 'crewai/openai'" in result.stderr
    assert not (good.parent / ".parley").exists()


def test_real_models_without_their_key_are_refused_before_anything_starts(
    parley: Parley, good: Path, tmp_path: Path
) -> None:
    result = parley("run", good)

    assert result.returncode == 2
    assert "OPENAI_API_KEY is not set" in result.stderr
    assert not (tmp_path / ".parley").exists()


def test_dotenv_is_read_and_does_not_win_over_what_is_set(parley: Parley, good: Path, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("LLM_USE_MOCK=true\nOPENAI_API_KEY=secret-text\n")

    switched_off = parley("run", good)
    key_missing = parley("run", good, LLM_USE_MOCK="false", OPENAI_API_KEY="")

    assert switched_off.returncode == key_missing.returncode == 2
    assert "LLM_USE_MOCK is set" in switched_off.stderr
    assert "OPENAI_API_KEY is not set" not in switched_off.stderr
    assert "OPENAI_API_KEY is not set" in key_missing.stderr
    assert "LLM_USE_MOCK is set" not in key_missing.stderr
    assert "secret-text" not in switched_off.stderr + switched_off.stdout


def test_dotenv_as_powershell_writes_it_is_read(parley: Parley, good: Path, tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes("LLM_USE_MOCK=true\r\n".encode("utf-16"))

    assert "LLM_USE_MOCK is set" in parley("run", good).stderr


@pytest.mark.parametrize("content", [b"KEY=\x81\x8d\n", "KEY=secret\n".encode("utf-16-le")])
def test_dotenv_in_another_encoding_is_refused_in_a_line(parley: Parley, tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".env").write_bytes(content)

    refused = parley("schema")

    assert refused.returncode == 2
    assert refused.stderr == f"{tmp_path / '.env'} cannot be read: it is not in UTF-8. Save it in UTF-8.\n"


def test_dotenv_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").touch()

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(SettingsInvalid, match=r"\.env cannot be read: Permission denied"):
        read_dotenv(tmp_path)


def test_nothing_to_resume_is_said(parley: Parley, good: Path, tmp_path: Path) -> None:
    result = parley("run", good, "--resume")

    assert result.returncode == 2
    assert "There is nothing to resume" in result.stderr
    assert not (tmp_path / ".parley").exists()


def test_a_wrong_address_of_a_server_is_named(parley: Parley, good: Path) -> None:
    result = parley("run", good, "--models", "mock", PARLEY_DATABASE_URL="mysql://secret@host/name")

    assert result.returncode == 2
    assert "PARLEY_DATABASE_URL" in result.stderr
    assert "secret" not in result.stderr


def test_a_table_of_personas_lies_beside_its_file(parley: Parley, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "people.csv").write_text("id\nada\nbob\n")
    (folder / "people.csv").write_text("id\nada\nbob\n")
    text = GOOD.replace("{persona: ada, count: 2}", "{each_row: true}").replace("personas:\n  - {id: ada", "unused: {#")
    text = "\n".join(line for line in text.splitlines() if "unused" not in line)
    (folder / "good.yaml").write_text(f"{text}\npersonas_from: {{file: people.csv}}\n")
    (folder / "bad.yaml").write_text(f"{text}\npersonas_from: {{file: ../people.csv}}\n")

    assert "participants: 2." in parley("validate", folder / "good.yaml").stdout
    refused = parley("validate", folder / "bad.yaml")
    assert refused.returncode == 2
    assert "personas_from.file" in refused.stderr


def test_a_new_workbook_is_valid_as_it_is_and_never_written_over_another_file(parley: Parley, tmp_path: Path) -> None:
    written = parley("workbook", "new", "my.xlsx")
    content = (tmp_path / "my.xlsx").read_bytes()

    assert (written.returncode, written.stderr) == (0, "")
    assert "my.xlsx is valid: 'my_experiment', experiments: 2, sessions: 1" in parley("validate", "my.xlsx").stdout
    assert parley("workbook", "new", "my.xlsx").returncode == 2
    assert (tmp_path / "my.xlsx").read_bytes() == content


def test_all_problems_of_a_workbook_are_told_with_their_cells(parley: Parley, tmp_path: Path) -> None:
    values = with_setting(base_values(), temperature="hot")
    values["treatments"][1][0] = None
    (tmp_path / "bad.xlsx").write_bytes(xlsx_of(values))

    result = parley("validate", "bad.xlsx")

    assert result.returncode == 2
    told = "experimental_setting!B5: the temperature is no number (found 'hot'). Type a number from 0 to 2."
    assert told in result.stderr
    assert "treatments!A2: the label is missing. Type a short label of its own." in result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_of_csv_files_is_a_workbook(parley: Parley, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    for name, rows in base_values().items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)

    assert "sessions: 4, tasks: 1" in parley("validate", "tables").stdout
    (folder / "constants.csv").unlink()
    assert "the sheet constants is missing" in parley("validate", "tables").stderr


def test_agents_that_people_cannot_follow_are_warned_of_and_forgiven(parley: Parley, tmp_path: Path) -> None:
    quick = GOOD.replace("model_mode: real", "pace: live").replace("seats: [", "seats: [{open: true}, ")
    (tmp_path / "quick.yaml").write_text(quick)

    validated = parley("validate", "quick.yaml")

    assert validated.returncode == 0
    assert validated.stderr.startswith("Warning: line 7, stages[0] (talk): agents answer at once")


def test_warnings_about_a_workbook_are_told_and_forgiven(parley: Parley, tmp_path: Path) -> None:
    (tmp_path / "odd.xlsx").write_bytes(xlsx_of(with_setting(base_values(), model_info="llama-9")))

    result = parley("validate", "odd.xlsx")

    assert result.returncode == 0
    assert "Warning: experimental_setting!B3" in result.stderr


def test_a_workbook_is_validated_as_it_will_be_drawn(parley: Parley, tmp_path: Path) -> None:
    values = with_tasks(task_row("t1", type="discussion", llm_text="{'A': 'a?', 'Nobody': 'n?'}"))
    (tmp_path / "talk.xlsx").write_bytes(xlsx_of(values))

    as_reference, as_parley = parley("validate", "talk.xlsx"), parley("validate", "talk.xlsx", "--draws", "parley")

    assert as_reference.returncode == 0
    assert as_parley.returncode == 2
    assert "there is no role 'Nobody'" in as_parley.stderr


@pytest.mark.parametrize("name", ["absent.xlsx", "notes.xlsx"])
def test_what_is_no_workbook_is_refused(parley: Parley, tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.xlsx").write_text("not a workbook")

    result = parley("validate", name)

    assert result.returncode == 2
    assert name in result.stderr
    assert "Traceback" not in result.stderr


def test_a_dry_run_tells_what_a_workbook_would_run(parley: Parley, tmp_path: Path) -> None:
    values = base_values()
    values["constants"].append(["tokens", "[5, 10]"])
    (tmp_path / "game.xlsx").write_bytes(xlsx_of(values))

    result = parley("run", "game.xlsx", "--dry-run", "--people", "A", "--people", "2/B", "--sessions", "3")

    assert result.returncode == 0, result.stderr
    assert "demo_2: model gpt-4o-mini, seed 42; tokens = 10" in result.stdout
    # Two permutations of three sessions of three, each asked once; four of each nine are people.
    assert "6 sessions, 18 turns, 10 calls (at most 10" in result.stdout
    assert not (tmp_path / ".parley").exists()


def test_seats_that_are_not_there_are_refused_with_those_that_are(parley: Parley, tmp_path: Path) -> None:
    (tmp_path / "game.xlsx").write_bytes(xlsx_of(base_values()))

    result = parley("run", "game.xlsx", "--models", "mock", "--people", "9/A", "--people", "Facilitator")

    assert result.returncode == 2
    for seat in ("9/A", "Facilitator"):
        expected = "one of A, B, C, alone or after a session (0, 1, 2, 3) and '/'"
        assert f"there is no such seat (found {seat!r}). Type {expected}." in result.stderr
    assert not (tmp_path / ".parley").exists()


@pytest.mark.parametrize("option", [("--dry-run",), ("--people", "A"), ("--sessions", "1")])
def test_options_of_workbooks_are_refused_for_experiment_files(
    parley: Parley, good: Path, option: tuple[str, ...]
) -> None:
    result = parley("run", good, *option, "--models", "mock")

    assert result.returncode == 2
    assert "for workbooks" in result.stderr


TALK = """
parley: 1
name: A talk
seed: 0
stages:
  - {id: welcome, kind: info, lines: [Welcome]}
  - {id: talk, kind: group_chat, description: "Talk about {{what}}."}
personas: [{id: ada, profile: {name: Ada}, text: You drive a taxi.}]
cohorts: [{seats: [{persona: ada}, {open: true}]}]
treatments: [{id: bus, variables: {what: the bus}}, {id: tax, variables: {what: the tax}}]
"""


def test_a_prompt_is_shown_without_a_lab(parley: Parley, tmp_path: Path) -> None:
    (tmp_path / "talk.yaml").write_text(TALK)
    asked = ("prompt", "talk.yaml", "--persona", "ada", "--stage", "talk")
    with_one_cohort = parley(*asked)
    arm = "bus" if "Talk about the bus." in with_one_cohort.stdout else "tax"

    same = parley(*asked, "--treatment", arm)
    other = parley(*asked, "--treatment", "tax" if arm == "bus" else "bus")
    nothing = parley("prompt", "talk.yaml", "--persona", "ada", "--stage", "welcome")

    for part in ("=== system ===", "=== user ===", "You drive a taxi.", "Participant 2", "Welcome", '"shouldRespond"'):
        assert part in with_one_cohort.stdout
    assert same.stdout == with_one_cohort.stdout
    assert other.returncode == nothing.returncode == 2
    assert "No cohort of the treatment" in other.stderr
    assert nothing.stderr == "Nothing is asked of a model here. 'ada' is asked on: talk.\n"
    assert not (tmp_path / ".parley").exists()


def test_a_prompt_of_a_file_without_a_seed_says_which_one_it_drew(parley: Parley, tmp_path: Path) -> None:
    (tmp_path / "talk.yaml").write_text(TALK.replace("seed: 0\n", ""))
    asked = ("prompt", "talk.yaml", "--persona", "ada", "--stage", "talk")

    drawn = parley(*asked)
    seed = drawn.stderr.partition("--seed ")[2].split()[0]
    again = parley(*asked, "--seed", seed)
    arms = {"the bus." in parley(*asked, "--seed", str(number)).stdout for number in range(5)}

    assert (again.stdout, again.stderr) == (drawn.stdout, "")
    assert arms == {True, False}


@pytest.mark.parametrize(
    ("persona", "stage", "more", "told"),
    [
        ("adda", "talk", (), "has a seat with the persona 'adda'. Did you mean ada?"),
        ("ada", "tlak", (), "There is no stage 'tlak' here. Did you mean talk?"),
        ("ada", "talk", ("--treatment", "buss"), "There is no treatment 'buss' in this experiment. Did you mean bus?"),
    ],
)
def test_what_there_is_is_said_when_a_prompt_cannot_be_shown(
    parley: Parley, tmp_path: Path, persona: str, stage: str, more: tuple[str, ...], told: str
) -> None:
    (tmp_path / "talk.yaml").write_text(TALK)

    result = parley("prompt", "talk.yaml", "--persona", persona, "--stage", stage, *more)

    assert result.returncode == 2
    assert told in result.stderr


def test_what_many_have_in_common_is_told_once() -> None:
    failed = [Failed(f"c{number}/m1", "talk", "auth_error", f"c{number}") for number in range(1, 10)]

    lines = failed_lines([*failed, Failed("c1/m2", "after", "timeout", "c1")])

    assert lines == ["  c1/m1, c2/m1, c3/m1, c4/m1, c5/m1 and 4 more on talk: auth_error", "  c1/m2 on after: timeout"]


WITH_PAUSE = """
parley: 1
name: A pause
seed: 0
stages:
  - {id: rest, kind: pause, minutes: 3}
  - {id: after, kind: survey, questions: [{id: well, kind: text, title: Your rest}]}
personas: [{id: ada, profile: {name: Ada}}]
cohorts: [{seats: [{persona: ada}]}]
"""


@pytest.fixture
def pauses(tmp_path: Path) -> Path:
    """A folder with a kind from outside, and `pause.yaml` with a stage of it."""
    (tmp_path / "pause.yaml").write_text(WITH_PAUSE)
    return write_kind(tmp_path, PAUSE)


def test_commands_know_the_kinds_of_a_folder_and_none_without_it(
    parley: Parley, fresh_parley: Parley, pauses: Path
) -> None:
    assert fresh_parley("validate", "pause.yaml", "--kinds", "kinds").returncode == 0
    assert "PauseStage" in fresh_parley("schema", "--kinds", pauses).stdout
    shown = fresh_parley("prompt", "pause.yaml", "--kinds", "kinds", "--persona", "ada", "--stage", "after").stdout
    assert "A pause of 3 minutes." in shown

    without = parley("validate", "pause.yaml")
    assert without.returncode == 2
    assert "there is no kind called 'pause'. Known here: " in without.stderr


def test_a_run_has_stages_of_a_kind_from_a_folder(
    parley: Parley, fresh_parley: Parley, pauses: Path, data_dir: Path
) -> None:
    done = fresh_parley("run", "pause.yaml", "--kinds", pauses, "--data-dir", data_dir)
    run_id = next((pauses.parent / "results").glob("*/*")).name.rpartition("-")[2]

    assert done.returncode == 0, done.stderr
    exported = parley("export", run_id, "--data-dir", data_dir)
    assert exported.returncode == 1
    assert "This lab lacks kinds of its stages: pause. Give their folder with --kinds DIR" in exported.stderr
    assert "Traceback" not in exported.stderr
    assert fresh_parley("export", run_id, "--data-dir", data_dir, "--kinds", pauses).returncode == 0


def test_a_kind_that_keeps_its_promises_is_told_so(fresh_parley: Parley, pauses: Path) -> None:
    done = fresh_parley("kinds", "check", pauses)

    assert (done.returncode, done.stdout) == (0, "pause: all promises are kept.\n")
    assert f"pause: the folder {pauses / 'pause'}" in fresh_parley("kinds", "list", "--kinds", pauses).stdout


def test_a_kind_that_does_not_is_told_what_was_expected_and_how_to_see_it(fresh_parley: Parley, pauses: Path) -> None:
    (pauses / "pause" / "__init__.py").write_text(PAUSE.replace('f"A pause of {stage.minutes} minutes."', '""'))

    done = fresh_parley("kinds", "check", pauses, "--seed", "4")

    assert done.returncode == 1
    assert "expected: `prompt` to have a text for looking back" in done.stdout
    assert "again: --seed 4" in done.stdout
    assert "pause: 1 promise is not kept." in done.stdout


def test_a_folder_without_kinds_is_told_with_the_one_below_that_has_some(fresh_parley: Parley, pauses: Path) -> None:
    done = fresh_parley("kinds", "check", pauses.parent)

    assert done.returncode == 2
    assert f"There are no kinds in {pauses.parent}: a kind is a package in it" in done.stderr
    assert f"Did you mean {pauses}?" in done.stderr


def test_kinds_to_check_have_to_be_there(parley: Parley) -> None:
    assert parley("kinds", "check").stderr.startswith("No installed package brings kinds.")
    assert parley("kinds", "check", "--kind", "nothing").returncode == 2
