"""Commands of operators take the lab's secrets from files, as its containers have them."""

import json
from pathlib import Path

import pytest

from parley_lab.cli.testing import Parley

pytestmark = pytest.mark.postgres


def file_with(folder: Path, secret: str) -> str:
    (folder / "secret").write_text(f"{secret}\n")
    return str(folder / "secret")


@pytest.mark.parametrize("command", [("keys", "list"), ("runs",), ("personas", "list")], ids=" ".join)
def test_the_database_is_found_by_the_file_with_its_address(
    parley: Parley, tmp_path: Path, database_url: str, command: tuple[str, ...]
) -> None:
    done = parley(*command, PARLEY_DATABASE_URL_FILE=file_with(tmp_path, database_url))

    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / ".parley").exists(), "another lab was made"


@pytest.mark.rabbitmq
def test_the_broker_is_found_by_the_file_with_its_address(parley: Parley, tmp_path: Path, amqp_url: str) -> None:
    done = parley(
        "dead", "list", PARLEY_AMQP_URL_FILE=file_with(tmp_path, amqp_url), PARLEY_AMQP_PREFIX=f"{tmp_path.name}."
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_a_provider_is_called_with_the_key_in_a_file(parley: Parley, tmp_path: Path) -> None:
    provider = {"base_url": "http://127.0.0.1:9/v1", "key": "MINE_KEY", "model": "small"}

    done = parley(
        *("providers", "test", "mine"),
        PARLEY_PROVIDERS=json.dumps({"mine": provider}),
        MINE_KEY_FILE=file_with(tmp_path, "sk-very-secret-0123456789"),
    )

    assert done.returncode == 1
    assert done.stdout.startswith("mine: unreachable")
