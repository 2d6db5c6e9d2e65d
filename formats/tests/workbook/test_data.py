"""The data files of workbooks, from any data.json there could be: nothing is lost, and all files say the same."""

import csv
import io
import tracemalloc
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Source
from parley_lab.design import Experiment
from parley_lab.formats.testing.workbook_runs import Run, Taken
from parley_lab.formats.testing.workbooks import base_values, task_row, with_setting, workbook_of
from parley_lab.formats.workbook import compile_workbook
from parley_lab.formats.workbook.arms_and_roles import MESSAGE_FIELDS
from parley_lab.formats.workbook.data import write_data
from parley_lab.formats.workbook.data.writing import file_name

BOTH = ("json", "csv")


def experiment(*, sessions: int | None = None, people: tuple[str, ...] = ()) -> Experiment:
    """Three roles and a summarizer, a task of every type."""
    values = with_setting(base_values(), max_conversation_length=1000)
    values["agent_roles"].append(["Summarizer", "You sum up."])
    checked = {"validate_response": 1, "format_response": 1, "generate_speculation_score": 1}
    values["interview_prompts"][2:] = [
        task_row("talk", type="discussion", task_order=1, llm_text="Let us talk."),
        task_row("fair", type="public_question", task_order=2, response_options="['yes', 'no', 3]", **checked),
        task_row("give", task_order=3, var_type="integer", response_options="(0, 10)"),
        task_row("news", type="context", task_order=4, llm_text="It rains."),
        task_row("some", task_order=5, llm_text="{'B': 'b?', 'Summarizer': 'sum?'}"),
    ]
    (made,) = compile_workbook(workbook_of(values), sessions=sessions, people=people)
    return made


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))


