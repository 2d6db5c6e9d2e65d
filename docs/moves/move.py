"""Moves every module to its room below `parley_lab`, and every name and path with it.

`python docs/moves/move.py` in a clean working copy moves files, rewrites imports, names in texts, and paths.
`python docs/moves/move.py --compare COMMIT` maps the names in the syntax trees of COMMIT and says where ours differ.

`rooms.csv` has the new name of each module; a row holds for all below its module, unless they have rows of their own.
`-` removes a package that has only a docstring. `?` finds the room by what a module imports, for those that came later.
`folders.csv` has files and folders outside of the sources, such as tests, that go elsewhere.
`replacements.toml` has what no rule covers: texts that say a name in another way.
"""

import argparse
import csv
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Final

from comparing import compare
from names import Mapper
from rooms import AS_THEY_ARE, HERE, NAMESPACE, ROOT, SOURCES, Rooms, git, moved, tracked
from texts import deeper, reflow

TEXTS: Final = (
    *("*.md", "*.toml", "*.yaml", "*.yml", "*.js", "*.ts", "*.sh", "*.cfg", "*.mako", "*.sql", "*.json", "*Makefile"),
    *("*Dockerfile", ".ci/*", ".dockerignore", ".env.example", "deploy/env.example"),
)


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
        for package in sorted((ROOT / moved(source) / NAMESPACE).iterdir()):
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
