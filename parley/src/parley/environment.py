"""The environment of a command: its variables, completed by `.env` in the working directory."""

import os
from pathlib import Path

from dotenv import dotenv_values

DOTENV = ".env"


def read_dotenv(folder: Path) -> None:
    """Read `.env` into the environment; variables that are set already win."""
    path = folder / DOTENV
    if not path.is_file():
        return
    for name, value in dotenv_values(path, interpolate=False).items():
        if value is not None:
            os.environ.setdefault(name, value)
