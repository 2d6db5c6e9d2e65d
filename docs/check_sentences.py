"""Finds sentences without a subject that acts, and functions named like states, against a table that only shrinks.

A file may have as many as `sentences.txt` says, and none without a line there. To write lower numbers:
`python -m docs.check_sentences --lower`.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.check_words import FILES, QUOTED, Lines, prose_of

TABLE: Final = Path("docs/sentences.txt")
# The changelog tells what was; vendored files are as their authors wrote them.
LEFT_OUT: Final = ("CHANGELOG.md", "web/src/parley_lab/web/pages/vendor/")
PAGES_OF_WORDS: Final = ("*/en.json", "*/en.html")
# A sentence may begin here: a paragraph, an item of a list, a cell of a table, or after the end of another sentence.
BEGINNING: Final = r"(?:\A|\n[ \t#/*]*\n|(?<=[.!?])(?=\s)|^[ \t#/*]*(?:[-*]|\d+\.)(?= )|\|)[\s#/*\"'(]*"
WITHOUT_SUBJECT: Final = re.compile(
    rf"{BEGINNING}((?:Of|Who|What|Where|Whoever)\b(?! course\b))(?=([^.!?|]*[.!?|]?))", re.MULTILINE
)
PREPOSITIONS: Final = "of|to|for|by|from|with|at|than|that|if|when|because|since|while|so|but|only|nor|as"
HABITS: Final = re.compile(
    rf"\b((?:{PREPOSITIONS})\s+who|(?:is|are|was|were|be|been)\s+told|tells?\s+of"
    r"|what\s+(?:comes?|came)\s+of|what\s+(?:\w+\s+){0,3}(?:comes?|came)\s+to)\b",
    re.IGNORECASE,
)
# Those that are verbs in the present, too (`read`, `put`, `set`, `cut`, `split`), may name functions.
IRREGULAR: Final = (
    "begun bound bought broken brought built caught chosen done drawn driven fed felt found forgotten given gone grown "
    "heard held hidden kept known laid left lent lost made meant met paid said seen sent shown sold spent spoken stood "
    "taken taught thought thrown told understood won worn woven written"
)
NO_PARTICIPLE: Final = "bed embed exceed feed need proceed red seed shed speed succeed"
PARTICIPLE: Final = re.compile(
    rf"_*(?!(?:{NO_PARTICIPLE.replace(' ', '|')})$)(?:[a-z]+ed|{IRREGULAR.replace(' ', '|')})"
)
# A fixture or a property is a value, and may be called after its state.
VALUES: Final = ("property", "fixture", "computed_field")


def sentences_in(passage: str) -> Lines:
    """The habits of a passage, each with its line, counted from 0."""
    plain = QUOTED.sub(lambda quoted: "X" + "\n" * quoted[0].count("\n"), passage)
    for match in WITHOUT_SUBJECT.finditer(plain):
        if not match[2].endswith("?"):
            yield plain.count("\n", 0, match.start(1)), match[1]
    for match in HABITS.finditer(plain):
        yield plain.count("\n", 0, match.start(1)), " ".join(match[1].split())


def without_headings(text: str) -> str:
    return re.sub(r"^#+ .*$", "", text, flags=re.MULTILINE)


def errors_of(module: ast.Module) -> Lines:
    """The words of the errors that a module raises, with their line."""
    for node in ast.walk(module):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def is_a_value(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(re.search(rf"\b(?:{'|'.join(VALUES)})\b", ast.unparse(one)) for one in function.decorator_list)


def participles_in(module: ast.Module) -> Lines:
    """The functions whose name is a bare participle: at the call it looks like a state."""
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_a_value(node):
            continue
        if PARTICIPLE.fullmatch(node.name):
            yield node.lineno, f"def {node.name}"


def passages_of(path: str, text: str) -> Lines:
    """The passages for readers, each with the number of its first line."""
    if path.endswith(".json"):
        yield from ((1, str(words)) for words in json.loads(text).values())
    elif path.endswith(".html"):
        yield 1, re.sub(r"<[^>]*>", "", text)
    else:
        yield from prose_of(path, without_headings(text) if path.endswith(".md") else text)


def found_in(path: str, text: str) -> Lines:
    """All habits in a file, each with its line."""
    passages = [*passages_of(path, text)]
    if path.endswith(".py"):
        module = ast.parse(text)
        passages += errors_of(module)
        yield from participles_in(module)
    for first, passage in passages:
        yield from ((first + line, habit) for line, habit in sentences_in(passage))


def read_table(text: str) -> dict[str, int]:
    """How many a file may have, by its path."""
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {path: int(number) for number, path in rows}


def lower_numbers(table: dict[str, int], counts: dict[str, int]) -> dict[str, int]:
    """The table with the numbers of today where they are lower."""
    lower = {path: min(number, counts.get(path, 0)) for path, number in table.items()}
    return {path: number for path, number in sorted(lower.items()) if number}


def complaints(table: dict[str, int], found: dict[str, list[tuple[int, str]]]) -> Iterator[str]:
    for path in sorted({*table, *found}):
        habits, may = sorted(found.get(path, [])), table.get(path, 0)
        if len(habits) > may:
            yield f"{path}: {len(habits)} sentences or names without a subject that acts, and {may} may be there:"
            yield from (f"  {path}:{line}: {habit!r}" for line, habit in habits)
        elif len(habits) < may:
            yield f"{path}: {len(habits)}, fewer than the {may} of {TABLE}: `python -m docs.check_sentences --lower`"


def main(arguments: list[str]) -> int:
    listed = subprocess.run(["git", "ls-files", *FILES, *PAGES_OF_WORDS], check=True, capture_output=True, text=True)
    paths = [one for one in listed.stdout.splitlines() if not one.startswith(LEFT_OUT) and Path(one).is_file()]
    found = {path: [*found_in(path, Path(path).read_text())] for path in paths}
    text = TABLE.read_text()
    table = read_table(text)
    if "--lower" in arguments:
        table = lower_numbers(table, {path: len(habits) for path, habits in found.items()})
        head = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
        TABLE.write_text(head + "".join(f"{number} {path}\n" for path, number in table.items()))
    wrong = [*complaints(table, found)]
    right = f"Sentences and names without a subject that acts: {sum(table.values())} old ones, no new one."
    print("\n".join(wrong) or right)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
