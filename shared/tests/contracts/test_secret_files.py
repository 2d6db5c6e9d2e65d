"""Every secret that a service reads may be in a file that a variable names."""

from pathlib import Path

import pytest

from parley_lab.base.errors import SettingsInvalid
from parley_lab.contracts.secret_files import read_secret_files

NAMED = '{"https://models.example.org/v1": "TEAM_TOKEN"}'


@pytest.mark.parametrize(
    "name", ["PARLEY_DATABASE_URL", "PARLEY_AMQP_URL", "PARLEY_BOOTSTRAP_API_KEY", "OPENAI_API_KEY", "TEAM_TOKEN"]
)
def test_a_secret_comes_from_its_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("what nobody sees\n")
    environ = {"PARLEY_ENDPOINT_KEYS": NAMED, f"{name}_FILE": str(tmp_path / "secret")}

    read_secret_files(environ)

    assert environ[name] == "what nobody sees"


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "certificates").write_text("-----BEGIN CERTIFICATE-----")
    environ = {"SSL_CERT_FILE": str(tmp_path / "certificates"), "OPENAI_API_KEY_FILE": ""}

    read_secret_files(environ)

    assert set(environ) == {"SSL_CERT_FILE", "OPENAI_API_KEY_FILE"}


def test_what_is_wrong_is_named_without_a_value(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-secret")
    environ = {
        "PARLEY_AMQP_URL_FILE": str(tmp_path / "nothing"),
        "OPENAI_API_KEY": "sk-other",
        "OPENAI_API_KEY_FILE": str(tmp_path / "key"),
    }

    with pytest.raises(SettingsInvalid) as refused:
        read_secret_files(environ)

    assert "PARLEY_AMQP_URL_FILE: cannot be read (FileNotFoundError)" in refused.value.message
    assert "OPENAI_API_KEY: is set" in refused.value.message
    assert "sk-" not in refused.value.message


@pytest.mark.parametrize("name", ["PARLEY_DATABASE_URL", "PARLEY_AMQP_URL", "PARLEY_BOOTSTRAP_API_KEY"])
@pytest.mark.parametrize("content", ["", " \n"])
def test_a_secret_of_the_lab_is_not_empty(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / "secret").write_text(content)

    with pytest.raises(SettingsInvalid, match=f"{name}_FILE: is empty"):
        read_secret_files({f"{name}_FILE": str(tmp_path / "secret")})


def test_a_key_that_is_not_used_may_be_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("")
    environ = {"OPENAI_API_KEY_FILE": str(tmp_path / "secret")}

    read_secret_files(environ)

    assert environ == {"OPENAI_API_KEY": ""}
