"""Moves every module to its room below `parley_lab`, and every name and path with it.

`python docs/moves/move.py` in a clean working copy moves files, rewrites imports, names in texts, and paths.
`python docs/moves/move.py --compare COMMIT` maps the names in the syntax trees of COMMIT and says where ours differ.

`rooms.csv` has the new name of each module; a row holds for all below its module, unless they have rows of their own.
`-` removes a package that has only a docstring. `?` finds the room by what a module imports, for those that came later.
`folders.csv` has files and folders outside of the sources, such as tests, that go elsewhere.
`replacements.toml` has what no rule covers: texts that say a name in another way.
"""

import argparse
import ast
import csv
import io
import re
import shutil
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
NAMESPACE: Final = "parley_lab"
TOPS: Final = ("shared", "formats", "web", "gateway", "orchestrator", "agent_worker", "prompt_builder", "parley")
SOURCES: Final = {
    "shared": "shared/src",
    "formats": "formats/src",
    "web": "web/src",
    "gateway": "services/gateway/src",
    "orchestrator": "services/orchestrator/src",
    "agent_worker": "services/agent-worker/src",
    "prompt_builder": "services/prompt-builder/src",
    "parley": "parley/src",
}
NOUNS: Final = (
    *("base", "contracts", "bus", "kinds", "views", "kind_checks", "design", "store", "members", "talk", "drafts"),
    *("answers", "people", "settle", "experiments", "data", "services", "testing"),
)
"""From the bottom up: each imports only those before it."""

TEXTS: Final = (
    *("*.md", "*.toml", "*.yaml", "*.yml", "*.js", "*.ts", "*.sh", "*.cfg", "*.mako", "*.sql", "*.json", "*Makefile"),
    *("*Dockerfile", ".ci/*", ".dockerignore", ".env.example", "deploy/env.example"),
)
AS_THEY_ARE: Final = (
    *(
        "docs/moves/",
        "docs/schema/",
        "docs/decisions/0034",
        "tests/flows/golden/",
        "web/package-lock.json",
        "web/src/web/pages/vendor/",
    ),
)
"""Files that move, when their folder does, and say what they say."""

LONGEST_LINE: Final = 120


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def tracked(*patterns: str) -> list[str]:
    return git("ls-files", "--", *patterns).splitlines()


