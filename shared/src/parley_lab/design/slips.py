"""Explains a text that is not valid YAML: where the mistake began, and what to type. Pure."""

import re
from collections.abc import Iterator
from typing import Final

import yaml

from parley_lab.base.errors import IN_WORDS, Problem
from parley_lab.design.complaints import with_a_point

_ENTRY: Final = re.compile(r"^(?P<before>\s*(?:- +)*)(?P<key>[\w.-]+):\s+(?P<text>.*\S)\s*$")
"""A line with a key and a value."""
_LAST_ENTRY: Final = re.compile(r"(?P<key>[\w.-]+):\s*(?P<text>[^,:{}\[\]\"']*)$")
"""The last key, with the text after it, of a line where YAML stopped."""
_PLACE_FIRST: Final = re.compile(r"[\w.-]+: +\{\{[^,\]}]*\}\}[^,\]}]*")
_WIDE_FIRST: Final = re.compile(r" *(?P<space>[^\S\r\n\t\f\v ])")
"""A line that begins with a space which YAML takes for a letter, such as one that does not break lines."""
_NEVER_FIRST: Final = "@`%|>&*!"
_OF_ONE_LINE: Final = (
    "a text without quotes",
    "a text that begins with",
    "a text that goes on after its closing quote",
)


def slip(text: str, error: yaml.MarkedYAMLError, name: str) -> Problem:
    """The mistake that stopped the parser."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Problem(name, error.problem or "something that is not YAML", "valid YAML")
    lines = text.splitlines() or [""]
    line = lines[mark.line] if mark.line < len(lines) else ""
    problem, begun = error.problem or "", error.context_mark or mark
    if "'\\t'" in problem or line[: mark.column + 1].strip(" ").startswith("\t"):
        return Problem(_at(mark), "a tab", "spaces: type two for each step of indentation")
    if (wide := _wide_space(lines, mark)) is not None:
        return wide
    if "scanning a quoted scalar" in (error.context or ""):
        quote = text[begun.index] if begun.index < len(text) else '"'
        wrong = f"the text that begins with {quote} does not end"
        return _say(_at(begun), f"a text that begins with {quote} and does not end", wrong, f"{quote} at its end")
    if (quoted := _late_quote(text, mark)) is not None:
        return quoted
    if (place := _PLACE_FIRST.search(line)) is not None:
        whole = line if _ENTRY.match(line) and line.count("{") == line.count("{{") * 2 else place[0]
        return Problem(_at(mark, 0), "a text that begins with {{", f"it in quotes: {_in_quotes(whole)}")
    if "mapping values are not allowed" in problem:
        return _colon(lines, mark)
    if "flow" in (error.context or "") or problem.startswith("expected ',' or"):
        return _in_braces(line, mark, begun, problem)
    if "expected <block end>" in problem:
        return _indentation(lines, mark, begun)
    if "could not find expected ':'" in problem:
        return Problem(_at(begun), repr(lines[begun.line].strip()), "`name: value`, with a colon and a space")
    if "alias" in problem or "alias" in (error.context or "") or "anchor" in (error.context or ""):
        return Problem(_at(mark), "a text that begins with * or &", f"it in quotes: {_in_quotes(line)}")
    if "cannot start any token" in problem or line.strip()[:1] in _NEVER_FIRST:
        return Problem(_at(mark), f"a text that begins with {line[mark.column : mark.column + 1]}", _quoted(line))
    return Problem(_at(mark), problem or "something that is not YAML", "valid YAML")


def is_of_one_line(found: Problem) -> bool:
    """Whether the mistake is in its line alone, and no reason for mistakes below."""
    return any(words in found.found for words in _OF_ONE_LINE) and " and ends only in line " not in found.found


def harmless(line: str) -> str:
    """The line with the same place in the file, and a value that is no mistake."""
    entry = _ENTRY.match(line)
    if entry is not None:
        return f"{entry['before']}{entry['key']}: x"
    stripped = line.lstrip(" -")
    before = line[: len(line) - len(stripped)]
    return f"{before}x" if "-" in before else f"{before}# {stripped}"


def commas_in_braces(root: yaml.Node, text: str) -> Iterator[Problem]:
    """Texts in braces with a comma but without quotes: YAML reads the rest as a key without a value."""
    pending, seen = [root], set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            pending += [part for _, part in reversed(node.value)]
            if node.flow_style:
                yield from _loose_words(node, text)


def _loose_words(node: yaml.MappingNode, text: str) -> Iterator[Problem]:
    owner: tuple[yaml.ScalarNode, yaml.ScalarNode] | None = None
    words: list[str] = []
    for key, value in [*node.value, (None, None)]:
        if key is not None and _is_loose(key, value, text):
            words.append(key.value)
            continue
        if words:
            yield _comma(node, owner, words)
        is_plain = isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode) and value.style is None
        owner, words = ((key, value) if is_plain else None), []


def _is_loose(key: yaml.Node, value: yaml.Node, text: str) -> bool:
    """Whether no colon follows the key."""
    is_empty = isinstance(value, yaml.ScalarNode) and value.value == "" and value.style is None
    between = text[key.end_mark.index : value.start_mark.index]
    return is_empty and isinstance(key, yaml.ScalarNode) and ":" not in between


def _comma(node: yaml.MappingNode, owner: tuple[yaml.ScalarNode, yaml.ScalarNode] | None, words: list[str]) -> Problem:
    if owner is None:
        wrong = f"{words[0]!r} has no value"
        return _say(_at(node.start_mark), f"{words[0]!r} without a value", wrong, f"a value: `{words[0]}: ...`")
    key, value = owner
    if (number := with_a_point(",".join([value.value, *words]))) is not None:
        return Problem(_at(value.start_mark), f"a comma in a number, after {value.value!r}", number)
    whole = ", ".join([value.value, *words])
    found = f"a comma in a text without quotes, after {value.value!r}"
    return Problem(_at(value.start_mark), found, f'the text in quotes: {key.value}: "{whole}"')


def _wide_space(lines: list[str], mark: yaml.Mark) -> Problem | None:
    """A line is read as the end of the text above it, so that YAML stops in this one or the next."""
    for number in range(max(0, mark.line - 1), min(mark.line + 1, len(lines))):
        if (begun := _WIDE_FIRST.match(lines[number])) is not None:
            place = f"line {number + 1}, column {begun.start('space') + 1}"
            return Problem(place, "a space that does not break lines, or another special one", "common spaces")
    return None


def _late_quote(text: str, mark: yaml.Mark) -> Problem | None:
    """A quoted text over several lines that ends where the parser stopped: its closing quote was forgotten."""
    last: yaml.ScalarToken | None = None
    try:
        for token in yaml.scan(text):
            if isinstance(token, yaml.ScalarToken) and token.style in ("'", '"'):
                last = token
            if token.start_mark.index >= mark.index:
                break
    except yaml.YAMLError:
        pass
    if last is None or last.start_mark.line == last.end_mark.line or mark.line - last.end_mark.line not in (0, 1):
        return None
    found = f"a text that begins with {last.style} and ends only in line {last.end_mark.line + 1}"
    wrong = f"the text begins with {last.style} and ends only in line {last.end_mark.line + 1}"
    return _say(_at(last.start_mark), found, wrong, f"{last.style} at the end of the text")


def _say(where: str, found: str, wrong: str, expected: str) -> Problem:
    return Problem(where, found, expected, wrong, f"Write {expected}.", code=IN_WORDS)


def _colon(lines: list[str], mark: yaml.Mark) -> Problem:
    line = lines[mark.line]
    if ":" not in line[: mark.column]:
        above = next((number for number in range(mark.line - 1, -1, -1) if lines[number].strip()), mark.line)
        entry = _ENTRY.match(lines[above])
        if entry is not None and len(line) - len(line.lstrip()) > len(entry["before"]):
            column = len(entry["before"]) + 1
            like = f"it in column {column}, like {entry['key']!r} in line {above + 1}"
            return _column(mark, len(line) - len(line.lstrip()) + 1, like)
    return Problem(_at(mark), "a colon in a text without quotes", f"the text in quotes: {_in_quotes(line)}")


def _in_braces(line: str, mark: yaml.Mark, begun: yaml.Mark, problem: str) -> Problem:
    got = problem.rpartition("got ")[2].strip("'")
    entry = _LAST_ENTRY.search(line[: mark.column])
    if got in (":", "?", "<scalar>", "-") and entry is not None:
        rest = re.split(r"[,}\]]", line[mark.column :], maxsplit=1)[0]
        what = {":": "a colon", "?": "a question mark", "-": "a dash"}.get(got, "a quote")
        whole = f"{entry['text']}{rest}".strip().replace('"', "'")
        return Problem(_at(mark), f"{what} in a text without quotes", f'the text in quotes: {entry["key"]}: "{whole}"')
    closing = "]" if "']'" in problem else "}"
    opened = f"{'[' if closing == ']' else '{'} in line {begun.line + 1}"
    expected = f"{closing} where it ends, and a comma between its parts"
    found, wrong = f"{opened} that is not closed before this", f"the {opened} is not closed before this"
    return _say(_at(mark), found, wrong, expected)


def _column(mark: yaml.Mark, column: int, expected: str) -> Problem:
    begins = f"begins in column {column}"
    return _say(_at(mark, 0), f"a line that {begins}", f"the line {begins}", expected)


def _indentation(lines: list[str], mark: yaml.Mark, begun: yaml.Mark) -> Problem:
    own = lines[mark.line] if mark.line < len(lines) else ""
    if own[: mark.column].strip(" -"):
        return Problem(_at(mark), "a text that goes on after its closing quote", _quoted(own))
    number, column = begun.line, begun.column
    if own.lstrip().startswith("-"):
        entries = [(other, line.index("-")) for other, line in enumerate(lines[: mark.line]) if line.strip()[:1] == "-"]
        number, column = entries[-1] if entries else (number, column)
    else:
        column += len(re.match(r"(?:- +)*", lines[number][column:])[0])  # type: ignore[index]  # it matches nothing, too
    like = lines[number][column:].partition(":")[0].strip()
    expected = f"it in column {column + 1}, like {like!r} in line {number + 1}"
    return _column(mark, len(own) - len(own.lstrip()) + 1, expected)


def _quoted(line: str) -> str:
    return f"it in quotes: {_in_quotes(line)}"


def _in_quotes(line: str) -> str:
    """The entry of a line with its text in quotes."""
    entry = _ENTRY.match(line)
    key, text = (entry["key"], entry["text"]) if entry else ("", line.strip().removeprefix("- "))
    if '"' in text and "'" not in text:
        quoted = f"'{text}'"
    else:
        plain = text.strip("\"'").replace('"', "'")
        quoted = f'"{plain}"'
    return f"{key}: {quoted}" if key else quoted


def _at(mark: yaml.Mark, column: int | None = None) -> str:
    """A place in words; `column` 0: the whole line."""
    return f"line {mark.line + 1}" if column == 0 else f"line {mark.line + 1}, column {mark.column + 1}"
