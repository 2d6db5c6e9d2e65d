"""Changes values in the text of an experiment file, and no other byte of it: comments, order and spacing stay. Pure.

Places come from the nodes that PyYAML composes. ruamel.yaml 0.19 keeps comments, too, but writes the whole text anew:
it changed 25 to 159 lines of the demos that no one had touched.
"""

import json
import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.design.parsing import Parsed, check_values, parse_nodes

Json = Any
Path = tuple[str | int, ...]

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_WORDS: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
"""Other readers of YAML take these for something else than texts."""
_MOST_PASSES: Final = 20
"""Each makes half of the edits that touch each other, or more."""


@dataclass(frozen=True, slots=True)
class Change:
    """The value at a path of keys and numbers from 0; `value` None: nothing is there any more."""

    path: Path
    value: Json


@dataclass(frozen=True, slots=True)
class Edited:
    """A text, and the values in it."""

    text: str
    value: Json


@dataclass(frozen=True, slots=True)
class _Edit:
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


def edit_text(text: str, name: str, changes: Sequence[Change]) -> Edited:
    """The text with these values in it; keys on the way to a value are made.

    A list or object is changed where it differs, so that comments in it stay, too. A part that is taken out goes with
    the comment on its own line. Tabs that YAML refuses become spaces, as `parse` reads them.

    Raises:
        TooLarge: more than a file may have.
        InvalidInput: the text cannot be read, a value cannot be stored, a path leads through something else, or the
            change would change something else, too, such as an alias.
    """
    for change in changes:
        check_values(change.value, _place(change.path))
    parsed = parse_nodes(text, name)
    check_values(parsed.value, name)
    wanted = _with_changes(parsed.value, changes)
    writer = _Writer(parsed.text, is_json=name.lower().endswith(".json"))
    for _ in range(_MOST_PASSES):
        if _is_same(parsed.value, wanted):
            return Edited(writer.text, parsed.value)
        writer.bring_to(wanted, parsed)
        if writer.text == parsed.text:
            break
        try:
            parsed = parse_nodes(writer.text, name)
        except InvalidInput:
            break
    where = ", ".join(_place(change.path) for change in changes)
    expected = "a change in the file itself: here it would change something else, too"
    raise InvalidInput("The text cannot be changed.", [Problem(where, "a value that is written otherwise", expected)])


def _is_same(one: Json, other: Json) -> bool:
    """Whether the values are equal: 1, 1.0 and true are three."""
    # Parts without a change are the same object; only what is equal is written out to tell the types.
    return one is other or (one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))


def _place(path: Path) -> str:
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return steps.removeprefix(".")


def _with_changes(value: Json, changes: Sequence[Change]) -> Json:
    """The wanted value.

    Raises:
        InvalidInput: a path leads through something that has no such part.
    """
    whole = [value]
    for change in changes:
        _set(whole, (0, *change.path), change)
    return whole[0]


def _set(parent: Json, path: Path, change: Change) -> None:
    step, rest = path[0], path[1:]
    if isinstance(step, int) and isinstance(parent, list) and 0 <= step < len(parent):
        if rest:
            _set_below(parent, step, rest, change)
        elif change.value is None:
            del parent[step]
        else:
            parent[step] = change.value
    elif isinstance(step, str) and isinstance(parent, dict):
        if not rest and change.value is None:
            parent.pop(step, None)
        elif not rest:
            parent[step] = change.value
        elif step in parent or change.value is not None:
            _set_below(parent, step, rest, change)
    else:
        expected = "an object with this key" if isinstance(step, str) else "a list with so many parts"
        raise InvalidInput("The text cannot be changed.", [Problem(_place(change.path), repr(step), expected)])


def _set_below(parent: Json, step: Any, rest: Path, change: Change) -> None:
    """The part is copied first: an alias may be the same object in several places."""
    part = parent.get(step) if isinstance(parent, dict) else parent[step]
    copied = {**part} if isinstance(part, dict) else [*part] if isinstance(part, list) else {} if part is None else part
    parent[step] = copied
    _set(copied, rest, change)


