"""The data files of workbooks that were run: their shape, their content, and that all of them agree."""

import csv
import io
import os
import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import orjson
import pytest

from parley_lab.contracts.experiment import Source
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.design import Experiment
from parley_lab.formats.exports import export
from parley_lab.formats.testing.workbooks import Values, base_values, task_row, with_setting, workbook_of
from parley_lab.formats.workbook import compile_workbook
from parley_lab.gateway import archives
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

Row = dict[str, str]

GOLDEN = Path(__file__).parent / "golden" / "workbook"
RENEW = "PARLEY_RENEW_GOLDEN"
"""Set, the test writes what it finds and fails, so that the change can be looked at and committed."""
_HASHES = re.compile(r'"(file_hash|prompts_hash|software_version)": "[^"]*"')
"""They change with the wording of prompts, the fields of experiment files and releases."""

_PARTS = {"validate_response": 1, "generate_speculation_score": 1, "format_response": 1}


def study() -> Values:
    """Tasks of every type and options of every form, a constant with two values, a summarizer, a blank variable."""
    values = with_setting(base_values(), max_conversation_length=1000)
    values["agent_roles"].append(["Summarizer", "You sum up."])
    values["constants"].append(["coin", "['token', 'cent']"])
    values["treatments"][1][1] = "You play for {{coin}}s."
    fair = {"var_type": "category", "response_options": "['yes', 'no']", **_PARTS}
    give = {"var_type": "integer", "response_options": "(0, 10)", "is_adapted": 1, "human_text": "How much?", **_PARTS}
    some = "{'C': 'c?', 'A': 'a?', 'Summarizer': 'sum?'}"
    values["interview_prompts"][2:] = [
        task_row("talk", type="discussion", task_order=1, llm_text="Let us talk about {{coin}}s.", var_name=None),
        task_row("Q 2", type="public_question", task_order=2, var_name="fair", **fair),
        task_row("Q 3", task_order=3, var_name="give", **give),
        task_row("Q 4", task_order=4, var_name="share", var_type="float", response_options="(0.0, 1.0)"),
        task_row("news", type="context", task_order=5, llm_text="It rains."),
        task_row("Q 6", task_order=6, var_name="mood", llm_text=some, response_options="any word"),
    ]
    return values


REPLIES = {"talk": "Hello, *all*!\nLet us <see>.", "q-2": "Yes.", "q-3": "7.0", "q-4": "0.25", "q-6": "0012"}


class Scripted:
    """A model with a fixed reply to each task; `odd` are other replies, by the beginning of the path of the call."""

    def __init__(self, odd: dict[str, ModelReply | str] | None = None) -> None:
        self._odd = odd or {}
        self.requests: list[ModelRequest] = []

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        said = next((reply for path, reply in self._odd.items() if request.path.startswith(path)), None)
        if isinstance(said, ModelReply):
            return said
        _, _, rest = request.path.partition("/task:")
        fields: dict[str, Any] = {"response": said or REPLIES[rest.partition("/")[0]]}
        if "reasoning" in request.reply_schema["properties"]:
            fields["reasoning"] = "because"
        if "speculation_score" in request.reply_schema["properties"]:
            fields["speculation_score"] = 10
        raw = orjson.dumps(fields).decode()
        return ModelReply(status="ok", parsed=fields, raw=raw, model_returned="scripted", tokens_in=100, tokens_out=7)

    async def aclose(self) -> None:
        """Nothing is open."""


ODD: dict[str, ModelReply | str] = {
    "c1/m2/interview/task:q-3/": "about seven",
    "c1/m2/interview/task:q-4/": "a quarter",
    "c2/m1/interview/task:q-3/": ModelReply(status="auth_error", error="the key is not valid"),
}
"""Replies that are never valid in the first session, and a model that cannot be reached in the second."""


def experiments(values: Values, **options: Any) -> list[Experiment]:
    return [
        experiment.model_copy(update={"model_mode": "mock"})
        for experiment in compile_workbook(workbook_of(values), **options)
    ]


async def run(database: Database, experiment: Experiment, folder: Path, model: Scripted) -> Path:
    """The folder of the workbook's files."""
    lab = DrainLab(database, models={"mock": model})
    experiment_id = await lab.start(experiment.model_dump_json())
    await lab.drain()
    await export(database, experiment_id, folder, lab.clock.now())
    return folder / "workbook"


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def table(path: Path) -> list[Row]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"), newline="")))


