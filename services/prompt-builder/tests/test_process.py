"""The prompt builder as a process of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import psycopg
import pytest

from parley_lab.testing.network import WITHOUT_TLS


def _run(tmp_path: Path, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "parley_lab.prompt_builder"],
        env={"PATH": os.environ["PATH"], **environment},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_0_when_it_is_told_to(tmp_path: Path, database_url: str, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = _run(tmp_path, PARLEY_DATABASE_URL=database_url, PROMPT_BUILDER_PORT=str(port))
    try:
        _wait_until_it_answers(f"http://127.0.0.1:{port}/healthz", process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 0
    assert b"Traceback" not in errors


def test_what_is_missing_stops_the_start_and_is_named(tmp_path: Path) -> None:
    process = _run(tmp_path)

    _, errors = process.communicate(timeout=30)

    assert process.returncode == 2
    assert b"PARLEY_DATABASE_URL: is not set" in errors


def test_tables_of_an_older_version_stop_the_start_with_what_to_do(tmp_path: Path, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = _run(tmp_path, PARLEY_DATABASE_URL=database_url, PROMPT_BUILDER_PORT=str(port))

    _, errors = process.communicate(timeout=30)

    assert process.returncode == 2
    assert b"revision 0001, this service needs" in errors
    assert b"Traceback" not in errors


def _wait_until_it_answers(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx2.get(address, verify=WITHOUT_TLS).status_code == 200:
                return
        except httpx2.TransportError:
            pass
    raise AssertionError("it never answered")
