"""Parses a file to plain JSON values. No file can run code, exhaust the memory or be read in two ways."""

import json
import math
import re
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

import yaml

from parley_lab.base.errors import IN_WORDS, InvalidInput, Problem, TooLarge
from parley_lab.base.storable import unstorable
from parley_lab.design.encoding import NotUtf8, decoded_utf_8
from parley_lab.design.slips import commas_in_braces, harmless, is_of_one_line, slip

Json = Any

MAX_BYTES: Final = 1024 * 1024
MAX_VALUES: Final = 200_000
"""The limit of values in a file, YAML aliases expanded."""
MAX_DEPTH: Final = 60
_INDENTED: Final = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)
_TAB_WIDTHS: Final = (2, 4, 8)
_MOST_SLIPS: Final = 20
"""The limit of mistakes in the YAML of a file that are reported at once."""
_TAG: Final = "tag:yaml.org,2002:"
_TAGS: Final = frozenset(_TAG + name for name in ("null", "bool", "int", "float", "str", "seq", "map", "merge"))


@dataclass(frozen=True, slots=True)
class Parsed:
    """A text, with spaces for the tabs that YAML refuses, and its values. `node`: None where it is not kept."""

    text: str
    value: Json
    node: yaml.Node | None = None
    is_json: bool = False

    def read_root(self) -> yaml.Node | None:
        """The nodes of YAML, which say where each value is written; None: there are none. JSON is YAML, too.

        Raises:
            InvalidInput: YAML does not read what JSON does.
        """
        if self.node is not None:
            return self.node
        try:
            # A text of JSON has no tabs in it, and YAML refuses those between its parts.
            return yaml.compose(self.text.replace("\t", " ") if self.is_json else self.text, Loader=Loader)
        except yaml.YAMLError as error:
            problem = Problem("", "a key or a text that YAML reads otherwise", "a change in the file itself")
            raise InvalidInput("The text cannot be changed.", [problem]) from error


def parse(content: str | bytes, name: str, *, max_bytes: int = MAX_BYTES) -> Json:
    """The values in an experiment file: JSON when `name` ends in `.json`, YAML otherwise.

    Raises:
        TooLarge: more than `max_bytes`.
        InvalidInput: it cannot be parsed, or has a key twice.
    """
    text = decoded(content, name, max_bytes)
    text = text if _is_json(name) else with_spaces(text)
    with _refusing(text, name):
        return _parse_json(text) if _is_json(name) else _parse_yaml(text, name).value


def parse_nodes(content: str, name: str) -> Parsed:
    """The same, with the nodes.

    Raises:
        TooLarge, InvalidInput: as `parse`.
    """
    if _is_json(name):
        return Parsed(content, parse(content, name), is_json=True)
    text = with_spaces(decoded(content, name))
    with _refusing(text, name):
        parsed = _parse_yaml(text, name)
    # What is merged (`<<`) was moved among the nodes.
    return replace(parsed, node=None) if "<<" in text else parsed


def _is_json(name: str) -> bool:
    return name.lower().endswith(".json")


@contextmanager
def _refusing(text: str, name: str) -> Iterator[None]:
    """Raises: InvalidInput: with what is wrong in the text, where it cannot be parsed."""
    try:
        yield
    except _Unreadable as error:
        raise _refusal(name, error.where, error.found, error.expected) from error
    except yaml.MarkedYAMLError as error:
        slips = sorted(_slips(text, error, name), key=lambda one: -1 if (line := _line_of(one)) is None else line)
        raise InvalidInput(f"{name} cannot be read.", slips) from error
    except ValueError as error:
        # Python refuses to read numbers of thousands of digits.
        raise _refusal(name, name, "a number with too many digits", "a shorter number") from error
    except yaml.YAMLError as error:
        raise _refusal(name, name, str(error).splitlines()[0], "valid YAML") from error
    except RecursionError as error:
        raise _refusal(name, name, "values nested too deeply", "an experiment") from error


