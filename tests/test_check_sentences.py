"""The check of sentences finds habits in every kind of prose, leaves questions and headings alone, and only shrinks."""

import pytest

from docs.check_sentences import complaints, found_in, lower_numbers, read_table


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.md", "What a member reads is on the page.", "What"),
        ("a.md", "It waits. Who comes\nlater waits, too.", "Who"),
        ("a.md", "- Of two replies one is said.", "Of"),
        ("a.md", "| a | Where there is none, nothing. |", "Where"),
        ("a.md", "It is no sign of life for who is not shown it.", "for who"),
        ("a.md", "The participant\nis told so.", "is told"),
        ("a.md", "An event tells of it.", "tells of"),
        ("a.md", "It says what came of the wait.", "what came of"),
        ("a.md", "It prints what each game came to.", "what each game came to"),
        ("a.py", '"""What comes next."""', "What"),
        ("a.py", "# Whoever has it waits.", "Whoever"),
        ("a.py", 'raise ValueError(f"The file {name} is wrong. What it says is unknown.")', "What"),
        ("a.js", "/** Where the page is. */", "Where"),
        ("a.yaml", "a: 1  # What holds for all.", "What"),
        ("words/en.json", '{"wait": "You are told when it opens."}', "are told"),
        ("home/en.html", "<p>What this is.</p>", "What"),
        ("a.py", "def shown(): ...", "def shown"),
        ("a.py", "class A:\n    async def _stored(self): ...", "def _stored"),
    ],
)
def test_a_habit_is_found(path: str, text: str, found: str) -> None:
    assert [habit for _, habit in found_in(path, text)] == [found]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "## What people see\n\nThey see a page."),
        ("a.md", "What happens then? The lab waits."),
        ("a.md", "A member who returns reads what the others said."),
        ("a.md", "It says who sent it, and of course when."),
        ("a.md", "Write `Who is there.` or\n\n```\nWhat is told of.\n```"),
        ("a.py", 'said = "What is told."'),
        ("a.py", "@property\ndef shown(self): ..."),
        ("a.py", "@pytest.fixture\ndef stored(): ..."),
        ("a.py", "def seed(): ...\ndef read(): ...\ndef is_shown(): ...\ndef show_stored(): ..."),
        ("words/en.json", '{"wait": "What do you think?"}'),
    ],
)
def test_plain_sentences_questions_and_quotations_are_left_alone(path: str, text: str) -> None:
    assert [*found_in(path, text)] == []


def test_a_habit_is_found_in_its_line() -> None:
    text = '"""One.\n\nWhat follows is two.\n"""\n\n\ndef shown(): ...\n'

    assert sorted(found_in("a.py", text)) == [(3, "What"), (7, "def shown")]


def test_more_than_the_table_allows_is_a_complaint_and_so_is_less() -> None:
    habits = {"more.py": [(1, "What"), (2, "Who")], "as_many.py": [(1, "What")], "new.py": [(3, "Of")]}

    told = [*complaints({"more.py": 1, "as_many.py": 1, "fewer.py": 2}, habits)]

    assert [one.partition(":")[0] for one in told if not one.startswith(" ")] == ["fewer.py", "more.py", "new.py"]
    assert "  new.py:3: 'Of'" in told
    assert any("--lower" in one for one in told)


def test_the_table_only_shrinks() -> None:
    table = read_table("# A head.\n3 a.py\n1 gone.py\n2 b.py\n")

    assert lower_numbers(table, {"a.py": 1, "b.py": 5, "new.py": 4}) == {"a.py": 1, "b.py": 2}
