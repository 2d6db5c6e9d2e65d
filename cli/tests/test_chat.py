"""Talking to a persona in the terminal: piped, typed, kept, cleared, failing, broken off."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import pytest

from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint
from parley_lab.testing.quick import quick_first

Parley = Callable[..., "subprocess.CompletedProcess[str]"]

FILE = """
parley: 1
name: A talk
seed: 0
stages: [{id: talk, kind: group_chat}]
personas: [{id: ada, profile: {name: Ada}, text: You drive a taxi.}, {id: ben}]
cohorts: [{seats: [{persona: ada}]}]
"""


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.yaml"
    path.write_text(FILE)
    return path


def said(output: str) -> list[str]:
    """Who said something, line by line."""
    authors = (line.partition(":")[0] for line in output.splitlines())
    return [author for author in authors if author in ("You", "Ada", "lia")]


@pytest.mark.postgres
def test_a_chat_answers_every_line_is_kept_shown_and_cleared(parley: Parley, talk: Path, data_dir: Path) -> None:
    order = ("chat", "ada", "--file", talk, "--data-dir", data_dir)

    first = parley(*order, stdin="Hello!\n\nWho are you?\n")
    second = parley(*order, stdin="/history\nAnd now?\n/clear\n/history\n/nonsense\n/quit\nNever said\n")
    third = parley(*order, stdin="/history")

    assert (first.returncode, first.stderr) == (0, "")
    assert said(first.stdout) == ["You", "Ada"] * 2
    assert second.returncode == 0
    assert "You have exchanged 4 messages so far." in second.stdout
    assert said(second.stdout) == ["You", "You", "Ada", "You", "Ada", "You", "Ada", "You", "You", "You", "You"]
    assert "Never said" not in second.stdout
    assert "There is no such command." in second.stdout
    assert "exchanged" not in third.stdout
    assert "Nothing was said yet." in third.stdout


@pytest.mark.postgres
def test_a_persona_of_the_library_is_talked_to_by_its_id(parley: Parley, tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "library.yaml").write_text("parley: 1\npersonas: [{id: lia, role: Bookkeeper}]\n")
    parley("personas", "import", "library.yaml", "--data-dir", data_dir)

    answered = parley("chat", "lia", "--data-dir", data_dir, stdin="Hello!\n")
    unknown = parley("chat", "lea", "--data-dir", data_dir, stdin="Hello!\n")
    from_file = parley("chat", "lia", "--file", "library.yaml", "--data-dir", data_dir, stdin="/history\n")

    assert said(answered.stdout) == ["You", "lia"]
    assert (unknown.returncode, unknown.stderr) == (
        2,
        "The persona library has no 'lea'. A persona of a file is found with --file.\n",
    )
    assert "Nothing was said yet." in from_file.stdout


@pytest.mark.postgres
async def test_a_failing_model_is_told_in_words(parley: Parley, talk: Path, data_dir: Path) -> None:
    async with FakeEndpoint(Behaviour(api_key="the-right-key")) as endpoint:
        result = await asyncio.to_thread(
            parley,
            *("chat", "ada", "--file", talk, "--data-dir", data_dir, "--models", "real"),
            stdin="Hello!\n",
            OPENAI_API_KEY="a-wrong-key",
            OPENAI_BASE_URL=endpoint.base_url,
        )

    assert result.returncode == 1
    assert "The provider of the model does not accept its key." in result.stdout
    assert "{" not in result.stdout
    assert "a-wrong-key" not in result.stdout + result.stderr


@pytest.mark.postgres
async def test_a_draft_in_a_thought_is_not_shown(parley: Parley, talk: Path, data_dir: Path) -> None:
    draft, reply = '{"response": "I never sleep."}', '{"response": "Good evening."}'
    written = f"<think>A draft: {draft}</think>{reply}<think>Or: {draft}</think>"
    async with FakeEndpoint(replies=lambda _body: written) as endpoint:
        result = await asyncio.to_thread(
            parley,
            *("chat", "ada", "--file", talk, "--data-dir", data_dir, "--models", "real"),
            stdin="Hello!\n",
            OPENAI_API_KEY="a-key",
            OPENAI_BASE_URL=endpoint.base_url,
        )

    assert "Ada: Good evening." in result.stdout
    assert "draft" not in result.stdout
    assert "never sleep" not in result.stdout


@pytest.mark.parametrize(
    ("order", "said_so"),
    [
        (("ada", "--file", "absent.yaml"), "absent.yaml cannot be read"),
        (("eve", "--file", "talk.yaml"), "talk.yaml does not define this persona."),
        (("ada", "--file", "talk.yaml", "--models", "real"), "OPENAI_API_KEY is not set"),
    ],
)
def test_what_can_be_refused_beforehand_is(
    parley: Parley, talk: Path, tmp_path: Path, order: tuple[str, ...], said_so: str
) -> None:
    result = parley("chat", *order)

    assert result.returncode == 2
    assert said_so in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / ".parley").exists()


class Terminal:
    """A command whose user sits at a terminal."""

    def __init__(self, arguments: list[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._screen, theirs = pty.openpty()
        self.process = subprocess.Popen(
            arguments, cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._screen)

    def until(self, text: str, *, times: int = 1) -> None:
        """Read along until the text has been so often on the screen."""
        while self.shown.count(text) < times:
            self.shown += os.read(self._screen, 4096).decode("utf-8", "replace")

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())


@pytest.mark.postgres
@pytest.mark.parametrize(("ending", "code"), quick_first([("\x04", 0), ("SIGINT", 130), ("/quit\n", 0)], 2))
def test_a_person_at_a_terminal_ends_the_chat_cleanly(
    talk: Path, data_dir: Path, of_all: dict[str, str], ending: str, code: int
) -> None:
    environ = {**os.environ, **of_all, "NO_COLOR": "1", "TERM": "dumb"}
    command = [
        sys.executable,
        "-m",
        "parley_lab.cli.main",
        "chat",
        "ada",
        "--file",
        str(talk),
        "--data-dir",
        str(data_dir),
    ]
    with Terminal(command, talk.parent, environ) as terminal:
        terminal.until("You: ")
        terminal.type("Hello!\n")
        terminal.until("Ada: ")
        terminal.until("You: ", times=2)

        if ending == "SIGINT":
            terminal.process.send_signal(signal.SIGINT)
        else:
            terminal.type(ending)

        assert terminal.process.wait(timeout=60) == code
        assert "Traceback" not in terminal.shown