def with_spaces(content: str) -> str:
    """The text of a YAML file with spaces for the tabs at the beginning of lines, where YAML refuses the tabs.

    Unchanged when it can be read as it is, and when it depends on the width of a tab how its lines are nested.
    """
    if "\t" not in content or _shape(content) is not None:
        return content
    spaced = [_expand_tabs(content, width) for width in _TAB_WIDTHS]
    shapes = [shape for one in spaced if (shape := _shape(one)) is not None]
    if not shapes or any(shape != shapes[0] for shape in shapes):
        return content
    return next(one for one in spaced if _shape(one) is not None)


def _expand_tabs(content: str, width: int) -> str:
    return _INDENTED.sub(lambda begun: begun[0].replace("\t", " " * width), content)


def _shape(text: str) -> list[tuple[str, str]] | None:
    """What YAML reads in the text, without its places; None: it cannot be read."""
    try:
        return [(type(one).__name__, getattr(one, "value", "")) for one in yaml.parse(text, Loader=Loader)]
    except yaml.YAMLError:
        return None


def _slips(text: str, error: yaml.MarkedYAMLError, name: str) -> Iterator[Problem]:
    """The mistake that stopped the parser, and those in lines below, as if each had been mended.

    A line with a mistake is read on as a line with a harmless value. A mistake that is not of one line alone is the
    last one, since it may be the reason for those after it.
    """
    lines = text.split("\n")
    mended = -1
    for _ in range(_MOST_SLIPS):
        found = slip("\n".join(lines), error, name)
        yield found
        mark = error.problem_mark or error.context_mark
        number = _line_of(found)
        if mark is None or number is None or number <= mended or number != mark.line or not is_of_one_line(found):
            return
        lines[number], mended = harmless(lines[number]), number
        try:
            yield from _slips_of_values("\n".join(lines))
            return
        except yaml.MarkedYAMLError as another:
            error = another
            if (error.problem_mark or error.context_mark or mark).line <= mended:
                return
        except yaml.YAMLError:
            return


def _slips_of_values(text: str) -> list[Problem]:
    node = yaml.compose(text, Loader=Loader)
    return [] if node is None else [*_check_nodes(node), *commas_in_braces(node, text)]


def _line_of(problem: Problem) -> int | None:
    found = re.match(r"line (\d+)", problem.where)
    return int(found[1]) - 1 if found else None


def check_values(value: Json, name: str) -> None:
    """Refuse what Postgres cannot store, and values nested too deeply.

    Raises:
        InvalidInput: with all such values.
    """
    problems = [replace(one, where=one.where or name) for one in unstorable(value, deepest=MAX_DEPTH)]
    if problems:
        raise InvalidInput(f"{name} holds what cannot be stored.", problems)


class _Unreadable(Exception):
    def __init__(self, where: str, found: str, expected: str) -> None:
        super().__init__(found)
        self.where, self.found, self.expected = where, found, expected


def _refusal(name: str, where: str, found: str, expected: str) -> InvalidInput:
    return InvalidInput(f"{name} cannot be read.", [Problem(where, found, expected)])


def decoded(content: str | bytes, name: str, max_bytes: int = MAX_BYTES) -> str:
    """The text of a file.

    Raises:
        TooLarge: more than `max_bytes`.
        InvalidInput: it is not UTF-8.
    """
    size = len(content.encode("utf-8", "surrogatepass")) if isinstance(content, str) else len(content)
    if size > max_bytes:
        raise TooLarge(f"{name} has {size} bytes; an experiment file may have {max_bytes}.")
    try:
        return content if isinstance(content, str) else decoded_utf_8(content)
    except NotUtf8 as error:
        expected = "a text in UTF-8: save it as UTF-8 in your editor"
        raise _refusal(name, f"line {error.line}", error.found, expected) from error


def _parse_json(text: str) -> Json:
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _Unreadable(where, error.msg, "valid JSON") from error
    return value


def _without_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    fields: dict[str, Json] = {}
    for key, value in pairs:
        if key in fields:
            raise _Unreadable(key, "this key twice in one object", "every key once")
        fields[key] = value
    return fields


