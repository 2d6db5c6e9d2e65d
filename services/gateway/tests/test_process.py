"""The gateway as a process of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from parley_lab.base.errors import SettingsInvalid
from parley_lab.base.settings import read_settings
from parley_lab.gateway.settings import GatewayProcessSettings, GatewaySettings
from parley_lab.testing.network import WITHOUT_TLS

KEY = "a-key-that-is-long-enough"


def _run(tmp_path: Path, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "parley_lab.gateway"],
        env={"PATH": os.environ["PATH"], **environment},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )


def test_what_is_missing_stops_the_start_and_is_named(tmp_path: Path) -> None:
    process = _run(tmp_path, PARLEY_AMQP_URL="http://nowhere", GATEWAY_PORT="99")

    _, errors = process.communicate(timeout=30)

    assert process.returncode == 2
    assert b"PARLEY_DATABASE_URL: is not set" in errors
    assert b"PARLEY_AMQP_URL: " in errors
    assert b"Traceback" not in errors


def test_settings_never_tell_the_value_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_DATABASE_URL", "postgresql://postgres@localhost/parley")
    monkeypatch.setenv("PARLEY_AMQP_URL", "http://user:secret@nowhere")

    with pytest.raises(SettingsInvalid) as refused:
        read_settings(GatewayProcessSettings)

    assert "PARLEY_AMQP_URL" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_settings_of_the_api_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_PORT", "8123")
    monkeypatch.setenv("GATEWAY_ALLOWED_ORIGINS", '["https://lab.example"]')

    settings = read_settings(GatewaySettings)

    assert (settings.host, settings.port, settings.allowed_origins) == ("127.0.0.1", 8123, ("https://lab.example",))


def test_a_gateway_serves_with_the_key_it_was_given_and_stops(tmp_path: Path, database_url: str, amqp_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("127.0.0.1", 0)) as other:
        port, health_port = free.getsockname()[1], other.getsockname()[1]
    process = _run(
        tmp_path,
        PARLEY_DATABASE_URL=database_url,
        PARLEY_AMQP_URL=amqp_url,
        PARLEY_BOOTSTRAP_API_KEY=KEY,
        GATEWAY_PORT=str(port),
        PARLEY_HEALTH_PORT=str(health_port),
    )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", verify=WITHOUT_TLS) as client:
            _wait_until_ready(client, process)
            listed = client.get("/v1/experiments", headers={"Authorization": f"Bearer {KEY}"})
        metrics = httpx2.get(f"http://127.0.0.1:{health_port}/metrics", verify=WITHOUT_TLS).text
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()

    assert listed.json() == {"experiments": [], "next_after": None}
    assert "parley_streams 0.0\n" in metrics
    assert process.returncode in (0, -signal.SIGTERM)
    assert KEY.encode() not in errors
    assert b"Traceback" not in errors


def _wait_until_ready(client: httpx2.Client, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    pytest.fail(f"the gateway did not become ready: {process.poll()}")
