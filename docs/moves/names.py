"""Maps names in texts and in code."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from typing import Final

from rooms import SOURCES, TOPS, Rooms, moved, source_of

# Names in texts. A name of one part is too often a word, so it needs `-m` before it.
_TOP: Final = "|".join(TOPS)
_DOTTED: Final = re.compile(rf"(?<![\w./@-])(?:{_TOP})(?:\.[A-Za-z_]\w*)+")
_COMMAND: Final = re.compile(rf"""(-m"?,?\ "?)({_TOP})(?![\w.])""", re.VERBOSE)
_IMPORT: Final = re.compile(rf"^([ \t]*(?:>>> )?)(from (?:{_TOP})(?:\.\w+)* import [\w, ]+)$", re.MULTILINE)
_PATH: Final = re.compile(
    r"(?<![\w./-])((?:\.\./)*)((?:shared|formats|web|parley|services/[a-z-]+)/(?:src|tests)(?:/[\w.*-]+)*)"
)
_SHORT_PATH: Final = re.compile(r"(?<![\w./-])(shared(?:/[a-z_]\w*)+)((?:\.py)?)")
_JOINED: Final = re.compile(r'"[\w.-]+"(?: / "[\w.*-]+")+')


class Mapper:
    """Maps names in texts and in code."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms

    def text(self, text: str) -> str:
        text = _IMPORT.sub(self._import_line, text)
        text = _DOTTED.sub(lambda found: self._dotted(found[0]), text)
        text = _COMMAND.sub(lambda found: found[1] + self.rooms.names[found[2]], text)
        text = _PATH.sub(lambda found: found[1] + self._path(found[2]), text)
        return _SHORT_PATH.sub(lambda found: self._short_path(found[1], found[2]), text)

    def _dotted(self, name: str) -> str:
        top, _, rest = name.partition(".")
        first = f"{top}.{rest.partition('.')[0]}"
        return (self.rooms.of(name) or name) if first in self.rooms.names else name

    def _import_line(self, found: re.Match[str]) -> str:
        (node,) = ast.parse(found[2]).body
        assert isinstance(node, ast.ImportFrom)
        lines = self.import_from(node)
        return "\n".join(f"{found[1]}{line}" for line in lines) if lines else found[0]

    def _path(self, path: str) -> str:
        for top, source in SOURCES.items():
            if path.startswith(f"{source}/{top}/"):
                return self._source_path(path, source, top)
        return moved(path)

    def _source_path(self, path: str, source: str, top: str) -> str:
        parts = path.removeprefix(f"{source}/").split("/")
        for length in range(len(parts), 0, -1):
            name = ".".join([*parts[: length - 1], parts[length - 1].removesuffix(".py")])
            new = self.rooms.names.get(name, "-")
            if new != "-":
                end = ".py" if parts[length - 1].endswith(".py") else ""
                return "/".join([source_of(top), new.replace(".", "/") + end, *parts[length:]])
        return path

    def _short_path(self, path: str, end: str) -> str:
        name = path.replace("/", ".")
        for cut in range(len(name.split("."))):
            parts = name.split(".")
            first, rest = ".".join(parts[: len(parts) - cut]), parts[len(parts) - cut :]
            new = self.rooms.names.get(first, "-")
            if new != "-" and first != "shared":
                return "/".join(["shared/src", new.replace(".", "/"), *rest]) + end
        return path + end

    def joined(self, code: str) -> str:
        """Paths that are put together from strings."""

        def replaced(found: re.Match[str]) -> str:
            parts = [part.strip('"') for part in found[0].split(" / ")]
            new = self._path("/".join(parts))
            if parts[0] == "src" and len(parts) > 1 and parts[1] in TOPS:
                source = SOURCES[parts[1]]
                whole = self._source_path("/".join([source, *parts[1:]]), source, parts[1])
                new = "/".join(["src", whole.removeprefix(f"{source_of(parts[1])}/")])
            return " / ".join(f'"{part}"' for part in new.split("/"))

        return _JOINED.sub(replaced, code)

    def import_from(self, node: ast.ImportFrom) -> list[str]:
        """The statements that import the same; none if nothing of ours is imported."""
        if node.level or node.module is None or node.module not in self.rooms.names:
            return []
        by_module: dict[str, list[str]] = {}
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            if full in self.rooms.names and self.rooms.names[full] != "-":
                module, _, name = self.rooms.names[full].rpartition(".")
            else:
                module, name = self.rooms.names[node.module], alias.name
            known = alias.asname or (alias.name if name != alias.name else None)
            by_module.setdefault(module, []).append(f"{name} as {known}" if known else name)
        return [f"from {module} import {', '.join(names)}" for module, names in sorted(by_module.items())]

    def python(self, source: str, path: str) -> str:
        """The module with its imports, the names in its texts and comments, and its paths mapped."""
        tree = ast.parse(source)
        edits = [*self._import_edits(tree, source, path), *self._attribute_edits(tree, source)]
        edits += self._token_edits(source, [(begin, end) for begin, end, _ in edits])
        for begin, end, text in sorted(edits, reverse=True):
            source = source[:begin] + text + source[end:]
        return self.joined(source)

    def _import_edits(self, tree: ast.AST, source: str, path: str) -> Iterator[tuple[int, int, str]]:
        at = _Offsets(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                lines = self.import_from(node)
                if not lines:
                    continue
                begin, end = at.of(node)
                if "#" in source[begin:end]:
                    print(f"{path}:{node.lineno}: a comment inside an import is lost", file=sys.stderr)
                yield begin, end, f"\n{' ' * node.col_offset}".join(lines)
            elif isinstance(node, ast.Import) and any(alias.name in self.rooms.names for alias in node.names):
                begin, end = at.of(node)
                said = [
                    (self.rooms.of(alias.name) or alias.name) + (f" as {alias.asname}" if alias.asname else "")
                    for alias in node.names
                ]
                yield begin, end, f"import {', '.join(said)}"

    def imported_tops(self, tree: ast.AST) -> set[str]:
        """The first parts of modules that are imported whole."""
        found = (alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names)
        return {alias.name.partition(".")[0] for alias in found if not alias.asname} & set(TOPS)

    def attributes(self, tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
        """The expressions that name a module, where modules are imported whole, with its new name."""
        tops = self.imported_tops(tree)
        inner: set[int] = set()
        for node in ast.walk(tree):
            if id(node) in inner or not isinstance(node, ast.Attribute | ast.Name):
                continue
            name = dotted_name(node)
            if name is None or name.partition(".")[0] not in tops:
                continue
            inner.update(map(id, ast.walk(node)))
            while name not in self.rooms.names or self.rooms.names[name] == "-":
                if not isinstance(node, ast.Attribute):
                    break
                node = node.value
                assert isinstance(node, ast.Attribute | ast.Name)
                name = name.rpartition(".")[0]
            else:
                yield node, self.rooms.names[name]

    def _attribute_edits(self, tree: ast.AST, source: str) -> Iterator[tuple[int, int, str]]:
        at = _Offsets(source)
        for node, name in self.attributes(tree):
            yield *at.of(node), name

    def _token_edits(self, source: str, taken: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
        at = _Offsets(source)
        kinds = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in kinds:
                continue
            begin, end = at.at(*token.start), at.at(*token.end)
            new = self.text(source[begin:end])
            if new != source[begin:end] and not any(first <= begin < last for first, last in taken):
                yield begin, end, new
        # `-m` and the module after it are two strings.
        for found in _COMMAND.finditer(source):
            if '"' in found[1]:
                yield found.start(2), found.end(2), self.rooms.names[found[2]]


class _Offsets:
    """Where lines and columns are in a text."""

    def __init__(self, source: str) -> None:
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def of(self, node: ast.AST) -> tuple[int, int]:
        first, last = self.lines[node.lineno - 1], self.lines[node.end_lineno - 1]  # type: ignore[attr-defined]
        begin = len(first.encode()[: node.col_offset].decode())  # type: ignore[attr-defined]
        end = len(last.encode()[: node.end_col_offset].decode())  # type: ignore[attr-defined]
        return self.at(node.lineno, begin), self.at(node.end_lineno, end)  # type: ignore[attr-defined]


def dotted_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        value = dotted_name(node.value)
        return None if value is None else f"{value}.{node.attr}"
    return None
