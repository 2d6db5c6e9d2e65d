"""The code of the commit before the one that added the newest migration, as far as the repository has a history.

`python -m tests.operators.commit_before` says why there is none, if there is none.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.storms.kinds import SEVERAL, module_in

ROOT: Final = Path(__file__).parents[2]
VERSIONS: Final = "shared/src/parley_lab/store/migrations/versions"
_SOURCES: Final = ("*/src", "services/*/src")


class NoCommitBefore(Exception):
    """There is none that says anything; with the reason."""


@dataclass(frozen=True)
class Repository:
    """A working copy of ours, with whatever history it has."""

    folder: Path = ROOT
    versions: str = VERSIONS
    """Where the migrations are today; they may have been elsewhere before."""

    def commit_before(self) -> str:
        """The commit, whose migrations are ours but for the newest ones.

        Raises:
            NoCommitBefore: with the reason.
        """
        newest = max((self.folder / self.versions).glob("r[0-9]*.py"))
        self._git("rev-parse", "HEAD", otherwise="there is no history here")
        anywhere = f":(glob)**/migrations/versions/{newest.name}"
        added = self._git("log", "--diff-filter=A", "--format=%H", "--", anywhere).decode().split()
        # The first time: later ones are moves. One that is not committed yet comes after everything that is.
        wanted = f"{added[-1]}^" if added else "HEAD"
        gone = "the history here begins with the newest migration"
        before = self._git("rev-parse", "--verify", "--quiet", f"{wanted}^{{commit}}", otherwise=gone).decode().strip()
        self._require_ours(before)
        return before

    def _require_ours(self, commit: str) -> None:
        names = self._git("ls-tree", "-r", "--name-only", commit).decode().split()
        for name in (one for one in names if Path(one).match("migrations/versions/r[0-9]*.py")):
            ours = self.folder / self.versions / Path(name).name
            if not ours.exists() or ours.read_bytes() != self._git("show", f"{commit}:{name}"):
                raise NoCommitBefore(f"{ours.name} was written anew since then")

    def unpack(self, commit: str, folder: Path) -> list[Path]:
        """Write the code of the commit there; returns the folders from which its packages are imported."""
        packed = self._git("archive", "--format=tar", commit)
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            # Python 3.11 has the filter since 3.11.4, and later versions warn without one.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)
        return sorted(found for pattern in _SOURCES for found in folder.glob(pattern))

    def _git(self, *arguments: str, otherwise: str = "git does not answer") -> bytes:
        try:
            done = subprocess.run(["git", "-C", str(self.folder), *arguments], capture_output=True, check=False)
        except OSError as error:
            raise NoCommitBefore("there is no git here") from error
        if done.returncode != 0:
            raise NoCommitBefore(otherwise)
        return done.stdout


def interpreter(sources: list[Path], folder: Path) -> str:
    """A Python in this folder, which imports this code, and what ours imports of others.

    Isolated processes (`python -I`), which read files of people, have it, too.
    """
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    places = [*map(str, sources), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    own = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    (Path(own) / "code_before.pth").write_text("\n".join(dict.fromkeys(places)))
    return str(python)


def require_running(python: str) -> None:
    """Import all services with this interpreter.

    Raises:
        NoCommitBefore: the packages of today are not those that it needs.
    """
    imports = "; ".join(f"import {module_in(python, f'parley_lab.{service}')}.__main__" for service in SEVERAL)
    done = subprocess.run(
        [python, "-c", imports], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        told = done.stderr.strip().splitlines()[-1:]
        raise NoCommitBefore(f"the code of the commit before does not run with the packages of today: {told}")


def main() -> int:
    repository = Repository()
    try:
        commit = repository.commit_before()
        with TemporaryDirectory() as folder:
            sources = repository.unpack(commit, Path(folder) / "before")
            require_running(interpreter(sources, Path(folder) / "python"))
    except NoCommitBefore as reason:
        print(reason)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