def module_of(path: str) -> str | None:
    """The name of the module in this file; None outside of the sources."""
    for source in SOURCES.values():
        if path.startswith(f"{source}/") and path.endswith(".py"):
            return path.removeprefix(f"{source}/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return None


@dataclass
class Rooms:
    """Where each module of a tree goes. `read` gives the text of a file of the tree."""

    paths: list[str]
    read: Callable[[str], str]
    rows: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = _rows("rooms.csv")

    @cached_property
    def modules(self) -> dict[str, str]:
        """The files of the modules, by name."""
        return {name: path for path in self.paths if (name := module_of(path)) is not None}

    @cached_property
    def packages(self) -> set[str]:
        return {name for name, path in self.modules.items() if path.endswith("/__init__.py")}

    @cached_property
    def names(self) -> dict[str, str]:
        """The new name of each module, `-` for those that are removed."""
        return {name: self._new(name) for name in self.modules}

    def _new(self, module: str) -> str:
        if module in self.rows:
            return self.rows[module]
        parent, _, leaf = module.rpartition(".")
        rule = self.rows.get(f"{parent}.*", "")
        if rule == "?":
            return f"{NAMESPACE}.{self._lowest(module)}.{leaf}"
        if not parent:
            raise SystemExit(f"rooms.csv has no room for {module}")
        above = self._new(parent)
        if above in ("-", "?"):
            raise SystemExit(f"rooms.csv has no room for {module}")
        return f"{above}.{leaf}"

    def _lowest(self, module: str) -> str:
        """The first room, from `store` on, that may import all that the module imports."""
        imported = {self._new(name) for name in self._imports(module) if name != module}
        rooms = {name.split(".")[1] for name in imported if name != "-"} & set(NOUNS)
        return NOUNS[max([NOUNS.index("store"), *map(NOUNS.index, rooms)])]

    def _imports(self, module: str) -> Iterator[str]:
        for node in ast.walk(ast.parse(self.read(self.modules[module]))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    found = full if full in self.modules else node.module
                    if found in self.modules and self.rows.get(found) != "-":
                        yield found

    def of(self, dotted: str) -> str | None:
        """The dotted name with its longest part that is a module mapped; None if there is no such module."""
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            name = ".".join(parts[:length])
            if name in self.names and self.names[name] != "-":
                return ".".join([self.names[name], *parts[length:]])
        return None

    def path_of(self, path: str) -> str | None:
        """Where a file goes; None if it is removed."""
        module = module_of(path)
        if module is not None:
            new = self.names[module]
            if new == "-":
                return None
            return f"{_source(module)}/{new.replace('.', '/')}" + ("/__init__.py" if module in self.packages else ".py")
        for top, source in SOURCES.items():
            if path.startswith(f"{source}/{top}/"):
                return self._beside(path, source, top)
        return _moved(path)

    def _beside(self, path: str, source: str, top: str) -> str | None:
        """Where a file goes that is no module: with the package that it is in."""
        if path == "shared/src/shared/py.typed":
            return None
        *folders, name = path.removeprefix(f"{source}/").split("/")
        for length in range(len(folders), 0, -1):
            package = ".".join(folders[:length])
            if package in self.packages:
                break
        new = self.names[package].replace(".", "/")
        return "/".join([_source(top), new, *folders[length:], name])


def _source(module: str) -> str:
    return _moved(SOURCES[module.partition(".")[0]])


@cache
def _rows(name: str) -> dict[str, str]:
    with (HERE / name).open(newline="") as file:
        return {row["old"]: row["new"] for row in csv.DictReader(file)}


def _moved(path: str) -> str:
    for old, new in _rows("folders.csv").items():
        if path == old or path.startswith(f"{old}/"):
            return new + path.removeprefix(old)
    return path


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
        return _moved(path)

    def _source_path(self, path: str, source: str, top: str) -> str:
        parts = path.removeprefix(f"{source}/").split("/")
        for length in range(len(parts), 0, -1):
            name = ".".join([*parts[: length - 1], parts[length - 1].removesuffix(".py")])
            new = self.rooms.names.get(name, "-")
            if new != "-":
                end = ".py" if parts[length - 1].endswith(".py") else ""
                return "/".join([_source(top), new.replace(".", "/") + end, *parts[length:]])
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
                new = "/".join(["src", whole.removeprefix(f"{_source(parts[1])}/")])
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
            name = _dotted_name(node)
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


def _dotted_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        value = _dotted_name(node.value)
        return None if value is None else f"{value}.{node.attr}"
    return None


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


def replacements() -> list[dict[str, str]]:
    return list(tomllib.loads((HERE / "replacements.toml").read_text())["replacement"])


def move() -> None:
    rooms = Rooms(tracked("*"), lambda path: (ROOT / path).read_text(encoding="utf-8"))
    mapper = Mapper(rooms)
    taken = Counter(filter(None, map(rooms.path_of, rooms.paths)))
    if doubled := [path for path, count in taken.items() if count > 1]:
        raise SystemExit(f"two files go to {doubled}")
    texts = set(tracked(*TEXTS))
    contents: dict[str, str] = {}
    for path in rooms.paths:
        new = rooms.path_of(path)
        if new is None or path.startswith(AS_THEY_ARE) or not (path.endswith(".py") or path in texts):
            continue
        content = deeper((ROOT / path).read_text(encoding="utf-8"), path, new)
        mapped = mapper.python(content, path) if path.endswith(".py") else mapper.text(content)
        contents[new] = reflow(mapped) if path.endswith(".py") and mapped != content else mapped
    for path in rooms.paths:
        _relocate(path, rooms.path_of(path))
    for path, content in contents.items():
        (ROOT / path).write_text(content, encoding="utf-8")
    _remove_empty_folders()
    _add_packages()
    replace()
    _state_contracts()
    _format(contents)


def _relocate(path: str, new: str | None) -> None:
    if new is None:
        (ROOT / path).unlink()
    elif new != path:
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).rename(ROOT / new)


def _remove_empty_folders() -> None:
    for source, top in ((source, top) for top, source in SOURCES.items()):
        for folder in (ROOT / source / top, ROOT / source, (ROOT / source).parent):
            if folder.is_dir() and not any(one.is_file() and one.suffix != ".pyc" for one in folder.rglob("*")):
                shutil.rmtree(folder)


def _state_contracts() -> None:
    """The contracts of imports are new: they are at the end of the settings of the repository."""
    settings = ROOT / "pyproject.toml"
    before = settings.read_text(encoding="utf-8").partition("[tool.importlinter]\n")[0]
    settings.write_text(before + (HERE / "contracts.toml").read_text(encoding="utf-8"), encoding="utf-8")


def _add_packages() -> None:
    """A docstring and a mark of types for each package that has none."""
    with (HERE / "nouns.csv").open(newline="") as file:
        sentences = {row["noun"]: row["sentence"] for row in csv.DictReader(file)}
    for source in SOURCES.values():
        for package in sorted((ROOT / _moved(source) / NAMESPACE).iterdir()):
            if package.is_dir() and package.name != "__pycache__":
                (package / "py.typed").touch()
                if not (package / "__init__.py").exists():
                    (package / "__init__.py").write_text(f'"""{sentences[package.name]}"""\n')


def replace() -> None:
    """Makes the replacements; says which texts are no longer there."""
    for one in replacements():
        found = git("ls-files", "-co", "--exclude-standard", "--", one["file"]).splitlines()
        files = [path for path in found if (ROOT / path).is_file()]
        hits = [path for path in files if one["old"] in (ROOT / path).read_text(encoding="utf-8")]
        if not hits:
            print(f"{one['file']} does not have: {one['old']}", file=sys.stderr)
        for path in hits:
            text = (ROOT / path).read_text(encoding="utf-8").replace(one["old"], one["new"])
            (ROOT / path).write_text(text, encoding="utf-8")


def _format(paths: dict[str, str]) -> None:
    ruff = str(Path(sys.executable).parent / "ruff")
    modules = [path for path in paths if path.endswith(".py") and (ROOT / path).exists()]
    subprocess.run([ruff, "check", "--quiet", "--select", "I", "--fix", *modules], cwd=ROOT, check=False)
    subprocess.run([ruff, "format", "--quiet", *modules], cwd=ROOT, check=True)


# Comparing.
def compare(commit: str) -> int:
    """How many modules differ from those of the commit by more than names."""
    paths = git("ls-tree", "-r", "--name-only", commit).splitlines()
    rooms = Rooms(paths, lambda path: git("show", f"{commit}:{path}"))
    mapper = Mapper(rooms)
    differ = 0
    for path in paths:
        new = rooms.path_of(path)
        if not path.endswith(".py") or path.startswith(AS_THEY_ARE) or new is None:
            continue
        if not (ROOT / new).exists():
            print(f"{new} is not there")
            differ += 1
            continue
        before = _normal(ast.parse(deeper(git("show", f"{commit}:{path}"), path, new)), mapper)
        after = _normal(ast.parse((ROOT / new).read_text(encoding="utf-8")), None)
        if before != after:
            differ += 1
            print(f"{path} -> {new}")
            for old, now in zip(before[1].split("\n"), after[1].split("\n"), strict=False):
                if old != now:
                    print(f"  - {old.strip()}\n  + {now.strip()}")
                    break
            for gone in (before[0] - after[0]).elements():
                print(f"  - import {gone}")
            for added in (after[0] - before[0]).elements():
                print(f"  + import {added}")
    print(f"{differ} modules differ")
    return 1 if differ else 0


def _normal(tree: ast.Module, mapper: Mapper | None) -> tuple[Counter[tuple[str, ...]], str]:
    """The imports by the names that they bind, and the rest of the tree."""
    if mapper is not None:
        for node, name in list(mapper.attributes(tree)):
            node.__class__ = ast.Name
            node.__dict__.update(id=name)
            node.__dict__.pop("value", None)
            node.__dict__.pop("attr", None)
    imports: Counter[tuple[str, ...]] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            lines = mapper.import_from(node) if mapper else []
            for line in lines or [ast.unparse(node)]:
                (one,) = ast.parse(line).body
                assert isinstance(one, ast.ImportFrom)
                for alias in one.names:
                    imports[one.module or "", alias.name, alias.asname or ""] += 1
        elif isinstance(node, ast.Import):
            for alias in node.names:
                known = mapper is not None and alias.name in mapper.rooms.names
                name = (mapper.rooms.of(alias.name) or alias.name) if mapper and known else alias.name
                imports[name, alias.asname or ""] += 1
    tree = _Plain(mapper).visit(tree)
    return imports, ast.dump(tree, indent=0)


class _Plain(ast.NodeTransformer):
    """Takes imports away, and differences of spaces in texts."""

    def __init__(self, mapper: Mapper | None) -> None:
        self._mapper = mapper

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        name = _dotted_name(node)
        return ast.Name(id=name, ctx=ast.Load()) if name is not None and name.startswith(f"{NAMESPACE}.") else node

    def visit_List(self, node: ast.List) -> ast.AST:
        self._modules_of_commands(node.elts)
        return self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        self._modules_of_commands(node.elts)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self._modules_of_commands(node.args)
        return self.generic_visit(node)

    def _modules_of_commands(self, elements: list[ast.expr]) -> None:
        if self._mapper is None:
            return
        for option, module in pairwise(elements):
            is_command = isinstance(option, ast.Constant) and option.value == "-m"
            if is_command and isinstance(module, ast.Constant) and module.value in TOPS:
                module.value = self._mapper.rooms.names[str(module.value)]

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if self._mapper is not None and isinstance(node.op, ast.Div):
            source = ast.unparse(node).replace("'", '"')
            new = self._mapper.joined(source)
            if new != source:
                return self.generic_visit(ast.parse(new, mode="eval").body)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str):
            text = self._mapper.text(node.value) if self._mapper else node.value
            node.value = " ".join(text.split())
        return node


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", metavar="COMMIT", help="compare the trees here with those of this commit")
    parser.add_argument("--rooms", action="store_true", help="print the new name of each module, and do nothing")
    given = parser.parse_args()
    if given.compare:
        return compare(given.compare)
    if given.rooms:
        rooms = Rooms(tracked("*"), lambda path: (ROOT / path).read_text(encoding="utf-8"))
        print("\n".join(f"{old},{new}" for old, new in sorted(rooms.names.items())))
        return 0
    move()
    return 0


if __name__ == "__main__":
    sys.exit(main())
