"""What the gateway can be told from outside, read once at its start."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from parley_lab.base.settings import ProcessSettings


class GatewaySettings(BaseSettings):
    """How the API is served; environment variables start with GATEWAY_."""

    model_config = SettingsConfigDict(env_prefix="GATEWAY_", frozen=True, use_attribute_docstrings=True)

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    max_body_bytes: int = Field(default=1024 * 1024, ge=1024)
    allowed_origins: tuple[str, ...] = ()
    """Web origins whose pages may call the API from a browser, as a JSON list."""
    token_requests_per_second: int | None = Field(default=None, ge=0)
    """How many requests a participant or a signed-in browser may make; 0: no limit. Without a word 20, and no limit on
    a loopback address."""
    key_requests: int | None = Field(default=None, ge=0)
    """How many requests may come with an API key in `key_window_seconds`; 0: no limit. Without a word 100, and no limit
    on a loopback address."""
    key_window_seconds: int = Field(default=900, ge=1)
    address_requests_per_minute: int | None = Field(default=None, ge=0)
    """How often one may join, and come with a wrong key, from one address; 0: no limit. Without a word 60. Addresses of
    the machine itself are not counted."""
    sign_in_hours: float = Field(default=24, gt=0, le=24 * 365)
    """How long a sign-in of an experimenter lasts in all."""
    sign_in_idle_hours: float = Field(default=8, gt=0, le=24 * 365)
    """After how long without a request a sign-in ends. An open live stream is no request."""
    trusted_proxies: str = "127.0.0.1"
    """Addresses and networks of proxies, with commas, whose X-Forwarded-For says where requests come from."""
    stream_ping_seconds: float = Field(default=15.0, gt=0, le=15)
    """How often an idle live stream shows a sign of life. Pages give a stream up that is silent for 45 seconds."""
    stream_look_seconds: float = Field(default=4.0, gt=0)
    """How often live streams look for events of which no hint came, and whether their key or sign-in has ended."""
    board_tick_seconds: float = Field(default=1.0, gt=0)
    """How often the stream of a board looks for what no event says: drafts, alerts, the state of the experiment."""
    presence_beat_seconds: float = Field(default=5.0, gt=0, le=5)
    """How often the gateway notes who has a live stream."""
    stream_backlog: int = Field(default=200, ge=1)
    """How many batches of events, beside one of each cohort, may wait for a slow reader before its stream is ended."""


class GatewayProcessSettings(ProcessSettings):
    """What the gateway as a process of its own needs besides."""

    bootstrap_api_key: SecretStr | None = None
    """Stored at start as a key of the experimenter `operator`."""
    prompt_builder_url: str = "http://127.0.0.1:8001"
    """Where the prompt builder answers, for those who want to see prompts."""
