"""Groups of commands: the persona library of a lab, agents for games in it, workbooks, stage kinds."""

from pathlib import Path
from typing import Annotated

import typer

from parley_lab.cli.cli_options import DataDir, Kinds, use_kinds

library = typer.Typer(
    help="The persona library of the lab in the data directory.", no_args_is_help=True, rich_markup_mode=None
)


@library.command("list")
def list_personas(data_dir: DataDir = Path(".parley")) -> None:
    """List the personas of the library, one a line: id, name, model, and the beginning of the text."""
    from parley_lab.cli.library import lines

    for line in lines(data_dir):
        typer.echo(line)


@library.command("import")
def import_personas(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A persona file, YAML or JSON.")],
    data_dir: DataDir = Path(".parley"),
) -> None:
    """Put the personas of a file into the library, all or none. Idempotent."""
    from parley_lab.cli.library import take_in

    typer.echo(take_in(data_dir, file))


@library.command("export")
def export_personas(
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The file to write; JSON when its name ends in .json. [the screen]"),
    ] = None,
    data_dir: DataDir = Path(".parley"),
) -> None:
    """Write the library as a persona file; importing it gives the same personas."""
    from parley_lab.cli.library import give_away

    content = give_away(data_dir, "json" if out is not None and out.suffix.lower() == ".json" else "yaml")
    if out is None:
        typer.echo(content, nl=False)
    else:
        from parley_lab.cli.library import write

        write(out, content)


arena = typer.Typer(help="Agents for games, in the persona library.", no_args_is_help=True, rich_markup_mode=None)
AgentId = Annotated[str, typer.Option("--id", metavar="ID", help="The id of the persona.")]


@arena.command("seed")
def seed_arena(data_dir: DataDir = Path(".parley")) -> None:
    """Put sixteen agents into the library: five personas, six policies, five that play by chance. Idempotent."""
    from parley_lab.cli.library import begin_arena

    typer.echo(begin_arena(data_dir))


@arena.command("import")
def import_agent(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An agent file of PD Arena, YAML or JSON.")],
    persona_id: AgentId,
    data_dir: DataDir = Path(".parley"),
) -> None:
    """Put the agent of a file into the library."""
    from parley_lab.cli.library import take_in_agent

    typer.echo(take_in_agent(data_dir, file, persona_id))


@arena.command("export")
def export_agent(persona_id: AgentId, data_dir: DataDir = Path(".parley")) -> None:
    """Print an agent of the library as an agent file."""
    from parley_lab.cli.library import give_away_agent

    typer.echo(give_away_agent(data_dir, persona_id), nl=False)


workbook = typer.Typer(
    help="Experiments that are written in spreadsheets.", no_args_is_help=True, rich_markup_mode=None
)


@workbook.callback()
def _workbook() -> None:
    pass


@workbook.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The .xlsx file to write.")],
) -> None:
    """Write a workbook to start from: a worked row on every sheet, and a note on every key and column."""
    from parley_lab.cli.workbook_file import write_template

    write_template(file)
    typer.echo(f"Wrote {file}. Fill it in, then: parley validate {file}")


@workbook.command("data")
def workbook_data(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The data.json of a workbook's experiment.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files are written.")] = Path("workbook"),
) -> None:
    """Write the files of a workbook's experiment from its data.json, such as a downloaded one."""
    from parley_lab.cli.workbook_file import write_files

    for name, rows in write_files(data, out).items():
        typer.echo(f"{out / name}: {rows}")


kinds = typer.Typer(help="The kinds of stages that experiments may have.", no_args_is_help=True, rich_markup_mode=None)


@kinds.command("list")
def list_kinds(kinds: Kinds = None) -> None:
    """List the kinds of stages, one a line, with where each comes from."""
    from parley_lab.kinds.stages import places

    for name, place in places().items():
        typer.echo(f"{name}: {place}")


@kinds.command()
def check(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="A folder with kinds, a package each. [kinds of installed packages]"),
    ] = None,
    names: Annotated[
        list[str] | None, typer.Option("--kind", metavar="NAME", help="Only this kind; give it once for each.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, metavar="N", help="Only what N draws, such as a failure again.")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, metavar="N", help="How many seeds are tried.")] = 20,
) -> None:
    """Play the example of each kind with random members in many orders, and tell every promise that it does not keep.

    Members leave, return, come late and fail. Exit codes: 0 all kept; 1 not; 2 no such kind.
    """
    use_kinds(folder)
    from parley_lab.cli.kind_checks import check_kinds

    raise typer.Exit(check_kinds(names or (), [seed] if seed is not None else range(1, runs + 1)))
