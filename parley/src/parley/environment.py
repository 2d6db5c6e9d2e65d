"""The environment that a command runs in: what is set, and below it what `.env` in the working directory says."""

import os
from pathlib import Path

from dotenv import dotenv_values

DOTENV = ".env"


def read_dotenv(folder: Path) -> None:
    """Put the variables of `.env` into the environment; one that is set already wins."""
    path = folder / DOTENV
    if not path.is_file():
        return
    for name, value in dotenv_values(path, interpolate=False).items():
        if value is not None:
            os.environ.setdefault(name, value)
