"""The environment of a command: its variables, completed by `.env` in the working directory."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dotenv import dotenv_values

if TYPE_CHECKING:
    from parley_lab.base.settings import ServerSettings

DOTENV = ".env"


def read_dotenv(folder: Path) -> None:
    """Read `.env` into the environment; variables that are set already win."""
    path = folder / DOTENV
    if not path.is_file():
        return
    for name, value in dotenv_values(path, interpolate=False).items():
        if value is not None:
            os.environ.setdefault(name, value)


def read_servers() -> "ServerSettings":
    """The servers that the environment names, by their addresses or by the files that hold these.

    Raises:
        SettingsInvalid: a file cannot be read, or an address.
    """
    # Every command reads `.env`, and few need these.
    from parley_lab.base.settings import ServerSettings, read_settings
    from parley_lab.contracts.secret_files import ADDRESSES_OF_SERVERS, read_secret_files

    read_secret_files(os.environ, only=ADDRESSES_OF_SERVERS)
    return read_settings(ServerSettings)
