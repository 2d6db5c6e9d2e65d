"""Checks kinds from outside the repository, and prints the findings for their authors."""

from collections.abc import Sequence
from pathlib import Path

import typer

from parley_lab.base.errors import NotFound
from parley_lab.base.settings import KindSettings, read_settings
from parley_lab.kind_checks import check_kind
from parley_lab.kinds.stages import brought, kinds


def check_kinds(names: Sequence[str], seeds: Sequence[int]) -> int:
    """Check these kinds, or all from outside; returns the exit code.

    Raises:
        NotFound: there is no such kind.
    """
    unknown = [name for name in names if name not in kinds()]
    if unknown:
        raise NotFound(f"There is no kind {', '.join(unknown)}. There are: {', '.join(kinds())}.")
    wanted = names or brought()
    if not wanted:
        raise NotFound(_nothing_in(read_settings(KindSettings).kinds_dir))
    return max(_told(name, seeds) for name in wanted)


def _nothing_in(folder: Path | None) -> str:
    """That no kinds were found, with the folders below that have some."""
    if folder is None:
        return "No installed package brings kinds. Name the folder in which the packages of your kinds are."
    below = sorted({path.parent.parent for path in folder.glob("*/*/__init__.py")})
    there = f" Did you mean {' or '.join(map(str, below))}?" if below else ""
    return f"There are no kinds in {folder}: a kind is a package in it, a folder with an __init__.py.{there}"


def _told(name: str, seeds: Sequence[int]) -> int:
    found = list(check_kind(kinds()[name], seeds))
    for one in found:
        typer.echo(str(one))
    broken = sum(not one.is_note for one in found)
    count = "1 promise is" if broken == 1 else f"{broken} promises are"
    typer.echo(f"{name}: {f'{count} not kept' if broken else 'all promises are kept'}.")
    return int(broken > 0)
