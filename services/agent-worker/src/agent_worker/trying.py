"""Calls each configured provider of models once, and says what is wrong with it.

`parley providers test` does it on this machine, `python -m agent_worker.trying` in the container of a worker.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from agent_worker.models import Model, build_models
from shared.contracts.endpoints import Endpoints, read_endpoints
from shared.contracts.model_keys import ModelKeys, read_model_keys
from shared.contracts.models import ChatMessage, ModelRequest, ModelSettings
from shared.contracts.named_providers import read_providers
from shared.contracts.providers import Provider
from shared.contracts.secret_files import read_secret_files
from shared.errors import SettingsInvalid

_SECONDS: Final = 30.0
_WORDS: Final = "Reply with the word: ready"
_WHAT_TO_DO: Final = {
    "auth_error": "Put a key that is accepted there into {key}.",
    "no_quota": "See that the account has money and quota left.",
    "unreachable": "See that a model is served there and that this machine can reach it.",
    "timeout": "See that a model is served there; a big one may need more time (AGENT_WORKER_TIMEOUTS).",
    "bad_request": "See that the address and the model are right (--model).",
    "rate_limited": "Wait, or ask for more with a limit in PARLEY_LIMITS.",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one provider came to; `is_well` is None where it is not configured."""

    line: str
    is_well: bool | None


async def try_providers(
    environ: Mapping[str, str], endpoints: Endpoints, *, only: str | None = None, model: str | None = None
) -> list[Verdict]:
    """A verdict for each provider with OpenAI's API, or for the one that `only` names. A call is paid, and short.

    Raises:
        SettingsInvalid: the environment cannot be read.
    """
    keys, providers = read_model_keys(environ), read_providers(environ)
    chosen = [one for one in providers.values() if one.base_url is not None and only in (None, one.name)]
    models = build_models(environ, endpoints=endpoints)
    try:
        return list(await asyncio.gather(*(_tried(one, environ, keys, models, model) for one in chosen)))
    finally:
        for one in models.values():
            await one.aclose()


async def _tried(
    provider: Provider,
    environ: Mapping[str, str],
    keys: ModelKeys,
    models: Mapping[str, Model],
    model: str | None,
) -> Verdict:
    missing = _what_is_missing(provider, environ, keys)
    if missing is not None:
        return Verdict(f"{provider.name}: not configured; {missing}", None)
    asked = model or provider.example_model
    if not asked:
        return Verdict(f"{provider.name}: say which model to call (--model, or `model` of its entry)", False)
    began = monotonic()
    if provider.name not in models:
        return Verdict(f"{provider.name}: its address is not allowed (PARLEY_ALLOWED_BASE_URLS)", False)
    reply = await models[provider.name].reply(_request(provider.name, asked))
    where = f"{provider.address(environ)}, {asked}"
    if reply.status in ("ok", "invalid"):
        return Verdict(f"{provider.name}: well ({where}, {monotonic() - began:.1f} s)", True)
    advice = _WHAT_TO_DO.get(reply.status, "").format(key=provider.key_variable or "the variable of its address")
    return Verdict(f"{provider.name}: {reply.status} ({where}): {reply.error}. {advice}".rstrip(), False)


def _what_is_missing(provider: Provider, environ: Mapping[str, str], keys: ModelKeys) -> str | None:
    """A provider without a key is configured by its address."""
    key = keys.missing(provider.name, None)
    if key is not None:
        return f"set {key}"
    address = provider.base_url_variable
    if provider.key_variable is None and address is not None and not environ.get(address, "").strip():
        return f"set {address}, such as {provider.base_url}"
    return None


def _request(provider: str, model: str) -> ModelRequest:
    return ModelRequest(
        path="providers/test",
        seed=0,
        settings=ModelSettings(provider=provider, model=model, timeout_seconds=_SECONDS),
        messages=(ChatMessage(role="user", content=_WORDS),),
        reply_schema={"type": "object", "properties": {}},
        reply_name="ready",
        is_text=True,
        most_reply_tokens=50,
    )


def told(verdicts: Sequence[Verdict]) -> int:
    """Print a line for each. Returns the exit code: 0 all called ones answer; 1 one does not; 2 none was called."""
    for verdict in verdicts:
        print(verdict.line)
    called = [verdict.is_well for verdict in verdicts if verdict.is_well is not None]
    if not called:
        print("No provider was called: none of these is configured.", file=sys.stderr)
        return 2
    return int(not all(called))


def main() -> int:
    try:
        read_secret_files(os.environ)
        endpoints = read_endpoints(os.environ, is_open=False)
        return told(asyncio.run(try_providers(os.environ, endpoints)))
    except SettingsInvalid as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
