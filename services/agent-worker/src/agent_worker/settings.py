"""What an agent worker is told by its environment."""

from typing import Annotated

from pydantic import Field, Json
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.contracts.models import DEFAULT_TIMEOUT_SECONDS, ModelSettings
from shared.limits import names_of

Seconds = Annotated[float, Field(gt=0, le=3_600)]


class WorkerSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="AGENT_WORKER_", extra="ignore", frozen=True)

    prefetch: int = Field(default=256, ge=1, le=10_000)
    """How many replies of one provider this process works on at a time; the most calls in flight at one endpoint."""
    timeout_seconds: Seconds = DEFAULT_TIMEOUT_SECONDS
    """After how many seconds a call is given up where neither a persona nor `timeouts` says so."""
    timeouts: Json[dict[str, Seconds]] = Field(default="{}")  # type: ignore[arg-type]  # read like the environment's
    """The same by account (`openai`) or by model of an account (`openai/gpt-5`), as JSON."""
    endpoint_patience_seconds: float = Field(default=300.0, ge=0, le=900)
    """How long a reply to a question waits here for room at its endpoint, or under a limit of parallel calls under
    which this process makes calls; then its draft is put back."""
    step_prefetch: int = Field(default=32, ge=1, le=10_000)
    """How many agents of this process take a step at a time."""
    lease_seconds: float = Field(default=30.0, gt=0)
    """How long a draft is leased. A lease is renewed while its model thinks; that of a dead worker runs out."""
    limit_patience_seconds: float = Field(default=5.0, ge=0, le=20)
    """How long a reply waits here for room under a limit; then its draft is put back, which counts as no attempt."""
    retry_share: float = Field(default=0.2, ge=0, le=1)
    """Which share of this process's calls with one key may be repetitions of failed ones; more wait."""
    retries_per_minute: int = Field(default=10, ge=0)
    """How many repetitions there may be in any case, per key and process."""
    retry_seconds: float = Field(default=900.0, gt=0)
    """A draft whose next attempt would come later than this after its first is given up."""
    first_calls_alone: bool = False
    """Whether the first call with each key and model goes out alone, as in a run from the command line."""
    look_seconds: float = Field(default=0.02, ge=0)
    """How long after a model was called what its answer will be checked against is read: the call goes out first."""
    presence_seconds: float = Field(default=30.0, gt=0)
    """For how long the lab believes that this process serves its providers after it last said so; it says so thrice."""
    poll_seconds: float = Field(default=1.0, gt=0)
    """How often this process looks for replies that are due and that it does not know of."""

    def timeout_of(self, account: str, model: ModelSettings) -> float:
        """After how many seconds a call of this model is given up: as the persona says, else by the narrowest name."""
        if model.timeout_seconds is not None:
            return model.timeout_seconds
        named = [self.timeouts[name] for name in names_of(account, model.model) if name in self.timeouts]
        return named[0] if named else self.timeout_seconds
