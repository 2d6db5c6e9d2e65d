"""Checks kinds from outside the repository, and prints the findings for their authors."""

from collections.abc import Sequence

import typer

from shared.errors import NotFound
from shared.stage_checks import check_kind
from shared.stages import brought, kinds


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
        raise NotFound("There are no kinds of others here. Name the folder in which their packages are.")
    return max(_told(name, seeds) for name in wanted)


def _told(name: str, seeds: Sequence[int]) -> int:
    found = list(check_kind(kinds()[name], seeds))
    for one in found:
        typer.echo(str(one))
    broken = sum(not one.is_note for one in found)
    count = "1 promise is" if broken == 1 else f"{broken} promises are"
    typer.echo(f"{name}: {f'{count} not kept' if broken else 'all promises are kept'}.")
    return int(broken > 0)
