"""Finds words that are not used any more (the last tables of glossary.md) in code and pages; `make check` runs it."""

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
# Decisions and the changelog tell what was.
LEFT_OUT: Final = ("docs/decisions/", "docs/glossary.md", "docs/check_words.py", "CHANGELOG.md")
# A code block, or a quotation in backticks that may go on in the next lines of its paragraph.
QUOTED: Final = re.compile(r"^ *```.*?^ *```|``.+?``|`(?:[^`\n]|\n(?!\s*\n))*`", re.DOTALL | re.MULTILINE)
# "stand-in", "stands for" and "stands in for" are words of the field.
TERM: Final = r"(?!-|\s+(?:in\s+)?for\b)"

Lines = Iterator[tuple[int, str]]


def unused_words(glossary: str, heading: str) -> dict[str, str]:
    """The word that holds, by the one that is not used."""
    table = glossary.partition(heading)[2].partition("\n## ")[0]
    rows = (line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| "))
    return {row[0].strip("`"): row[1] for row in rows if row[0] not in ("not", "---")}


def pattern_of(words: dict[str, str], after: str = "") -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(map(re.escape, words))})\b{after}", re.IGNORECASE)


def prose_of(path: str, text: str) -> Lines:
    """What is written for readers, with the number of its first line."""
    if path.endswith(".md"):
        yield 1, text
        return
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, "\n".join(lines[node.lineno - 1 : node.end_lineno])
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def matches(first: int, passage: str, pattern: re.Pattern[str]) -> Lines:
    """The words that were found, each with its line."""
    for match in pattern.finditer(passage):
        yield first + passage.count("\n", 0, match.start()), match[1]


def in_prose(path: str, text: str, pattern: re.Pattern[str]) -> Lines:
    """The same in the prose of a file. Few files have any, so that few are parsed."""
    if pattern.search(text):
        for first, passage in prose_of(path, text):
            yield from matches(first, QUOTED.sub(lambda quoted: "\n" * quoted[0].count("\n"), passage), pattern)


def main() -> int:
    glossary = GLOSSARY.read_text()
    unused, unused_in_prose = (unused_words(glossary, heading) for heading in (HEADING, PROSE_HEADING))
    words = unused | unused_in_prose
    everywhere, prose = pattern_of(unused), pattern_of(unused_in_prose, TERM)
    listed = subprocess.run(["git", "ls-files", "*.py", "*.md"], check=True, capture_output=True, text=True)
    found = []
    for path in listed.stdout.splitlines():
        if path.startswith(LEFT_OUT) or not Path(path).is_file():
            continue
        text = Path(path).read_text()
        found += [
            f"{path}:{number}: {word!r}: say {words[word.lower()]}"
            for number, word in [*matches(1, text, everywhere), *in_prose(path, text, prose)]
        ]
    print("\n".join(found) or f"{len(words)} words that are not used: none is there.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
