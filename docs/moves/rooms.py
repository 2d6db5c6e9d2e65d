"""Where each module and file goes."""

import ast
import csv
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
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
        self.rows = rows_of("rooms.csv")

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
            return f"{source_of(module)}/{new.replace('.', '/')}" + (
                "/__init__.py" if module in self.packages else ".py"
            )
        for top, source in SOURCES.items():
            if path.startswith(f"{source}/{top}/"):
                return self._beside(path, source, top)
        return moved(path)

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
        return "/".join([source_of(top), new, *folders[length:], name])


def source_of(module: str) -> str:
    return moved(SOURCES[module.partition(".")[0]])


@cache
def rows_of(name: str) -> dict[str, str]:
    with (HERE / name).open(newline="") as file:
        return {row["old"]: row["new"] for row in csv.DictReader(file)}


def moved(path: str) -> str:
    for old, new in rows_of("folders.csv").items():
        if path == old or path.startswith(f"{old}/"):
            return new + path.removeprefix(old)
    return path