async def test_the_files_of_a_small_workbook_are_as_they_always_were(database: Database, tmp_path: Path) -> None:
    found: dict[Path, str] = {}
    for experiment in experiments(study(), sessions=2):
        written = await run(database, experiment, made(tmp_path / experiment.name), Scripted(ODD))
        files = (path for path in sorted(written.rglob("*")) if path.is_file())
        found.update({Path(experiment.name, path.relative_to(written)): stable(path) for path in files})

    if os.environ.get(RENEW):
        renew(GOLDEN, found)
        pytest.fail(f"{GOLDEN} was renewed: look at what has changed.")

    assert {path.relative_to(GOLDEN) for path in GOLDEN.rglob("*") if path.is_file()} == set(found)
    for name, content in found.items():
        assert content == (GOLDEN / name).read_text("utf-8"), name


def stable(path: Path) -> str:
    """What no change of prompts changes."""
    text = path.read_text("utf-8")
    if path.name == "answers.csv":
        rows = [{**row, "prompt_hash": f"{len(row['prompt_hash'])} characters"} for row in table(path)]
        target = io.StringIO(newline="")
        writer = csv.DictWriter(target, rows[0])
        writer.writeheader()
        writer.writerows(rows)
        return target.getvalue().replace("\r\n", "\n")
    if path.suffix == ".json":
        value = orjson.loads(text)
        for session in value.get("sessions", {}).values() if path.parent.name == "workbook" else ():
            for agent in session["agents"].values():
                agent["message_history"] = [message["role"] for message in agent["message_history"]]
        return _HASHES.sub(r'"\1": ""', orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()) + "\n"
    return text.replace("\r\n", "\n")


def renew(folder: Path, found: dict[Path, str]) -> None:
    for name, content in found.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8", newline="\n")


async def test_a_row_of_the_wide_table_has_value_response_reasoning_and_score(
    database: Database, tmp_path: Path
) -> None:
    (experiment, _) = experiments(study(), sessions=1)

    written = await run(database, experiment, tmp_path, Scripted(ODD))

    rows = {row["role"]: row for row in table(written / "demo_1.csv")}
    assert list(rows) == ["C", "A", "B", "Summarizer"]
    assert [row["ID"] for row in rows.values()] == ["11", "10", "1", "Summarizer_0"]
    assert {(row["treatment_label"], row["treatment"], row["constant.coin"]) for row in rows.values()} == {
        ("ctl", "You play for tokens.", "token")
    }
    first = rows["C"]
    parts = ("", ".response", ".valid", ".reasoning", ".speculation_score")
    assert [first[f"give{part}"] for part in parts] == ["7", "7.0", "true", "because", "10"]
    assert [first[f"fair{part}"] for part in parts] == ["yes", "Yes.", "true", "because", "10"]
    assert (first["share"], first["share.response"], "share.reasoning" in first) == ("0.25", "0.25", False)
    assert first["talk"] == REPLIES["talk"]
    assert (rows["B"]["mood"], first["mood"]) == ("", "0012")
    invalid = rows["A"]
    assert [invalid[f"give{part}"] for part in parts[:3]] == ["", "about seven", "false"]
    assert [invalid[f"share{part}"] for part in parts[:3]] == ["", "a quarter", "false"]


async def test_a_system_message_in_the_data_is_what_the_model_was_told(database: Database, tmp_path: Path) -> None:
    (experiment, _) = experiments(study(), sessions=1)
    model = Scripted()

    written = await run(database, experiment, tmp_path, model)

    by_path = {row["member_path"]: row["role"] for row in table(written / "tidy" / "answers.csv")}
    messages = {row["role"]: row["system_message"] for row in table(written / "demo_1.csv")}
    assert len(messages) == 4
    for request in model.requests:
        role = by_path[request.path.partition("/interview")[0]]
        assert request.messages[0].content.startswith(messages[role] + "\n\n")


async def test_failed_and_unanswered_tasks_have_rows_that_say_so(database: Database, tmp_path: Path) -> None:
    (experiment, _) = experiments(study(), sessions=2)

    written = await run(database, experiment, tmp_path, Scripted(ODD))

    answers = table(written / "tidy" / "answers.csv")
    invalid = next(row for row in answers if row["response"] == "about seven")
    assert (invalid["status"], invalid["value"], invalid["valid"], invalid["attempts"]) == (
        "answered",
        "",
        "false",
        "5",
    )
    dropped = {row["task_id"]: row for row in answers if row["member_path"] == "c2/m1"}
    assert dropped["Q 3"]["status"] == "failed"
    assert "the key is not valid" in dropped["Q 3"]["reason"]
    assert (dropped["Q 4"]["status"], dropped["Q 4"]["attempts"]) == ("not_asked", "0")
    assert len([row for row in answers if row["session_id"] == "1"]) == 4 + 3 + 3 + 3 + 3
    sessions = {row["session_id"]: row for row in table(written / "tidy" / "sessions.csv")}
    assert sessions["0"]["not_finished"] == "{}"
    assert "the key is not valid" in sessions["1"]["not_finished"]


