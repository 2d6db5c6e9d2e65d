"""Commands about the runs of a lab: what there is, and what becomes of one."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from parley_lab.cli.cli_options import DataDir, Kinds, RunId, expand_home

OtherOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        callback=expand_home,
        help="Another place for its data than the one where it was begun.",
    ),
]


def list_runs(data_dir: DataDir = Path(".parley"), kinds: Kinds = None) -> None:
    """List the runs of the lab, finished or not, with what they have cost."""
    from parley_lab.cli.lifecycle import runs

    for line in runs(data_dir):
        typer.echo(line)


def stop(run: RunId, data_dir: DataDir = Path(".parley"), kinds: Kinds = None) -> None:
    """Pause a run. Nothing is published, asked, timed or paid in it until it is resumed."""
    from parley_lab.cli import lifecycle

    typer.echo(lifecycle.stop(data_dir, run))


def resume(run: RunId, data_dir: DataDir = Path(".parley"), kinds: Kinds = None) -> None:
    """Go on with a paused run in a lab that runs. Elsewhere: parley run FILE --resume."""
    from parley_lab.cli import lifecycle

    typer.echo(lifecycle.resume(data_dir, run))


def end(run: RunId, out: OtherOut = None, data_dir: DataDir = Path(".parley"), kinds: Kinds = None) -> None:
    """End a run with the data that there are."""
    from parley_lab.cli import lifecycle

    typer.echo(lifecycle.end(data_dir, run, out))


def discard(run: RunId, out: OtherOut = None, data_dir: DataDir = Path(".parley"), kinds: Kinds = None) -> None:
    """Delete a run and all that the lab has stored of it."""
    from parley_lab.cli import lifecycle

    typer.echo(lifecycle.discard(data_dir, run, out))


def export(run: RunId, out: OtherOut = None, data_dir: DataDir = Path(".parley"), kinds: Kinds = None) -> None:
    """Write the data of a run so far; the run goes on meanwhile."""
    from parley_lab.cli import lifecycle

    typer.echo(lifecycle.export(data_dir, run, out))


def remove(
    run: RunId,
    seat: Annotated[str, typer.Argument(metavar="SEAT", help="The path of the seat, such as c1/m2.")],
    reason: Annotated[str, typer.Option("--reason", help="Kept with the data.")] = "",
    data_dir: DataDir = Path(".parley"),
    kinds: Kinds = None,
) -> None:
    """Take a seat out of a run for good, so that its group need not wait for a person who does not come."""
    from parley_lab.cli import lifecycle

    typer.echo(lifecycle.remove(data_dir, run, seat, reason))


def watch(run: RunId, data_dir: DataDir = Path(".parley"), kinds: Kinds = None) -> None:
    """Show what happens in a run: joins, stages, messages, alerts. Ctrl-C ends the watching, and not the run."""
    from parley_lab.cli import looking_on

    with suppress(KeyboardInterrupt):
        looking_on.watch(data_dir, run)


def link(
    run: RunId,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="The address of the lab for people, if it is another.")
    ] = None,
    data_dir: DataDir = Path(".parley"),
    kinds: Kinds = None,
) -> None:
    """Print the address at which people join a run."""
    from parley_lab.cli import lifecycle

    typer.echo(lifecycle.link(data_dir, run, url))


def message(
    run: RunId,
    seat: Annotated[str, typer.Argument(metavar="SEAT", help="The path of the seat, such as c1/m2.")],
    words: Annotated[str, typer.Argument(metavar="TEXT", help="What the person reads on their page.")],
    data_dir: DataDir = Path(".parley"),
    kinds: Kinds = None,
) -> None:
    """Say something to a person who takes part."""
    from parley_lab.cli import lifecycle

    typer.echo(lifecycle.message(data_dir, run, seat, words))


def guests(
    run: RunId,
    ids: Annotated[
        Path | None,
        typer.Argument(metavar="[IDS]", help="A text file with an external id on each line; left out: print the list."),
    ] = None,
    everybody: Annotated[bool, typer.Option("--everybody", help="Take the list away: everybody may join.")] = False,
    no_one: Annotated[bool, typer.Option("--nobody", help="Store an empty list: no one may join.")] = False,
    data_dir: DataDir = Path(".parley"),
    kinds: Kinds = None,
) -> None:
    """Let certain people join a run and no others, or show who of them came."""
    from parley_lab.cli import lifecycle

    if everybody + no_one + (ids is not None) > 1:
        raise typer.BadParameter("Give a file, --everybody or --nobody: only one of them.")
    if everybody:
        typer.echo(lifecycle.take_guest_list_away(data_dir, run))
    elif no_one:
        typer.echo(lifecycle.set_guests(data_dir, run, []))
    elif ids is None:
        typer.echo(lifecycle.guests(data_dir, run))
    else:
        typer.echo(lifecycle.set_guests(data_dir, run, lifecycle.read_ids(ids)))