EXPERIMENT = experiment(sessions=2)
PLACES = [(member["path"], task.id) for member, task, _ in Run(EXPERIMENT).asked()]
TEXTS = st.one_of(
    st.sampled_from(["yes", "3", "no.", "7", "0.5", "about 7", '{"response": "yes"}', "=1+1", 'a,b\r\n"c"', "\u2028"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20),
)
TAKEN = st.one_of(
    st.builds(Taken, said=TEXTS, state=st.just("answered"), calls=st.integers(0, 3)),
    st.builds(Taken, state=st.sampled_from(["open", "failed", "cancelled"]), calls=st.integers(0, 3)),
    st.just(Taken()),
)
RUNS = st.builds(
    Run,
    document=st.just(EXPERIMENT),
    taken=st.fixed_dictionaries(dict.fromkeys(PLACES, TAKEN)),
    status=st.sampled_from(["completed", "in_progress", "failed"]),
)


def test_a_column_of_numbers_has_no_words_of_a_summarizer(tmp_path: Path) -> None:
    values = with_setting(base_values(), max_conversation_length=1000)
    values["agent_roles"].append(["Summarizer", "You sum up."])
    asked = "{'A': 'a?', 'B': 'b?', 'C': 'c?', 'Summarizer': 'sum?'}"
    values["interview_prompts"][2:] = [
        task_row("give", var_type="integer", response_options="(0, 10)", llm_text=asked),
    ]
    (made,) = compile_workbook(workbook_of(values), sessions=1)
    says = {True: "All gave much.", False: "7"}
    places = [(member["path"], task.id, role) for member, task, role in Run(made).asked()]
    run = Run(made, {(path, task): Taken(said=says[role == "Summarizer"], calls=1) for path, task, role in places})

    write_data(run.write(tmp_path), tmp_path, BOTH)

    rows = table(tmp_path / "demo.csv")
    assert [row["give"] for row in rows] == ["7", "7", "7", ""]
    assert rows[-1]["give.response"] == "All gave much."


def test_a_session_that_ends_with_the_last_reply_that_is_allowed_is_complete(tmp_path: Path) -> None:
    (stage,) = EXPERIMENT.stages
    limited = stage.model_copy(update={"max_replies": len(PLACES) // 2})
    document = EXPERIMENT.model_copy(update={"stages": (limited,)})
    run = Run(document, {place: Taken(said="yes", state="answered") for place in PLACES})

    write_data(run.write(tmp_path), tmp_path, BOTH)

    assert [session["is_over"] for session in table(tmp_path / "tidy" / "sessions.csv")] == ["true", "true"]


@settings(max_examples=60, deadline=None)
@given(run=RUNS)
def test_every_row_of_the_data_comes_out_once_whatever_became_of_it(run: Run) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_data(run.write(folder), folder, BOTH)
        answers = table(folder / "tidy" / "answers.csv")

    assert Counter((row["member_path"], row["task_id"]) for row in answers) == Counter(PLACES)
    rows = {(row["member_path"], row["task_id"]): row for row in answers}
    stored = {(row["member_path"], row["key"].removeprefix("task:")): row for row in run.sections()["answers"]}
    for place, taken in run.taken.items():
        row = rows[place]
        assert row["status"] == (taken.state or "not_asked")
        assert row["response"] == (stored[place]["value"]["response"] if place in stored else "")
        assert int(row["attempts"]) == taken.calls
        assert int(row["tokens_in"] or 0) == 3 * taken.calls


@settings(max_examples=60, deadline=None)
@given(run=RUNS)
def test_the_nested_form_the_wide_table_and_the_long_table_say_the_same(run: Run) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_data(run.write(folder), folder, BOTH)
        nested = orjson.loads((folder / "demo.json").read_bytes())
        wide = {row["ID"]: row for row in table(folder / "demo.csv")}
        long = {(row["ID"], row["var_name"]): row for row in table(folder / "tidy" / "answers.csv")}

    said = {
        (message["agent_id"], message["var_name"]): message
        for session in nested["sessions"].values()
        for message in session["message_history"]
        if "agent_id" in message
    }
    assert {name for message in said.values() for name in message} <= {*MESSAGE_FIELDS, "A", "B", "C", "Summarizer"}
    assert set(said) == {place for place, row in long.items() if row["status"] == "answered"}
    for (agent, variable), row in long.items():
        message = said.get((agent, variable))
        text = message[message["speaker"]] if message is not None else ""
        assert text == row["response"] == wide[agent][f"{variable}.response"]
        assert row["valid"] == wide[agent][f"{variable}.valid"]
        if message is not None:
            assert row["valid"] == ("true" if message["valid"] else "false")
            assert row["value"] == ("" if message["value"] is None else str(message["value"]))
            assert wide[agent][variable] in (row["value"], row["response"])


def everything_answered(document: Experiment, prompt: str = "What?") -> Run:
    empty = Run(document)
    taken = {(member["path"], task.id): Taken("7", "answered", 1) for member, task, _ in empty.asked()}
    return Run(document, taken, prompt=prompt)


def test_people_have_no_profile_and_are_named_by_role_and_session(tmp_path: Path) -> None:
    run = everything_answered(experiment(sessions=1, people=("A", "Summarizer")))

    write_data(run.write(tmp_path), tmp_path, BOTH)

    rows = {row["role"]: (row["ID"], row["played_by"], row["model_info"]) for row in table(tmp_path / "demo.csv")}
    assert rows == {
        "C": ("11", "agent", "m"),
        "A": ("A_0", "person", ""),
        "B": ("1", "agent", "m"),
        "Summarizer": ("Summarizer_0", "person", ""),
    }
    assert [row["role"] for row in table(tmp_path / "tidy" / "profiles.csv")] == ["C", "B"]
    assert {(row["ID"], row["attempts"]) for row in table(tmp_path / "tidy" / "answers.csv")} == {
        ("11", "1"),
        ("1", "1"),
        ("A_0", ""),
        ("Summarizer_0", ""),
    }
    nested = orjson.loads((tmp_path / "demo.json").read_bytes())["sessions"]["0"]
    assert nested["roles"] == {"11": "C", "A_0": "A", "1": "B"}
    assert list(nested["agents"]) == ["Facilitator", "C", "A", "B", "Summarizer"]


def test_columns_that_share_a_question_keep_their_answers_apart(tmp_path: Path) -> None:
    values = base_values()
    values["agent_profiles"] = [
        ["ID", "give_why", "age", "keep_why"],
        ["ID", "Why?", "How old are you?", "Why?"],
        *([number, "to share", 20 + number, "to have"] for number in range(1, 13)),
    ]
    (document,) = compile_workbook(workbook_of(values), sessions=1)

    write_data(Run(document).write(tmp_path), tmp_path, BOTH)

    profile = orjson.loads((tmp_path / "demo.json").read_bytes())["sessions"]["0"]["agent_profiles"][0]
    assert profile == {
        "ID": "11",
        "Why? (give_why)": "to share",
        "How old are you?": "31",
        "Why? (keep_why)": "to have",
    }


def test_a_model_at_an_inference_endpoint_is_called_in_the_data_as_in_the_sheets(tmp_path: Path) -> None:
    address = "https://models.example/v1"
    values = with_setting(base_values(), model_info="hf-inference", api_endpoint=address)
    (document,) = compile_workbook(workbook_of(values), sessions=1, people=["A"])

    write_data(Run(document).write(tmp_path), tmp_path, BOTH)

    rows = {row["role"]: row["model_info"] for row in table(tmp_path / "demo.csv")}
    assert rows == {"A": "", "B": "hf-inference", "C": "hf-inference"}
    agents = orjson.loads((tmp_path / "demo.json").read_bytes())["sessions"]["0"]["agents"]
    assert (agents["A"]["model_info"], agents["B"]["model_info"]) == (None, "hf-inference")


def test_memory_grows_with_a_session_and_not_with_the_run(tmp_path: Path) -> None:
    def peak(sessions: int) -> int:
        folder = tmp_path / str(sessions)
        folder.mkdir()
        values = with_setting(base_values(), num_sessions=sessions)
        values["agent_profiles"][2:] = [[number, 30, "well"] for number in range(3 * sessions)]
        (document,) = compile_workbook(workbook_of(values))
        data = everything_answered(document, prompt="x" * 500_000).write(folder)
        tracemalloc.start()
        write_data(data, folder, BOTH)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few, many = peak(3), peak(30)

    assert many < 1.5 * few


@pytest.mark.parametrize("formats", [("json",), ("csv",)])
def test_only_the_wanted_formats_are_written(tmp_path: Path, formats: tuple[str, ...]) -> None:
    write_data(everything_answered(EXPERIMENT).write(tmp_path), tmp_path, formats)

    written = {path.name for path in tmp_path.rglob("*") if path.is_file()} - {"data.json"}
    nested = {"demo.json", "manifest.json", "session_0.md", "session_1.md"}
    tables = {"demo.csv", "answers.csv", "sessions.csv", "assignments.csv", "profiles.csv", "codebook.csv"}
    assert written == (nested if formats == ("json",) else tables)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("demo_1", "demo_1"), ("../../etc/x", "_.._etc_x"), ("a b: c", "a_b_c"), ("  ", "_"), ("..", "experiment")],
)
def test_a_file_is_called_after_the_experiment_as_far_as_files_can_be(name: str, expected: str) -> None:
    assert file_name(name) == expected


@pytest.mark.parametrize("damage", ["", "{}\n", '{"experiment": {}}\n', "not json\n", '{"a":1,\n"treatments": [\n'])
def test_what_is_no_data_json_is_refused(tmp_path: Path, damage: str) -> None:
    data = tmp_path / "data.json"
    data.write_text(damage)

    with pytest.raises(InvalidInput, match=r"data\.json"):
        write_data(data, tmp_path / "out", BOTH)


@pytest.mark.parametrize("line", range(1, 60, 7))
def test_data_that_are_cut_off_are_refused_and_leave_no_half_file(tmp_path: Path, line: int) -> None:
    whole = everything_answered(EXPERIMENT).write(tmp_path).read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.json"
    cut.write_bytes(b"".join(whole[:line]))

    with pytest.raises(InvalidInput, match=r"cut\.json"):
        write_data(cut, tmp_path / "out", BOTH)

    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


def test_an_experiment_that_does_not_say_what_a_workbook_says_is_refused(tmp_path: Path) -> None:
    changed = EXPERIMENT.model_copy(update={"source": Source(format="workbook")})

    with pytest.raises(InvalidInput, match="does not say"):
        write_data(everything_answered(changed).write(tmp_path), tmp_path / "out", BOTH)
