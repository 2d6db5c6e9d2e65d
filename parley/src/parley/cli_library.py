"""Commands for the persona library of a lab, and for agents for games in it."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli_options import DataDir

library = typer.Typer(
    help="The persona library of the lab in the data directory.", no_args_is_help=True, rich_markup_mode=None
)


@library.command("list")
def list_personas(data_dir: DataDir = Path(".parley")) -> None:
    """List the personas of the library, one a line: id, name, model, and the beginning of the text."""
    from parley.library import lines

    for line in lines(data_dir):
        typer.echo(line)


@library.command("import")
def import_personas(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A persona file, YAML or JSON.")],
    data_dir: DataDir = Path(".parley"),
) -> None:
    """Put the personas of a file into the library, all or none; twice is once."""
    from parley.library import take_in

    typer.echo(take_in(data_dir, file))


@library.command("export")
def export_personas(
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The file to write; JSON when its name ends in .json. [the screen]"),
    ] = None,
    data_dir: DataDir = Path(".parley"),
) -> None:
    """Write the library as a persona file, which gives the same personas when it is imported."""
    from parley.library import give_away

    content = give_away(data_dir, "json" if out is not None and out.suffix.lower() == ".json" else "yaml")
    if out is None:
        typer.echo(content, nl=False)
    else:
        from parley.library import write

        write(out, content)


arena = typer.Typer(help="Agents for games, in the persona library.", no_args_is_help=True, rich_markup_mode=None)
AgentId = Annotated[str, typer.Option("--id", metavar="ID", help="The id of the persona.")]


@arena.command("seed")
def seed_arena(data_dir: DataDir = Path(".parley")) -> None:
    """Put sixteen agents into the library: five personas, six policies, five that play by chance; twice is once."""
    from parley.library import begin_arena

    typer.echo(begin_arena(data_dir))


@arena.command("import")
def import_agent(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An agent file of PD Arena, YAML or JSON.")],
    persona_id: AgentId,
    data_dir: DataDir = Path(".parley"),
) -> None:
    """Put the agent of a file into the library."""
    from parley.library import take_in_agent

    typer.echo(take_in_agent(data_dir, file, persona_id))


@arena.command("export")
def export_agent(persona_id: AgentId, data_dir: DataDir = Path(".parley")) -> None:
    """Print an agent of the library as an agent file."""
    from parley.library import give_away_agent

    typer.echo(give_away_agent(data_dir, persona_id), nl=False)
