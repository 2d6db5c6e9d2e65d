"""PostgreSQL servers of a test's own, one of which may follow another: a primary and its standby."""

import os
import pwd
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from parley_lab.store.databases import create_database
from parley_lab.store.embedded_postgres import DATABASE, binaries

SETTINGS = {
    "listen_addresses": "",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "max_connections": "200",
    "fsync": "off",
    "timezone": "UTC",
}


class Cluster:
    """One server, reached by a Unix socket in its folder. Its data are below: a backup would copy the socket's lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = folder / "data"
        self.url = f"postgresql://postgres@/{DATABASE}?host={folder}"
        self._is_running = False

    def make(self) -> None:
        """A new server, which runs, with an empty database."""
        _run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync", f"--pgdata={self._data}")
        settings = SETTINGS | {"unix_socket_directories": str(self.folder)}
        with (self._data / "postgresql.conf").open("a") as config:
            config.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        self.start()
        create_database(f"postgresql://postgres@/postgres?host={self.folder}", DATABASE)

    def follow(self, primary: "Cluster") -> None:
        """A standby of another server, which runs and can be read."""
        source = ["--write-recovery-conf", "-c", "fast", "--no-sync", f"--host={primary.folder}"]
        _run("pg_basebackup", *source, "--username=postgres", f"--pgdata={self._data}")
        with (self._data / "postgresql.conf").open("a") as config:
            config.write(f"unix_socket_directories = '{self.folder}'\n")
        self.start()

    def start(self) -> None:
        _run("pg_ctl", "start", "--wait", f"--log={self.folder / 'log'}", f"--pgdata={self._data}")
        self._is_running = True

    def stop(self) -> None:
        """Stop it once its standby has all of it; idempotent."""
        if self._is_running:
            _run("pg_ctl", "stop", "--mode=fast", "--wait", f"--pgdata={self._data}")
            self._is_running = False

    def promote(self) -> None:
        """Make a standby the primary: from now on it takes what is written."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")


@contextmanager
def clusters(count: int) -> Iterator[list[Cluster]]:
    """Folders for so many servers, which are stopped in the end; none runs yet."""
    # Short: a socket's path holds 100 characters. In a folder that the server's user may enter.
    with TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        found = [Cluster(Path(folder) / str(number)) for number in range(count)]
        Path(folder).chmod(0o755)
        for one in found:
            one.folder.mkdir(mode=0o700)
            if (user := _user()) is not None:
                os.chown(one.folder, user.pw_uid, user.pw_gid)
        try:
            yield found
        finally:
            for one in found:
                one.stop()


def _user() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to be run by root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _run(program: str, *arguments: str) -> None:
    user = _user()
    done = subprocess.run(
        [str(binaries() / program), *arguments],
        cwd="/",
        check=False,
        # A pipe would stay open as long as the server runs.
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=user and user.pw_uid,
        group=user and user.pw_gid,
        extra_groups=[] if user else None,
        start_new_session=True,
    )
    assert done.returncode == 0, f"{program} {' '.join(arguments)}: {done.returncode}"
