"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated, Literal

import typer

File = Annotated[Path, typer.Argument(metavar="FILE", help="An experiment file (YAML or JSON) or a workbook.")]

ModelsOption = Annotated[
    Literal["mock", "real"] | None,
    typer.Option("--models", help="Which models speak: made-up replies that cost nothing, or real ones. [the file's]"),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where a folder for the data is made.")]
DataDir = Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="Where the lab keeps its database and logs.")]

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
        "--patience", min=0, metavar="MINUTES", help="How long to wait for a key that a provider refuses, then stop."
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
RunId = Annotated[str, typer.Argument(metavar="ID", help="The id of a run, or its beginning; `parley runs` shows it.")]
