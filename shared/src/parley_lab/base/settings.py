"""Settings of processes from the environment: small classes that each service combines and reads once at its start."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from parley_lab.base.errors import SettingsInvalid


def _postgres_url(value: str) -> str:
    if urlsplit(value).scheme not in ("postgresql", "postgres"):
        raise ValueError("must start with postgresql://")
    return _readable(value)


def _amqp_url(value: str) -> str:
    if urlsplit(value).scheme not in ("amqp", "amqps"):
        raise ValueError("must start with amqp:// or amqps://")
    return _readable(value)


def _readable(value: str) -> str:
    """The address; every library would find other parts in one whose password ends too early, and tell some of it."""
    has_empty_password = False
    try:
        parts = urlsplit(value)
        is_readable = "@" not in parts.netloc.rpartition("@")[0] and parts.port != 0
        has_empty_password = parts.password == ""
    except ValueError:
        is_readable = False
    if not is_readable:
        raise ValueError(
            "cannot be read. In a password write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23, % as %25"
        )
    if has_empty_password:
        raise ValueError("has an empty password; without one leave out the colon before the @, too")
    return value


PostgresUrl = Annotated[str, AfterValidator(_postgres_url)]
AmqpUrl = Annotated[str, AfterValidator(_amqp_url)]


class DatabaseSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    database_url: PostgresUrl
    """Where Postgres is: postgresql://user:password@host:5432/name"""
    database_pool_size: int = Field(default=20, ge=1, le=500)
    """The most connections of one process to Postgres."""


class BrokerSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    amqp_url: AmqpUrl
    """Where RabbitMQ is: amqp://user:password@host:5672/"""
    amqp_prefix: str = ""
    """The prefix of every queue, so that several labs can share one broker."""


class ServerSettings(BaseSettings):
    """External servers of a lab; the embedded lab starts those that are left out."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    database_url: PostgresUrl | None = None
    database_pool_size: int = Field(default=20, ge=1, le=500)
    """The most connections of the lab to Postgres."""
    amqp_url: AmqpUrl | None = None
    amqp_prefix: str = ""
    """The prefix of every queue, so that several labs can share one broker."""


class LogSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    """The lowest level that is logged."""
    log_format: str = Field(default="json", pattern="^(json|console)$")
    """JSON lines, or readable for development."""


class HealthSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    health_host: str = "127.0.0.1"
    """The address on which the process answers /healthz and /readyz."""
    health_port: int = Field(default=8080, ge=1, le=65535)
    """The port of the health checks."""


class KindSettings(BaseSettings):
    """Where stage kinds from outside are found; the same for every process of a lab."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    kinds_dir: Path | None = None
    """A folder with a package for each kind; installed packages are found without it."""


class FileSettings(BaseSettings):
    """How large files may be that stages show: images, sound and films."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    max_file_bytes: int = Field(default=10 * 1024 * 1024, ge=1)
    """The most bytes of one file."""
    max_files_bytes: int = Field(default=100 * 1024 * 1024, ge=1)
    """The most bytes of all files of an experiment."""


class LabSettings(DatabaseSettings, BrokerSettings, LogSettings):
    """The settings of every process of a distributed lab."""

    # Repeated here for the type checker, which does not see that the bases agree.
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)


class ProcessSettings(LabSettings, HealthSettings):
    """The settings of a service without an API of its own."""

    # Repeated here for the type checker, which does not see that the bases agree.
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)


SettingsT = TypeVar("SettingsT", bound=BaseSettings)


def read_settings(settings: type[SettingsT]) -> SettingsT:
    """The settings in the environment; an empty variable counts as not set.

    Raises:
        SettingsInvalid: with every variable that is missing or wrong, and never a value, which may be a secret.
    """
    try:
        return settings(_env_ignore_empty=True)
    except ValidationError as error:
        prefix = settings.model_config.get("env_prefix", "")
        wrong = [_wrong(found, prefix) for found in error.errors(include_input=False, include_url=False)]
        raise SettingsInvalid("These settings are missing or wrong:\n" + "\n".join(wrong)) from error


def _wrong(found: Mapping[str, Any], prefix: str) -> str:
    field = str(found["loc"][0]) if found["loc"] else ""
    name = field if field.isupper() else f"{prefix}{field.upper()}"
    return f"  {name}: {'is not set' if found['type'] == 'missing' else found['msg']}"
