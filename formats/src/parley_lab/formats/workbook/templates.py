"""Fills constants into the texts of a workbook, with the part of Jinja that always ends and needs bounded memory."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from jinja2 import StrictUndefined, Template, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from parley_lab.formats.workbook.cells import Cell
from parley_lab.formats.workbook.complaints import Complaints


class Flag(str):
    """`TRUE` or `FALSE` as typed; `{% if name %}` reads it as a boolean."""

    def __bool__(self) -> bool:
        return self.casefold() == "true"


FLAGS: Final = ("true", "false")
Constant = str | int | float


class _Shown:
    """A number that is calculated with as it is, and filled in as its cell shows it: 5 as `$5.00`."""

    shown: str

    def __str__(self) -> str:
        return self.shown


class _ShownInt(_Shown, int):
    pass


class _ShownFloat(_Shown, float):
    pass


def as_shown(number: int | float, shown: str) -> Constant:
    """The number, filled in as this text."""
    made: _ShownInt | _ShownFloat = _ShownInt(number) if isinstance(number, int) else _ShownFloat(number)
    made.shown = shown
    return made


_ALLOWED: Final = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.If,
    nodes.CondExpr,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Test,
    nodes.Filter,
    nodes.Concat,
    nodes.Add,
    nodes.Sub,
    nodes.Mul,
    nodes.Div,
    nodes.FloorDiv,
    nodes.Mod,
    nodes.Neg,
    nodes.Pos,
)
"""Loops, calls and definitions are left out, because one line with them could exhaust the memory."""
_FILTERS: Final = ("upper", "lower", "title", "capitalize", "trim", "int", "float", "round", "abs", "length")
_TESTS: Final = ("eq", "ne", "lt", "gt", "le", "ge", "even", "odd", "divisibleby")
_MARKS: Final = ("{{", "{%", "{#")
_PLACEHOLDER: Final = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)")
WRITE_BRACES: Final = "braces that are meant as such are written {{ '{{' }}, {{ '{%' }} or {{ '{#' }}"

_STUMBLES: Final = (
    TemplateError,
    ArithmeticError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)


class CannotRender(Exception):
    """Why a text cannot be filled in; `expected` says what is valid."""

    def __init__(self, wrong: str, expected: str) -> None:
        super().__init__(wrong)
        self.wrong = wrong
        self.expected = expected


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"*", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Refuses to multiply or format texts: either can make a gigabyte from one line."""
        if isinstance(left, str) or isinstance(right, str):
            raise TypeError("a text cannot be multiplied; write it as a number: {{ name|int * 2 }}")
        return super().call_binop(context, operator, left, right)


def _environment() -> _Environment:
    environment = _Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    environment.globals.clear()
    environment.filters = {name: environment.filters[name] for name in _FILTERS}
    environment.tests = {name: environment.tests[name] for name in _TESTS}
    return environment


_ENVIRONMENT: Final = _environment()


def has_placeholder(text: str) -> bool:
    """Whether the text has anything for Jinja to do."""
    return any(mark in text for mark in _MARKS)


def placeholders(text: str) -> list[str]:
    """The names between double braces, in order."""
    return _PLACEHOLDER.findall(text)


def render(text: str, constants: Mapping[str, Constant]) -> str:
    """The text with the constants in it.

    Raises:
        CannotRender: a placeholder names no constant, or the text is no valid template.
    """
    if not has_placeholder(text):
        return text
    try:
        parsed = _parsed(text)
        _check(parsed, constants)
        return _compiled(text).render(constants)
    except _STUMBLES as error:
        raise CannotRender(
            f"the text cannot be filled in ({_said(error)})", "text with {{name}} placeholders"
        ) from error


def _check(parsed: nodes.Template, constants: Mapping[str, Constant]) -> None:
    for node in _walk(parsed):
        if isinstance(node, nodes.Name) and node.name not in constants:
            known = f"one of {', '.join(constants)}" if constants else "no placeholder: there are no constants"
            raise CannotRender(f"the placeholder {node.name!r} names no constant", known)
        if not isinstance(node, _ALLOWED):
            name = type(node).__name__
            raise CannotRender(f"{name!r} of Jinja is not known here", "{{name}}, {% if %} and simple arithmetic")


def _walk(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _walk(child)


@lru_cache(maxsize=256)
def _parsed(text: str) -> nodes.Template:
    return _ENVIRONMENT.parse(text)


@lru_cache(maxsize=256)
def _compiled(text: str) -> Template:
    return _ENVIRONMENT.from_string(text)


def _said(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


@dataclass(frozen=True, slots=True)
class Filling:
    """Reads texts under one permutation; a complaint common to all permutations is reported once."""

    constants: Mapping[str, Constant]
    complaints: Complaints

    def text(self, cell: Cell) -> str:
        """The text of the cell with constants filled in; unchanged when it cannot be filled in."""
        if not isinstance(cell.value, str):
            return cell.text
        try:
            return render(cell.text, self.constants)
        except CannotRender as error:
            self.complaints.cell(cell, error.wrong, error.expected, hint=WRITE_BRACES)
            return cell.text
