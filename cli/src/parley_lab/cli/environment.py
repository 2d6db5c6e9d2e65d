"""The environment of a command: its variables, completed by `.env` in the working directory."""

import os
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from dotenv import dotenv_values

from parley_lab.base.errors import SettingsInvalid

if TYPE_CHECKING:
    from parley_lab.base.settings import ServerSettings

DOTENV = ".env"


def read_dotenv(folder: Path) -> None:
    """Read `.env` into the environment; variables that are set already win.

    Raises:
        SettingsInvalid: it cannot be read.
    """
    path = folder / DOTENV
    try:
        if not path.is_file():
            return
        content = path.read_bytes()
    except OSError as error:
        raise SettingsInvalid(f"{path} cannot be read: {error.strerror or error}.") from error
    text = _decode(content)
    if text is None:
        raise SettingsInvalid(f"{path} cannot be read: it is not in UTF-8. Save it in UTF-8.")
    for name, value in dotenv_values(stream=StringIO(text), interpolate=False).items():
        if value is not None:
            os.environ.setdefault(name, value)


def _decode(content: bytes) -> str | None:
    """The text, in UTF-8 or in what PowerShell and editors of Windows write; None if it is in something else."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Every command reads `.env`, and few need the decoder, whose package is large.
        from parley_lab.design.encoding import NotUtf8, decoded_table

        try:
            text = decoded_table(content)
        except NotUtf8:
            return None
    # UTF-16 without a mark at its beginning reads as UTF-8 with zeros.
    return None if "\0" in text else text


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
