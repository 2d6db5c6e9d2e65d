"""Mends what longer names and other folders make of a module: lines that are too long, and folders counted upwards."""

import ast
import re
from typing import Final

LONGEST_LINE: Final = 120


def reflow(source: str) -> str:
    """The module with the lines of comments and docstrings that names have made too long broken again."""
    lines = source.split("\n")
    prose = _prose_lines(source)
    number = 0
    while number < len(lines):
        line = lines[number]
        if len(line) > LONGEST_LINE and number in prose and "noqa" not in line:
            head = _head(line)
            cut = line.rfind(" ", len(head) + 1, LONGEST_LINE + 1)
            if cut > len(head):
                rest = line[cut + 1 :]
                lines[number] = line[:cut]
                follows = number + 1 < len(lines) and number + 1 in prose and _goes_on(lines[number + 1], head)
                if follows and not rest.endswith('"""'):
                    lines[number + 1] = head + rest + " " + lines[number + 1].removeprefix(head)
                else:
                    lines.insert(number + 1, head + rest)
                    prose = {each + (each > number) for each in prose} | {number + 1}
        number += 1
    return "\n".join(lines)


def _head(line: str) -> str:
    return line[: len(line) - len(line.lstrip())] + ("# " if line.lstrip().startswith("# ") else "")


def _goes_on(line: str, head: str) -> bool:
    rest = line.removeprefix(head)
    return line.startswith(head) and bool(rest) and (rest[0].isalnum() or rest[0] in "`(")


def _prose_lines(source: str) -> set[int]:
    """The numbers of the lines, from 0, that are a comment alone or belong to a docstring."""
    found: set[int] = set()
    for number, line in enumerate(source.split("\n")):
        if line.lstrip().startswith("# "):
            found.add(number)
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else []:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                found.update(range(one.lineno - 1, one.end_lineno or one.lineno))
    return found


_UP: Final = re.compile(r"(Path\(__file__\)(?:\.resolve\(\))?\.parents\[)(\d)(?=\])")


def deeper(source: str, path: str, new: str) -> str:
    """The module with the folders above it counted from where it goes."""
    levels = new.count("/") - path.count("/")
    return _UP.sub(lambda found: f"{found[1]}{int(found[2]) + levels}", source) if path.endswith(".py") else source