async def test_an_archive_has_the_files_of_its_format_in_a_folder(database: Database) -> None:
    (experiment, _) = experiments(study(), sessions=1)
    lab = DrainLab(database, models={"mock": Scripted()})
    experiment_id = await lab.start(experiment.model_dump_json())
    await lab.drain()

    everything = await archives.pack(database, experiment_id, lab.clock.now(), wanted=None)
    tables = await archives.pack(database, experiment_id, lab.clock.now(), wanted="csv")

    with everything, tables, ZipFile(everything) as one, ZipFile(tables) as other:
        assert {"data.json", "workbook/demo_1.json", "workbook/transcripts/session_0.md"} <= set(one.namelist())
        assert {"workbook/demo_1.csv", "workbook/tidy/answers.csv"} <= set(other.namelist())
        assert not [name for name in other.namelist() if name.endswith(("data.json", "demo_1.json", ".md"))]
        assert one.read("workbook/demo_1.csv") == other.read("workbook/demo_1.csv")
        assert orjson.loads(one.read("manifest.json"))["rows"]["workbook/demo_1.csv"] == 4


async def test_data_are_exported_although_a_format_cannot_have_its_own_files(
    database: Database, tmp_path: Path
) -> None:
    (experiment, _) = experiments(study(), sessions=1)
    lab = DrainLab(database, models={"mock": Scripted()})
    changed = experiment.model_copy(update={"source": Source(format="workbook")})
    experiment_id = await lab.start(changed.model_dump_json())

    manifest = (await export(database, experiment_id, tmp_path, lab.clock.now())).manifest

    assert "does not say" in manifest["not_written"]["workbook"]
    assert manifest["rows"]["participants.csv"] == 3


async def test_a_run_that_has_not_begun_has_its_sessions_agents_and_assignments(
    database: Database, tmp_path: Path
) -> None:
    (experiment, _) = experiments(study(), sessions=2)
    lab = DrainLab(database, models={"mock": Scripted()})
    experiment_id = await lab.start(experiment.model_dump_json())

    await export(database, experiment_id, tmp_path, lab.clock.now())

    answers = table(tmp_path / "workbook" / "tidy" / "answers.csv")
    assert {(row["status"], row["response"]) for row in answers} == {("not_asked", "")}
    assert [row["ID"] for row in table(tmp_path / "workbook" / "tidy" / "assignments.csv")] == [
        *("11", "10", "1"),
        *("9", "6", "3"),
    ]
    nested = orjson.loads((tmp_path / "workbook" / "demo_1.json").read_bytes())
    assert [len(session["message_history"]) for session in nested["sessions"].values()] == [1, 1]


async def test_an_answer_that_stays_unfit_is_in_the_long_table_with_what_was_expected(
    database: Database, tmp_path: Path
) -> None:
    class Vague:
        async def reply(self, request: ModelRequest) -> ModelReply:
            said = {**dict.fromkeys(request.reply_schema["properties"], ""), "response": "some"}
            return ModelReply(status="ok", parsed=said, raw=orjson.dumps(said).decode())

        async def aclose(self) -> None:
            """Nothing is open."""

    values = with_setting(base_values())
    values["interview_prompts"][2:] = [
        task_row("n", llm_text="How many?", response_options="(0, 5)", var_type="integer", validate_response=1)
    ]
    (experiment,) = compile_workbook(workbook_of(values), sessions=1)
    lab = DrainLab(database, models={"mock": Vague()})
    experiment_id = await lab.start(experiment.model_dump_json())
    await lab.drain()

    await export(database, experiment_id, tmp_path, lab.clock.now(), formats=["csv"])

    answers = table(tmp_path / "answers.csv")
    assert {(row["field"], row["value"], row["text"], row["status"]) for row in answers} == {
        ("n", "", "some", "invalid")
    }
    assert {row["reason"] for row in answers} == {
        "response: found 'some'; expected a number from 0 to 5 and nothing else"
    }
