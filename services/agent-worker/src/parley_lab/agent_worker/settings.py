"""Settings of an agent worker, from its environment."""

from typing import Annotated

from pydantic import Field, Json
from pydantic_settings import BaseSettings, SettingsConfigDict

from parley_lab.contracts.limits import names_of
from parley_lab.contracts.models import DEFAULT_TIMEOUT_SECONDS, LONGEST_REPLY_BYTES, ModelSettings

Seconds = Annotated[float, Field(gt=0, le=3_600)]


class WorkerSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="AGENT_WORKER_", extra="ignore", frozen=True)

    prefetch: int = Field(default=256, ge=1, le=10_000)
    """How many replies of one provider this process works on at a time; also its limit of calls in flight per
    endpoint."""
    timeout_seconds: Seconds = DEFAULT_TIMEOUT_SECONDS
    """After how many seconds a call is cancelled, where neither a persona nor `timeouts` says otherwise."""
    timeouts: Json[dict[str, Seconds]] = Field(default="{}")  # type: ignore[arg-type]  # read like the environment's
    """The same, by account (`openai`) or by model of an account (`openai/gpt-5`), as JSON."""
    endpoint_patience_seconds: float = Field(default=300.0, ge=0, le=900)
    """How long a reply to a question waits here for room at its endpoint, or under a limit of parallel calls while
    calls of this process complete; then its draft is put back."""
    longest_reply_bytes: int = Field(default=LONGEST_REPLY_BYTES, ge=10_000, le=200_000_000)
    """How much of an answer is read. The rest is cut while it is read, and the reply is unusable."""
    step_prefetch: int = Field(default=32, ge=1, le=10_000)
    """How many agents of this process take a step at a time."""
    lease_seconds: float = Field(default=30.0, gt=0)
    """How long a draft is leased. A lease is renewed while its model thinks; the lease of a dead worker expires."""
    limit_patience_seconds: float = Field(default=5.0, ge=0, le=20)
    """How long a reply waits here for room under a limit; then its draft is put back, which is no attempt."""
    retry_share: float = Field(default=0.2, ge=0, le=1)
    """The share of this process's calls with one key that may be repetitions; further repetitions wait."""
    retries_per_minute: int = Field(default=10, ge=0)
    """How many repetitions per minute are allowed whatever the share, per key and process."""
    retry_seconds: float = Field(default=900.0, gt=0)
    """A draft is given up when its next attempt would come later than this after its first."""
    first_calls_alone: bool = False
    """Whether the first call with each key and model goes out alone, as in runs from the command line."""
    look_seconds: float = Field(default=0.02, ge=0)
    """How long after the call of a model the view for its answer is read: the call goes out first."""
    presence_seconds: float = Field(default=30.0, gt=0)
    """The registration of this process expires after so many seconds; it is renewed three times in that time."""
    poll_seconds: float = Field(default=1.0, gt=0)
    """How often this process looks in the database for replies that are due."""

    def timeout_of(self, account: str, model: ModelSettings) -> float:
        """After how many seconds a call of this model is cancelled: by the persona, else by the most specific name."""
        if model.timeout_seconds is not None:
            return model.timeout_seconds
        named = [self.timeouts[name] for name in names_of(account, model.model) if name in self.timeouts]
        return named[0] if named else self.timeout_seconds
