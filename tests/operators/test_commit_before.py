"""Which commit is the one before the newest migration, in the histories that a copy of the repository may have."""

import subprocess
from pathlib import Path

import pytest

from tests.operators.commit_before import NoCommitBefore, Repository, interpreter

VERSIONS = "shared/src/parley_lab/store/migrations/versions"


class Copy:
    """A repository with migrations and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / VERSIONS).mkdir(parents=True)
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> str:
        named = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
        command = ["git", *named, "-C", str(self.folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def write(self, number: int, content: str = "adds") -> None:
        (self.folder / VERSIONS / f"r{number:04}_some.py").write_text(f"# {content}\n")

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "Some")
        return self.git("rev-parse", "HEAD")

    def move(self, folder: str) -> None:
        (self.folder / folder).parent.mkdir(parents=True)
        (self.folder / VERSIONS).rename(self.folder / folder)

    def before(self) -> str:
        return Repository(self.folder).commit_before()


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """With a first migration, in a commit of its own."""
    made = Copy(tmp_path / "copy")
    made.write(1)
    made.commit()
    return made


def test_it_is_the_parent_of_the_one_that_added_the_newest_migration(copy: Copy) -> None:
    before = copy.commit()
    copy.write(2)
    copy.commit()
    copy.commit()

    assert copy.before() == before


def test_it_is_the_last_one_while_the_newest_migration_is_not_committed(copy: Copy) -> None:
    before = copy.commit()
    copy.write(2)

    assert copy.before() == before


def test_a_move_of_the_migrations_is_not_their_birth(copy: Copy) -> None:
    before = copy.commit()
    copy.write(2)
    copy.commit()
    copy.move("elsewhere/migrations/versions")
    copy.commit()

    assert Repository(copy.folder, "elsewhere/migrations/versions").commit_before() == before


def test_an_older_migration_that_was_written_anew_and_moved_is_found(copy: Copy) -> None:
    copy.write(1, "adds more")
    copy.write(2)
    copy.commit()
    copy.move("elsewhere/migrations/versions")
    copy.commit()

    with pytest.raises(NoCommitBefore, match=r"r0001_some\.py was written anew"):
        Repository(copy.folder, "elsewhere/migrations/versions").commit_before()


def test_there_is_none_when_an_older_migration_was_written_anew(copy: Copy) -> None:
    copy.write(1, "adds more")
    copy.write(2)
    copy.commit()

    with pytest.raises(NoCommitBefore, match=r"r0001_some\.py was written anew"):
        copy.before()


def test_there_is_none_in_a_history_that_begins_with_the_newest_migration(copy: Copy, tmp_path: Path) -> None:
    copy.write(2)
    copy.commit()
    copy.git("clone", "--quiet", "--depth", "1", f"file://{copy.folder}", str(tmp_path / "shallow"))

    with pytest.raises(NoCommitBefore, match="begins with the newest migration"):
        Repository(tmp_path / "shallow").commit_before()


def test_there_is_none_without_a_history(copy: Copy, tmp_path: Path) -> None:
    copy.git("worktree", "add", "--quiet", str(tmp_path / "files"))
    (tmp_path / "files" / ".git").unlink()

    with pytest.raises(NoCommitBefore, match="there is no history here"):
        Repository(tmp_path / "files").commit_before()


def test_its_code_is_unpacked(copy: Copy, tmp_path: Path) -> None:
    sources = Repository(copy.folder).unpack(copy.git("rev-parse", "HEAD"), tmp_path / "code")

    assert sources == [tmp_path / "code" / "shared" / "src"]
    assert list(sources[0].rglob("r0001_some.py"))


@pytest.mark.parametrize("how", ["-c", "-Ic"])
def test_its_interpreter_imports_its_code_and_not_ours(tmp_path: Path, how: str) -> None:
    (tmp_path / "src" / "before").mkdir(parents=True)
    (tmp_path / "src" / "before" / "__init__.py").touch()
    python = interpreter([tmp_path / "src"], tmp_path / "python")

    codes = {
        name: subprocess.run([python, how, f"import {name}"], cwd=tmp_path, capture_output=True, check=False).returncode
        for name in ("before", "pydantic", "parley_lab.base")
    }

    assert codes == {"before": 0, "pydantic": 0, "parley_lab.base": 1}
