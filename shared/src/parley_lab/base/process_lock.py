"""A lock that one process holds on a file; the operating system releases it when the process ends."""

import os
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

_PATIENCE_SECONDS: Final = 0.2
_LOOK_EVERY_SECONDS: Final = 0.01


class HeldElsewhere(Exception):
    """Another process holds the lock; `holder` is its id, or "unknown"."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"held by process {holder}")
        self.holder = holder


class ProcessLock:
    """The lock of the file at `path`, which is made if there is none. Any thread may release it.

    The id of the holder is in a file beside it: Windows lets no process read a file that is locked.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._holder = path.with_name(f"{path.name}.pid")
        self._lock = FileLock(path, thread_local=False, poll_interval=_LOOK_EVERY_SECONDS)

    @property
    def is_acquired(self) -> bool:
        """Whether this object holds the lock."""
        return self._lock.is_locked

    def acquire(self) -> None:
        """Take the lock and note the id of this process.

        It waits a moment, since a process that only looks holds the lock meanwhile.

        Raises:
            HeldElsewhere: another process holds it.
            OSError: the file cannot be made.
        """
        try:
            self._lock.acquire(timeout=_PATIENCE_SECONDS)
        except Timeout as error:
            raise HeldElsewhere(self._find_holder()) from error
        self._holder.write_text(str(os.getpid()), encoding="utf-8")

    def release(self) -> None:
        """Release the lock; idempotent."""
        self._lock.release()

    def _find_holder(self) -> str:
        try:
            return self._holder.read_text(encoding="utf-8") or "unknown"
        except FileNotFoundError:
            return "unknown"

    def is_held_elsewhere(self) -> bool:
        """Whether another process, or another object of this one, holds the lock."""
        if not self._path.exists():
            return False
        try:
            with self._lock.acquire(timeout=_PATIENCE_SECONDS):
                return False
        except Timeout:
            return True