def _no_constant(constant: str) -> NoReturn:
    raise _Unreadable(constant, constant, "a number")


class Loader(yaml.SafeLoader):
    """YAML with JSON's words only: `no`, `12:30`, `010` and dates are texts."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML copies it when resolvers are added


def _resolve_plain(tag: str, pattern: str, first: str) -> None:
    Loader.add_implicit_resolver(_TAG + tag, re.compile(pattern), list(first))


_resolve_plain("null", r"^(?:~|null|Null|NULL|)$", "~nN")
Loader.yaml_implicit_resolvers.setdefault("", []).extend(Loader.yaml_implicit_resolvers["~"])
_resolve_plain("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF")
_resolve_plain("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789")
_resolve_plain("float", r"^[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$", "-+0123456789")
_resolve_plain("merge", r"^<<$", "<")


def _construct_mapping(loader: Loader, node: yaml.MappingNode) -> dict[Hashable, Json]:
    return loader.construct_mapping(node, deep=True)


def _construct_float(loader: Loader, node: yaml.ScalarNode) -> float:
    number = loader.construct_yaml_float(node)
    if math.isinf(number):
        # Codes of completion look like this.
        expected = f'a number with an end, or text in quotes: "{node.value}"'
        raise _Unreadable(_place(node), f"{node.value}, a number without an end", expected)
    return number


Loader.add_constructor(_TAG + "map", _construct_mapping)
Loader.add_constructor(_TAG + "float", _construct_float)


def _parse_yaml(text: str, name: str) -> Parsed:
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return Parsed(text, None)
        if slips := [*_check_nodes(node), *commas_in_braces(node, text)]:
            raise InvalidInput(f"{name} cannot be read.", slips)
        return Parsed(text, loader.construct_document(node), node)
    finally:
        loader.dispose()


def _check_nodes(root: yaml.Node) -> list[Problem]:
    """Everything in the nodes that YAML allows and an experiment file does not."""
    slips: list[Problem] = []
    size = _size(root, {}, set(), slips)
    if size > MAX_VALUES:
        raise _Unreadable("aliases", f"{size} values once all aliases are written out", f"at most {MAX_VALUES}")
    return slips


def _size(node: yaml.Node, sizes: dict[int, int], above: set[int], slips: list[Problem]) -> int:
    """The number of values in `node`, aliases expanded; `above` are the nodes around it. Slips are added."""
    if id(node) in sizes:
        return sizes[id(node)]
    if id(node) in above:
        raise _Unreadable(_place(node), "an alias to something that it is part of", "a value that ends")
    if isinstance(node, yaml.MappingNode):
        slips += _bad_keys(node)
    if node.tag not in _TAGS:
        raise _Unreadable(_place(node), f"a value tagged {node.tag.rpartition(':')[2]}", "a value that JSON has")
    above.add(id(node))
    parts: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        parts = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        parts = node.value
    sizes[id(node)] = 1 + sum(_size(part, sizes, above, slips) for part in parts)
    above.discard(id(node))
    return sizes[id(node)]


_ONCE: Final = {"id": "every key once, or `- id`, where the next one of the list begins"}
"""What is expected of a key that is there again, for those with which an entry of a list begins."""


def _bad_keys(node: yaml.MappingNode) -> Iterator[Problem]:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            if isinstance(key, yaml.MappingNode):
                yield Problem(_place(key), "a text that begins with {{", 'it in quotes: "{{name}}"')
            else:
                yield Problem(_place(key), "a key that is not a text", "a text as key")
            continue
        if key.tag == _TAG + "merge":
            continue
        if key.value in seen:
            expected = _ONCE.get(key.value, "every key once")
            found, wrong = f"the key {key.value!r} twice in one object", f"the key {key.value!r} is twice in one object"
            yield Problem(_place(key), found, expected, wrong, f"Write {expected}.", code=IN_WORDS)
        seen.add(key.value)
        # A key is always a text.
        key.tag = _TAG + "str"


def _place(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}"
