"""The lab's data directory: its lock, the stamp of its version, the local key, the logs."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from uuid import UUID

from parley_lab.base.errors import NotFound, SettingsInvalid
from parley_lab.base.process_lock import HeldElsewhere, ProcessLock


class InUse(SettingsInvalid):
    """Another process holds the directory."""


class DataDirectory:
    """Paths in the directory, and the lock that a lab holds while it runs."""

    def __init__(self, path: Path) -> None:
        # The embedded PostgreSQL expands `~` as well: both have to find the same folder.
        self.path = path = path.expanduser()
        self.postgres = path / "postgres"
        self.api_key = path / "api-key"
        self.log = path / "logs" / "lab.log"
        self._lock = path / "lock"
        self._address = path / "address"
        self._runs = path / "runs"
        self._stamp = path / "lab.json"

    def make(self) -> None:
        """Make the directory and its folders; idempotent.

        Raises:
            SettingsInvalid: it cannot be made.
        """
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            self.log.touch()
        except OSError as error:
            raise self._unusable(error) from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock until the block ends; the operating system releases it when the process ends.

        Raises:
            InUse: another lab, or another command, holds it.
            SettingsInvalid: the directory cannot be made.
        """
        self.make()
        lock = ProcessLock(self._lock)
        try:
            lock.acquire()
        except HeldElsewhere as error:
            raise InUse(
                f"Another lab (process {error.holder}) is running in {self.path}. "
                "Stop it first, or give this one a directory of its own with --data-dir."
            ) from error
        except OSError as error:
            raise self._unusable(error) from error
        try:
            yield
        finally:
            lock.release()

    def _unusable(self, error: OSError) -> SettingsInvalid:
        return SettingsInvalid(
            f"The data directory {self.path} cannot be used: {error.strerror}. "
            "Choose one that you may write to, with --data-dir."
        )

    def no_lab(self) -> NotFound:
        """The error of a command that needs the data of a lab."""
        return NotFound(
            f"There is no lab in {self.path}. Make one with parley up or parley run FILE, or name the folder of "
            "another with --data-dir."
        )

    def has_data(self) -> bool:
        """Whether a lab has stored anything here."""
        return self.postgres.exists()

    def is_held(self) -> bool:
        """Whether a running lab holds the lock."""
        return ProcessLock(self._lock).is_held_elsewhere()

    def stamp(self, postgres_major: int, schema_revision: str) -> None:
        """Record which version has written these data; LabDatabase refuses data of another version."""
        fields = {"postgresql": postgres_major, "schema": schema_revision}
        partial = self._stamp.with_suffix(".partial")
        partial.write_text(json.dumps(fields) + "\n", encoding="utf-8")
        os.replace(partial, self._stamp)

    def note_run(self, experiment_id: UUID, folder: Path) -> None:
        """Record where the data of a run go, for commands that start in other directories.

        Raises:
            SettingsInvalid: it cannot be written here.
        """
        try:
            self._runs.mkdir(parents=True, exist_ok=True)
            (self._runs / str(experiment_id)).write_text(f"{folder.resolve()}\n", encoding="utf-8")
        except OSError as error:
            raise self._unusable(error) from error

    def folder_of_run(self, experiment_id: UUID) -> Path | None:
        """Where the data of a run of this lab go; relative to the working directory when it is below."""
        try:
            noted = Path((self._runs / str(experiment_id)).read_text(encoding="utf-8").strip())
        except OSError:
            return None
        here = Path.cwd()
        return noted.relative_to(here) if noted.is_relative_to(here) else noted

    def note_address(self, url: str) -> None:
        """Record where the running lab serves, for commands that name pages of it."""
        self._address.write_text(f"{url}\n", encoding="utf-8")

    def address(self) -> str | None:
        """Where the running lab serves; None when none runs here, or it serves nothing."""
        if not self.is_held():
            return None
        try:
            return self._address.read_text(encoding="utf-8").strip() or None
        except OSError:
            return None

    def local_key(self) -> str:
        """The API key for users who can read this directory; made at the first start."""
        try:
            descriptor = os.open(self.api_key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if key := self.api_key.read_text(encoding="utf-8").strip():
                return key
            descriptor = os.open(self.api_key, os.O_WRONLY | os.O_TRUNC)
        key = f"parley_{token_urlsafe(32)}"
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{key}\n")
        return key
