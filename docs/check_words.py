"""Finds words that are not used any more (the last tables of glossary.md) in code, pages and settings."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

GLOSSARY: Final = Path("docs/glossary.md")
HEADING: Final = "## Words that are not used\n"
PROSE_HEADING: Final = "## Words that are not used in prose\n"
FILES: Final = (
    "*.py",
    "*.md",
    "*.yaml",
    "*.yml",
    "*.toml",
    "*.sh",
    "*.js",
    "*.ts",
    "*Makefile",
    "*Dockerfile",
    ".ci/*",
)
# Decisions and the changelog tell what was.
LEFT_OUT: Final = (
    "docs/decisions/",
    "docs/glossary.md",
    "docs/check_words.py",
    "tests/test_check_words.py",
    "CHANGELOG.md",
)
# A code block, or a quotation in backticks that may go on in the next lines of its paragraph.
QUOTED: Final = re.compile(r"^ *```.*?^ *```|``.+?``|`(?:[^`\n]|\n(?!\s*\n))*`", re.DOTALL | re.MULTILINE)
# "stand-in", "stands for" and "stands in for" are words of the field.
TERM: Final = r"(?!-|\s+(?:in\s+)?for\b)"
# So are `stand_in` and `stand_for`.
NAMED_TERM: Final = r"(?!\s+ins?\b|\s+for\b)"
INSIDE_A_NAME: Final = re.compile(r"_|(?<=[a-z])(?=[A-Z])")
# Comments, in files that are not Python.
OF_SCRIPTS: Final = re.compile(r"/\*.*?\*/|(?:^|(?<=\s))//[^\n]*", re.DOTALL | re.MULTILINE)
OF_SETTINGS: Final = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)

Lines = Iterator[tuple[int, str]]


def unused_words(glossary: str, heading: str) -> dict[str, str]:
    """The word that holds, by the one that is not used."""
    table = glossary.partition(heading)[2].partition("\n## ")[0]
    rows = (line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| "))
    return {row[0].strip("`"): row[1] for row in rows if row[0] not in ("not", "---")}


def pattern_of(words: dict[str, str], after: str = "") -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(map(re.escape, words))})\b{after}", re.IGNORECASE)


def prose_of(path: str, text: str) -> Lines:
    """The passages for readers, each with the number of its first line."""
    if path.endswith(".md"):
        yield 1, text
        return
    if not path.endswith(".py"):
        comments = OF_SCRIPTS if path.endswith((".js", ".ts")) else OF_SETTINGS
        yield from ((1 + text.count("\n", 0, one.start()), one[0]) for one in comments.finditer(text))
        return
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, "\n".join(lines[node.lineno - 1 : node.end_lineno])
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def in_names(path: str, text: str, pattern: re.Pattern[str]) -> Lines:
    """The words that are parts of names in Python. Few files have any, so that few are read by the token."""
    if not path.endswith(".py") or not pattern.search(INSIDE_A_NAME.sub(" ", text)):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            yield from matches(token.start[0], INSIDE_A_NAME.sub(" ", token.string), pattern)


def matches(first: int, passage: str, pattern: re.Pattern[str]) -> Lines:
    """The words that were found, each with its line."""
    for match in pattern.finditer(passage):
        yield first + passage.count("\n", 0, match.start()), match[1]


def in_prose(path: str, text: str, pattern: re.Pattern[str]) -> Lines:
    """The same in the prose of a file. Few files have any, so that few are parsed."""
    if pattern.search(text):
        for first, passage in prose_of(path, text):
            yield from matches(first, QUOTED.sub(lambda quoted: "\n" * quoted[0].count("\n"), passage), pattern)


def found_in(path: str, text: str, unused: dict[str, str], unused_in_prose: dict[str, str]) -> Lines:
    """All words in a file that are not used, each with its line."""
    named = {*in_names(path, text, pattern_of(unused | unused_in_prose, NAMED_TERM))}
    written = {*matches(1, text, pattern_of(unused)), *in_prose(path, text, pattern_of(unused_in_prose, TERM))}
    yield from sorted(named | written)


def main() -> int:
    glossary = GLOSSARY.read_text()
    unused, unused_in_prose = (unused_words(glossary, heading) for heading in (HEADING, PROSE_HEADING))
    words = unused | unused_in_prose
    listed = subprocess.run(["git", "ls-files", *FILES], check=True, capture_output=True, text=True)
    found = []
    for path in listed.stdout.splitlines():
        if not path.startswith(LEFT_OUT) and Path(path).is_file():
            told = found_in(path, Path(path).read_text(), unused, unused_in_prose)
            found += [f"{path}:{number}: {word!r}: say {words[word.lower()]}" for number, word in told]
    print("\n".join(found) or f"{len(words)} words that are not used: none is there.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
