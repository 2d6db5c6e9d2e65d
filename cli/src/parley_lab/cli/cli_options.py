"""Arguments and options that several commands take."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

File = Annotated[Path, typer.Argument(metavar="FILE", help="An experiment file (YAML or JSON) or a workbook.")]

ModelsOption = Annotated[
    Literal["mock", "real"] | None,
    typer.Option("--models", help="Which models speak: made-up replies that cost nothing, or real ones. [the file's]"),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The real model of personas that name none, such as claude-haiku-4-5 or ollama/llama3.2.",
    ),
]


def expand_home(folder: Path | None) -> Path | None:
    """The folder with `~` replaced: a shell leaves it as it is in `--out=~/data`."""
    try:
        return folder and folder.expanduser()
    except RuntimeError as error:
        raise typer.BadParameter(f"{folder}: there is no such user. Write the path in full.") from error


Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", callback=expand_home, help="Where a folder for the data is made.")
]
DataDir = Annotated[
    Path,
    typer.Option("--data-dir", metavar="DIR", callback=expand_home, help="Where the lab keeps its database and logs."),
]


def use_kinds(folder: Path | None) -> None:
    """Name the folder before `parley_lab.kinds.stages` is imported, which finds all kinds at its import."""
    if folder is not None and "parley_lab.kinds.stages" in sys.modules:
        raise RuntimeError("--kinds comes too late: kinds were read before it")
    if folder is not None:
        os.environ["PARLEY_KINDS_DIR"] = str(folder.absolute())


Kinds = Annotated[
    Path | None,
    typer.Option(
        "--kinds",
        metavar="DIR",
        expose_value=False,
        callback=use_kinds,
        help="A folder with stage kinds of others, a package each. [PARLEY_KINDS_DIR]",
    ),
]
"""The option acts when it is parsed."""

People = Annotated[
    list[str] | None,
    typer.Option(
        "--people",
        metavar="SEAT",
        help="A seat of a workbook that a person takes by joining: a role, or session/role; give it once for each.",
    ),
]
Sessions = Annotated[
    int | None, typer.Option("--sessions", min=1, metavar="N", help="Only the first N sessions of a workbook. [all]")
]

DrawsOption = Annotated[
    Literal["reference", "parley"],
    typer.Option("--draws", help="How a workbook's draws are made: as the reference does, or each with its own seed."),
]

PatienceOption = Annotated[
    float,
    typer.Option(
        "--patience",
        min=0,
        max=525_600,
        metavar="MINUTES",
        help="How long to wait for a key that a provider refuses, then stop.",
    ),
]

MaxCallsOption = Annotated[
    int | None,
    typer.Option(
        "--max-calls",
        min=1,
        metavar="N",
        help="Pause each experiment when it has made N calls of real models in all. [the file's limits.calls]",
    ),
]
StepsOption = Annotated[
    bool, typer.Option("--steps", help="Show every step of a game and the like, not only what it came to.")
]
RehearseOption = Annotated[
    bool, typer.Option("--rehearse", help="Made-up people take the open seats, to try a study before real ones come.")
]
NoShowsOption = Annotated[
    int, typer.Option("--no-shows", min=0, metavar="N", help="With --rehearse: N of the made-up people never come.")
]
SilentOption = Annotated[
    int, typer.Option("--silent", min=0, metavar="N", help="With --rehearse: N of them join, and then do nothing more.")
]
ClosingOption = Annotated[
    int, typer.Option("--closing", min=0, metavar="N", help="With --rehearse: N of them close the page and come back.")
]
DecliningOption = Annotated[
    int,
    typer.Option(
        "--declining",
        min=0,
        metavar="N",
        help="With --rehearse: N of them decline the terms; without terms they leave.",
    ),
]
BurstsOption = Annotated[
    int, typer.Option("--bursts", min=1, metavar="N", help="With --rehearse: they come in N bursts. [all at once]")
]
AsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="PERSONA",
        help="With --rehearse: they answer as this persona of the file; give it several times for several in turn.",
    ),
]
RunId = Annotated[str, typer.Argument(metavar="ID", help="The id of a run, or its beginning; `parley runs` shows it.")]
