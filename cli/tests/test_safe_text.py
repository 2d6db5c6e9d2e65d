"""Text of models and people cannot do anything to a terminal."""

import io
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from parley_lab.cli.safe_text import one_line
from parley_lab.cli.screen import Screen


@given(st.text())
def test_no_control_character_survives(text: str) -> None:
    shown = one_line(text)

    assert not any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in shown)
    assert "\u202e" not in shown


def test_emoji_made_of_several_stay_whole() -> None:
    assert one_line("hi 👩\u200d🔬") == "hi 👩\u200d🔬"


def test_markup_and_escape_sequences_in_a_message_are_shown_as_text() -> None:
    output = io.StringIO()
    screen = Screen(Console(file=output, force_terminal=False, highlight=False, soft_wrap=True))

    screen.said("c1", "talk", "Ada [bold]", "[red]no[/red] :smile: \x1b[2J\r gone\nnext")

    assert output.getvalue() == "c1 talk  Ada [bold]: [red]no[/red] :smile: \N{REPLACEMENT CHARACTER}[2J gone next\n"