class _Writer:
    """The text while it is brought to a value, some edits at a time."""

    def __init__(self, text: str, *, is_json: bool) -> None:
        self.text = text
        self._is_json = is_json
        self._line_end = "\r\n" if "\r\n" in text else "\n"

    def bring_to(self, wanted: Json, parsed: Parsed) -> None:
        """Make those differences that do not touch each other; `parsed` is the text."""
        root = parsed.read_root()
        if root is None:
            between = "" if self.text in ("", "\ufeff") or self.text.endswith("\n") else self._line_end
            self.text += between + self._write(wanted) + self._line_end
            return
        edits: list[_Edit] = []
        for edit in self._edits(root, wanted, parsed.value):
            at = bisect(edits, edit.start, key=lambda one: one.start)
            is_after = at == 0 or edits[at - 1].end < edit.start
            if is_after and (at == len(edits) or edit.end < edits[at].start):
                edits.insert(at, edit)
        ends = [0, *(edit.end for edit in edits)]
        kept = [self.text[end : edit.start] + edit.new for end, edit in zip(ends, edits, strict=False)]
        self.text = "".join(kept) + self.text[ends[-1] :]

    def _edits(self, node: yaml.Node, wanted: Json, value: Json) -> Iterator[_Edit]:
        """The differences in a node, which has this value."""
        if value is wanted:
            return
        if isinstance(node, yaml.MappingNode) and isinstance(wanted, dict) and wanted and node.value:
            yield from self._edits_of_keys(node, wanted, value)
        elif isinstance(node, yaml.SequenceNode) and isinstance(wanted, list) and wanted and node.value:
            yield from self._edits_of_parts(node, wanted, value)
        elif not _is_same(value, wanted):
            yield self._replace(node, self._write(wanted))

    def _replace(self, node: yaml.Node, new: str) -> _Edit:
        """The text with something on one line in place of a node."""
        start = node.start_mark.index
        is_block = isinstance(node, yaml.SequenceNode) and not node.flow_style
        if is_block and self._is_first_of_line(start):
            # A block may begin in the column of its key; nothing else may.
            new = f"  {new}"
        # Without a space a colon belongs to what follows it.
        is_nothing = node.start_mark.index == node.end_mark.index
        return _Edit(start, self._end(node), f" {new}" if is_nothing else new)

    def _edits_of_keys(
        self, node: yaml.MappingNode, wanted: Mapping[str, Json], having: Mapping[str, Json]
    ) -> Iterator[_Edit]:
        there = {key.value for key, _ in node.value}
        if there.isdisjoint({*wanted, "<<"}):
            yield self._replace(node, self._write(wanted))
            return
        spans = [(key.start_mark.index, self._end(value)) for key, value in node.value]
        for place, (key, value) in enumerate(node.value):
            if key.value in wanted and key.value in having:
                yield from self._edits(value, wanted[key.value], having[key.value])
            elif key.value != "<<":
                yield from self._without(node, spans, place)
        # A merge (`<<`) brings some of them.
        new = {
            key: value
            for key, value in wanted.items()
            if key not in there and not ("<<" in there and key in having and _is_same(having[key], value))
        }
        if new:
            yield self._add(node, spans, [f"{self._write(key)}: {self._write(new[key])}" for key in new])

    def _edits_of_parts(
        self, node: yaml.SequenceNode, wanted: Sequence[Json], having: Sequence[Json]
    ) -> Iterator[_Edit]:
        first, last = _same_at_the_ends(having, wanted)
        old, new = node.value[first : len(node.value) - last], wanted[first : len(wanted) - last]
        spans = [(self._dash(node, part), self._end(part)) for part in node.value]
        for part, value, had in zip(old, new, having[first:], strict=False):
            yield from self._edits(part, value, had)
        for place in range(first + len(new), first + len(old)):
            yield from self._without(node, spans, place)
        if len(new) > len(old):
            mark = "" if node.flow_style else "- "
            lines = [mark + self._write(value) for value in new[len(old) :]]
            yield self._add(node, spans[: first + len(old)] or spans, lines, is_before=first + len(old) == 0)

    def _without(self, node: yaml.CollectionNode, spans: Sequence[tuple[int, int]], place: int) -> Iterator[_Edit]:
        """The text without one entry."""
        start, end = spans[place]
        if len(spans) == 1:
            empty = "{}" if isinstance(node, yaml.MappingNode) else "[]"
            yield self._replace(node, empty)
        elif node.flow_style:
            is_last = place + 1 == len(spans)
            yield _Edit(spans[place - 1][1], end, "") if is_last else _Edit(start, spans[place + 1][0], "")
        elif self._is_first_of_line(start):
            yield _Edit(self._line_start(start), self._next_line(end), "")
        else:
            yield _Edit(start, spans[place + 1][0], "")

    def _add(
        self,
        node: yaml.CollectionNode,
        spans: Sequence[tuple[int, int]],
        lines: Sequence[str],
        *,
        is_before: bool = False,
    ) -> _Edit:
        """New entries after the last of these ones, or before the first."""
        start, end = spans[0][0], spans[-1][1]
        indent = " " * node.start_mark.column
        if node.flow_style:
            last = spans[-1][0]
            line = self._line_start(last)
            is_alone = self._is_first_of_line(last) and line > node.start_mark.index
            between = f",{self._line_end}{self.text[line:last]}" if is_alone else ", "
            joined = between.join(lines)
            return _Edit(start, start, joined + between) if is_before else _Edit(end, end, between + joined)
        if is_before:
            if self._is_first_of_line(start):
                return _Edit(self._line_start(start), self._line_start(start), self._as_lines(lines, indent))
            return _Edit(start, start, f"{self._line_end}{indent}".join([*lines, ""]))
        at = self._next_line(end)
        first = "" if self.text[:at].endswith(("\n", "\r")) else self._line_end
        return _Edit(at, at, first + self._as_lines(lines, indent))

    def _as_lines(self, lines: Sequence[str], indent: str) -> str:
        return "".join(f"{indent}{line}{self._line_end}" for line in lines)

    def _dash(self, node: yaml.SequenceNode, part: yaml.Node) -> int:
        """The beginning of an entry: in a block its dash, which is in the column of the first one."""
        at = part.start_mark.index
        if node.flow_style:
            return at
        line = self._line_start(at)
        while True:
            dash = line + node.start_mark.column
            if (dash < part.start_mark.index and self.text[dash : dash + 1] == "-") or line == 0:
                return dash
            line = self._line_start(line - 1)

    def _end(self, node: yaml.Node) -> int:
        """The end of what is written for the node, without lines that are empty or have comments alone."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            header = self.text[node.start_mark.index : node.end_mark.index].partition("\n")[0].partition("#")[0]
            if "+" in header:
                # Its empty lines are part of it.
                return node.end_mark.index
            return node.start_mark.index + len(self.text[node.start_mark.index : node.end_mark.index].rstrip())
        return node.end_mark.index

    def _line_start(self, at: int) -> int:
        return max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1

    def _next_line(self, at: int) -> int:
        """The beginning of the next line, or of this one where it begins here; the end of the text if there is none."""
        if at and self.text[at - 1] in "\r\n":
            return at
        found = _LINE_END.search(self.text, at)
        return len(self.text) if found is None else found.end()

    def _is_first_of_line(self, at: int) -> bool:
        return self.text[self._line_start(at) : at].strip(" \t") == ""

    def _write(self, value: Json) -> str:
        """The value on one line, as YAML or JSON."""
        if self._is_json:
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self._write(key)}: {self._write(one)}" for key, one in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self._write, value)) + "]"
        if isinstance(value, str):
            is_plain = _PLAIN.fullmatch(value) is not None and value.lower() not in _WORDS
            return value if is_plain else _quote(value)
        return json.dumps(value)


def _quote(text: str) -> str:
    """A text in double quotes, as JSON and YAML both read it."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" if ord(one) < 0x10000 else one for one in quoted)


def _same_at_the_ends(old: Sequence[Json], new: Sequence[Json]) -> tuple[int, int]:
    """How many entries are the same at the beginning, and how many of the others at the end."""
    most = min(len(old), len(new))
    first = next((at for at in range(most) if not _is_same(old[at], new[at])), most)
    last = next((at for at in range(most - first) if not _is_same(old[-1 - at], new[-1 - at])), most - first)
    return first, last
