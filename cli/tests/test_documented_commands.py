"""Every command of `parley` in the documentation exists, with its options."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from parley_lab.cli.main import app
from parley_lab.testing import fake_endpoint

ROOT = Path(__file__).parents[2]
OUTSIDE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [
    *OUTSIDE,
    *(page for folder in ("", "experiments", "guides") for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
COMMAND = re.compile(
    r"(?:(?:^[$ ]*|`|then: |with |-- )(?:\.venv/bin/)?parley|docker compose run --rm tools) ([a-z][^`\n#>]*)",
    re.MULTILINE,
)


def _commands() -> list[str]:
    return sorted({written.strip() for page in PAGES for written in COMMAND.findall(page.read_text(encoding="utf-8"))})


def test_the_commands_are_found() -> None:
    assert {"run", "validate", "chat", "prompt", "personas", "schema"} <= {
        written.split()[0] for written in _commands()
    }


@pytest.mark.parametrize("written", _commands())
def test_a_command_of_the_documentation_exists(written: str) -> None:
    command: Any = typer.main.get_command(app)
    words = written.split()
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]

    options = {name for parameter in command.params for name in parameter.opts}
    if command.name == "fake-endpoint":
        options = {name for action in fake_endpoint.parser()._actions for name in action.option_strings}
    assert {word for word in words if word.startswith("--")} <= options
