"""Groups of commands for operators."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley_lab.base.errors import InvalidInput
from parley_lab.cli.cli_options import DataDir

if TYPE_CHECKING:
    from parley_lab.bus.contract import Fate

providers = typer.Typer(help="Providers of models.", no_args_is_help=True, rich_markup_mode=None)


@providers.callback()
def _providers() -> None:
    pass


@providers.command("test")
def call_providers(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this provider. [all]")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="The model to call.")] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="Where to call NAME, as a persona may say.")
    ] = None,
) -> None:
    """Ask each provider that has a key what a run asks, and say what is wrong with it and what it can do.

    Exit codes: 0 all that are configured answer; 1 one does not; 2 none is configured.
    """
    from parley_lab.agent_worker.trying import told, try_providers
    from parley_lab.contracts.endpoints import read_endpoints
    from parley_lab.contracts.secret_files import read_secret_files

    read_secret_files(os.environ)
    # With a broker it is a distributed lab, where the operator alone says which addresses are called.
    endpoints = read_endpoints(os.environ, is_open=not os.environ.get("PARLEY_AMQP_URL"))
    trying = try_providers(os.environ, endpoints, only=name, model=model, base_url=base_url)
    raise typer.Exit(told(asyncio.run(trying)))


keys = typer.Typer(help="API keys of a lab.", no_args_is_help=True, rich_markup_mode=None)


def console(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experimenter who signs in.")] = "operator",
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="Where the lab is served. [where the lab of --data-dir serves]"),
    ] = None,
    data_dir: DataDir = Path(".parley"),
) -> None:
    """Print an address of the console that signs in once, within ten minutes, by a key of NAME that is valid."""
    from parley_lab.cli import key_commands

    typer.echo(key_commands.console(data_dir, name, url))


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experimenter whose key it is.")],
    scopes: Annotated[
        list[str] | None, typer.Option("--scope", metavar="SCOPE", help="read, write or admin. [read and write]")
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=36_500, metavar="N", help="For how long it is valid.")
    ] = None,
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="What it is for.")] = "",
    data_dir: DataDir = Path(".parley"),
) -> None:
    """Make a key and print it; it is shown only here. With `admin` it makes and revokes keys of others over REST."""
    from parley_lab.cli import key_commands
    from parley_lab.store.keys import ALL_SCOPES, OPERATORS_SCOPES

    chosen = [scope for scope in OPERATORS_SCOPES if scope in (scopes or ALL_SCOPES)]
    if len(chosen) != len(set(scopes or ALL_SCOPES)):
        raise InvalidInput(f"A scope is one of: {', '.join(OPERATORS_SCOPES)}.")
    typer.echo(key_commands.create(data_dir, name, scopes=chosen, days=days, label=label))


@keys.command("list")
def list_keys(data_dir: DataDir = Path(".parley")) -> None:
    """List the keys, one a line, without their secrets: id, beginning, experimenter, scopes, how long it is valid."""
    from parley_lab.cli import key_commands

    for line in key_commands.lines(data_dir):
        typer.echo(line)


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the key, or how it begins.")],
    data_dir: DataDir = Path(".parley"),
) -> None:
    """End a key: it is refused from now on. Idempotent."""
    from parley_lab.cli import key_commands

    typer.echo(key_commands.revoke(data_dir, key_id))


dead = typer.Typer(
    help="Hints that a distributed lab has given up, at PARLEY_AMQP_URL.", no_args_is_help=True, rich_markup_mode=None
)


@dead.callback()
def _dead() -> None:
    from parley_lab.cli.lab_logs import log_errors_alone

    log_errors_alone()


Chosen = Annotated[str | None, typer.Argument(metavar="ID", help="The id of a dead letter, as the list shows it.")]
All = Annotated[bool, typer.Option("--all", help="All of them.")]


@dead.command("list")
def list_dead() -> None:
    """List them, one a line: id, queue, type, the id of the row, correlation."""
    from parley_lab.cli.dead_letters import letters

    for letter in letters():
        typer.echo(letter.line)


@dead.command("show")
def show_dead(chosen: Annotated[str, typer.Argument(metavar="ID", help="The id of a dead letter.")]) -> None:
    """Show one, with what to do about it."""
    from parley_lab.cli.dead_letters import letters, no_such

    found = [letter for letter in letters() if letter.id == chosen]
    if not found:
        raise no_such(chosen)
    for line in found[0].lines:
        typer.echo(line)


@dead.command("replay")
def replay_dead(chosen: Chosen = None, everything: All = False) -> None:
    """Put it back into its queue, where it is handled again."""
    from parley_lab.bus.contract import Fate

    typer.echo(f"Put back: {_decided(chosen, everything, Fate.REPLAY)}")


@dead.command("drop")
def drop_dead(chosen: Chosen = None, everything: All = False) -> None:
    """Delete it."""
    from parley_lab.bus.contract import Fate

    typer.echo(f"Dropped: {_decided(chosen, everything, Fate.DROP)}")


def _decided(chosen: str | None, everything: bool, fate: "Fate") -> int:
    from parley_lab.cli.dead_letters import decide

    if everything is (chosen is not None):
        raise InvalidInput("Name one dead letter, or all of them with --all.")
    return decide(chosen, fate)


def doctor(
    folder: Annotated[
        Path, typer.Option("--disk", metavar="DIR", exists=True, help="Whose disk is looked at.")
    ] = Path(),
    data_dir: DataDir = Path(".parley"),
) -> None:
    """Say what is wrong with the lab at PARLEY_DATABASE_URL and PARLEY_AMQP_URL, and what to do.

    Without these addresses: with the embedded lab in --data-dir. Exit codes: 0 nothing; 1 something is wrong; 2 there
    is no lab, or an address is missing.
    """
    from parley_lab.base.clock import SystemClock
    from parley_lab.cli.directory import DataDirectory
    from parley_lab.cli.doctor import Bounds, embedded_faults, faults
    from parley_lab.cli.lab_logs import log_errors_alone
    from parley_lab.contracts.secret_files import ADDRESSES_OF_SERVERS, read_secret_files

    log_errors_alone()
    read_secret_files(os.environ, only=ADDRESSES_OF_SERVERS)
    if any(name in os.environ for name in ADDRESSES_OF_SERVERS):
        found = asyncio.run(faults(SystemClock(), folder, Bounds()))
    elif data_dir.is_dir():
        found = asyncio.run(embedded_faults(SystemClock(), DataDirectory(data_dir), Bounds()))
    else:
        raise DataDirectory(data_dir).no_lab()
    for fault in found:
        typer.echo(fault)
    if not found:
        typer.echo("All is well.")
    raise typer.Exit(int(bool(found)))
