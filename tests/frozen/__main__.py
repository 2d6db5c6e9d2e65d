"""What users and operators see of a version, as files: two versions are compared by them.

`python -m tests.frozen write FOLDER [PART ...]` writes all parts, or these.
`python -m tests.frozen compare A B` names what differs; it ends with 1 then.
"""

import argparse
import difflib
import shutil
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.frozen.parts import PARTS


def write(folder: Path, names: list[str]) -> int:
    for name in names or PARTS:
        shutil.rmtree(folder / name, ignore_errors=True)
        for path, content in PARTS[name]():
            target = folder / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        print(f"{name}: {sum(one.is_file() for one in (folder / name).rglob('*'))} files")
    return 0


def compare(before: Path, after: Path) -> int:
    files = [{path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} for folder in (before, after)]
    for path in sorted(files[0] - files[1]):
        print(f"{path} is gone")
    for path in sorted(files[1] - files[0]):
        print(f"{path} is new")
    changed = [path for path in sorted(files[0] & files[1]) if _differ(before / path, after / path)]
    for path in changed:
        print(f"{path} differs")
        for line in islice(_changes(before / path, after / path), 20):
            print(f"  {line[:200]}")
    differ = len(files[0] ^ files[1]) + len(changed)
    print(f"{differ} of {len(files[0] | files[1])} files differ")
    return 1 if differ else 0


def _differ(before: Path, after: Path) -> bool:
    return before.read_bytes() != after.read_bytes()


def _changes(before: Path, after: Path) -> Iterator[str]:
    old, new = (path.read_text(encoding="utf-8", errors="replace").splitlines() for path in (before, after))
    changes = difflib.unified_diff(old, new, lineterm="", n=0)
    return islice(changes, 2, None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("folder", type=Path)
    writing.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.before, given.after)
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"there are no such parts: {', '.join(sorted(unknown))}")
    return write(given.folder, given.parts)


if __name__ == "__main__":
    sys.exit(main())
