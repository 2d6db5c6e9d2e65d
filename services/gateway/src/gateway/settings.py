"""What the gateway can be told from outside, read once at its start."""

from typing import TypeVar

from pydantic import Field, PostgresDsn, SecretStr, TypeAdapter, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.errors import SettingsInvalid

SettingsT = TypeVar("SettingsT", bound=BaseSettings)


class GatewaySettings(BaseSettings):
    """How the API is served; environment variables start with GATEWAY_."""

    model_config = SettingsConfigDict(env_prefix="GATEWAY_", frozen=True, use_attribute_docstrings=True)

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    max_body_bytes: int = Field(default=1024 * 1024, ge=1024)
    allowed_origins: tuple[str, ...] = ()
    """Web origins whose pages may call the API from a browser, as a JSON list."""
    stream_ping_seconds: float = Field(default=15.0, gt=0)
    """How often an idle live stream shows a sign of life."""
    stream_look_seconds: float = Field(default=5.0, gt=0)
    """How often live streams look for events of which no hint came."""
    stream_backlog: int = Field(default=200, ge=1)
    """How many batches of events may wait for a slow reader before its stream is closed."""


class ProcessSettings(BaseSettings):
    """What the gateway as a process of its own needs besides; names are the environment variables."""

    model_config = SettingsConfigDict(frozen=True, use_attribute_docstrings=True, populate_by_name=True)

    parley_database_url: SecretStr
    parley_amqp_url: SecretStr
    parley_bootstrap_api_key: SecretStr | None = None
    """Stored at start as a key of the experimenter `operator`."""
    parley_log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    parley_log_format: str = Field(default="json", pattern="^(json|console)$")
    gateway_pool_size: int = Field(default=20, ge=1, le=200)

    @field_validator("parley_database_url")
    @classmethod
    def _is_postgres(cls, value: SecretStr) -> SecretStr:
        TypeAdapter(PostgresDsn).validate_python(value.get_secret_value())
        return value

    @field_validator("parley_amqp_url")
    @classmethod
    def _is_amqp(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(("amqp://", "amqps://")):
            raise ValueError("an address that starts with amqp:// or amqps:// is expected")
        return value

    @field_validator("parley_bootstrap_api_key")
    @classmethod
    def _is_given(cls, value: SecretStr | None) -> SecretStr | None:
        return value if value is not None and value.get_secret_value() else None


def read(settings: type[SettingsT]) -> SettingsT:
    """The settings as the environment says.

    Raises:
        SettingsInvalid: naming every variable that is missing or wrong, without its value.
    """
    try:
        return settings()
    except ValidationError as error:
        prefix = settings.model_config.get("env_prefix", "")
        lines = [_complaint(prefix, problem["loc"], problem["type"], problem["msg"]) for problem in error.errors()]
        raise SettingsInvalid("The gateway cannot start:\n" + "\n".join(lines)) from None


def _complaint(prefix: str, loc: tuple[int | str, ...], kind: str, message: str) -> str:
    name = f"{prefix}{loc[0] if loc else ''}".upper()
    return f"  {name} is not set." if kind == "missing" else f"  {name}: {message}."
