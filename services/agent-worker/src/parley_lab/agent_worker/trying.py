"""Asks each configured provider of models what a run asks, and says what is wrong with it and what it can do."""

import asyncio
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from parley_lab.agent_worker.models import Model, build_models
from parley_lab.agent_worker.models.lacking import IGNORED, IN_WORDS, ignored_in, lack_in, reads_too_little
from parley_lab.agent_worker.models.reply_length import thinks_first
from parley_lab.agent_worker.models.request_body import request_body
from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.addresses import Place
from parley_lab.contracts.endpoints import Endpoints, unusable_address
from parley_lab.contracts.model_keys import ModelKeys, read_model_keys
from parley_lab.contracts.models import (
    ADDRESS_EXPECTED,
    ChatMessage,
    ModelReply,
    ModelRequest,
    ModelSettings,
    is_usable_address,
)
from parley_lab.contracts.named_providers import read_providers
from parley_lab.contracts.prompts import tokens_of
from parley_lab.contracts.providers import CREWAI_PROVIDER, MOCK_PROVIDER, Provider, needed_provider

_SECONDS: Final = 30.0
_WORDS: Final = "Reply with the word: ready"
_SYSTEM: Final = "You take part in a survey. You reply with one JSON object and nothing else."
_QUESTION: Final = (
    "How many days does a week have, and why? Reply with a JSON object: "
    '{"number": a whole number, "reason": a sentence}. No other fields.'
)
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "reason": {"type": "string"}},
    "required": ["number", "reason"],
    "additionalProperties": False,
}
_LONGEST_SHOWN: Final = 200
_MOST_TOKENS: Final = 500
_LONG: Final = "On one night it rained, on another it did not, and the trams went all the same. " * 300
"""About 6,000 tokens: longer than the usual contexts of servers."""
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
    """The result for one provider; `is_well` is None if it is not configured."""

    line: str
    is_well: bool | None


async def try_providers(
    environ: Mapping[str, str],
    endpoints: Endpoints,
    *,
    only: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
) -> list[Verdict]:
    """A verdict for each provider but the mock, or for the one that `only` names. The calls are paid:
    a short question, the same after a long text, and again what a server refuses.

    base_url: where that one is called, as a persona may say.

    Raises:
        SettingsInvalid: the environment cannot be read.
        InvalidInput: no provider has this name, or an address comes without one.
    """
    keys, providers = read_model_keys(environ), read_providers(environ)
    names = dict.fromkeys(name.partition("/")[0] for name in providers if name != MOCK_PROVIDER)
    if (only is None and base_url is not None) or only not in (None, *names):
        raise InvalidInput(f"Name one of these providers: {', '.join(names)}.")
    if base_url is not None and not is_usable_address(base_url):
        raise InvalidInput(f"--base-url: expected {ADDRESS_EXPECTED}.")
    models = build_models(environ, endpoints=endpoints)
    trial = _Trial(environ, keys, providers, models, model, base_url)
    chosen = [name for name in providers if _is_meant(name, [only] if only else names, model)]
    try:
        verdicts = await asyncio.gather(*(trial.verdict_on(name) for name in chosen))
    finally:
        for one in models.values():
            await one.aclose()
    # The same is said once where it holds for every vendor behind CrewAI.
    return [*dict.fromkeys(verdicts), *(_at_address(place) for place in ([] if only else keys.named))]


def _is_meant(name: str, serving: Container[str], model: str | None) -> bool:
    """A model for CrewAI names its vendor."""
    of_crewai = name.startswith(f"{CREWAI_PROVIDER}/") and model is not None
    is_other = of_crewai and name != needed_provider(CREWAI_PROVIDER, model or "")
    return name.partition("/")[0] in serving and not is_other


def _at_address(place: Place) -> Verdict:
    how = f"parley providers test openai --base-url {place} --model MODEL"
    return Verdict(f"{place}: not called; {how} does", None)


@dataclass(frozen=True, slots=True)
class _Trial:
    """Calls of providers by name: at their usual addresses with cheap models, but where something else is said."""

    environ: Mapping[str, str]
    keys: ModelKeys
    providers: Mapping[str, Provider]
    models: Mapping[str, Model]
    model: str | None
    base_url: str | None

    async def verdict_on(self, name: str) -> Verdict:
        serving, _, vendor = name.partition("/")
        account = self.providers[vendor or serving]
        if serving == CREWAI_PROVIDER and serving not in self.models:
            return Verdict(
                f"{serving}: not installed here; `make crewai` does, or the image with the target crewai", None
            )
        missing = _what_is_missing(account, self.environ, self.keys, self.base_url)
        if missing is not None:
            return Verdict(f"{name}: not configured; {missing}", None)
        unusable = None if self.base_url else unusable_address(self.environ, account.name)
        if unusable is not None:
            return Verdict(f"{name}: not called; {unusable}", False)
        where = self.base_url or account.address(self.environ)
        if where is None:
            return Verdict(f"{name}: not called; it has no address of its own (--base-url, --model)", None)
        asked = self.model or "/".join(filter(None, (vendor, account.example_model)))
        if not account.example_model and not self.model:
            return Verdict(f"{name}: say which model to call (--model, or `model` of its entry)", False)
        if serving not in self.models:
            return Verdict(f"{name}: its address is not allowed (PARLEY_ALLOWED_BASE_URLS)", False)
        began = monotonic()
        if serving == CREWAI_PROVIDER:
            reply, notes = await self.models[serving].reply(_words(asked, self.base_url)), list[str]()
        else:
            reply, notes = await _as_in_a_run(self.models[serving], _question(serving, asked, self.base_url))
        at, more = f"{where}, {asked}", "".join(f"\n  {note}" for note in notes)
        if reply.status == "ok" or (reply.status == "invalid" and serving == CREWAI_PROVIDER):
            return Verdict(f"{name}: well ({at}, {monotonic() - began:.1f} s){more}", True)
        if reply.status in ("invalid", "refused"):
            said = f" It said: {reply.words[:_LONGEST_SHOWN]!r}" if reply.words else ""
            return Verdict(f"{name}: a run could not use its reply ({at}): {reply.error}.{said}{more}", False)
        key = self.keys.variable(account.name, self.base_url) or "the variable of its address"
        advice = _WHAT_TO_DO.get(reply.status, "").format(key=key)
        return Verdict(f"{name}: {reply.status} ({at}): {reply.error}. {advice}".rstrip() + more, False)


async def _as_in_a_run(model: Model, request: ModelRequest) -> tuple[ModelReply, list[str]]:
    """The reply to what a run asks, and what the server can do: a schema, a system message, a long prompt."""
    reply, request, notes = await _without_lacks(model, request)
    if reply.status != "ok":
        return reply, notes
    if "json_schema" not in request.settings.lacks:
        has_all = all(field in (reply.parsed or {}) for field in _SCHEMA["required"])
        notes.append("takes schemas" if has_all else "takes schemas, and does not keep to them")
    if "system_role" not in request.settings.lacks:
        notes.append("takes system messages")
    if reply.text is not None or not reply.words.lstrip().startswith("{"):
        notes.append("writes more than the object, such as thoughts; that is read")
    return reply, [*notes, await _on_a_long_prompt(model, request)]


async def _without_lacks(model: Model, request: ModelRequest) -> tuple[ModelReply, ModelRequest, list[str]]:
    """Ask again without what the server refuses or ignores, as a run does."""
    notes: list[str] = []
    while True:
        reply = await model.reply(request)
        refused, ignored = lack_in(_body(request, reply), reply), ignored_in(_body(request, reply), reply)
        lack = refused or ignored
        if lack is None or lack in request.settings.lacks:
            return reply, request, notes
        notes.append(f"{(IN_WORDS if refused else IGNORED)[lack]} (`lacks: [{lack}]`)")
        settings = request.settings.model_copy(update={"lacks": (*request.settings.lacks, lack)})
        request = request.model_copy(update={"settings": settings})


async def _on_a_long_prompt(model: Model, request: ModelRequest) -> str:
    *before, last = request.messages
    longer = (*before, last.model_copy(update={"content": f"{_LONG}\n\n{last.content}"}))
    sent = tokens_of(longer)
    reply = await model.reply(request.model_copy(update={"messages": longer}))
    if reads_too_little(reply, sent):
        return f"read {reply.tokens_in:,} of about {sent:,} tokens: raise the context of the server"
    if reply.status in ("ok", "invalid"):
        return f"reads prompts of {sent:,} tokens"
    told = f"a prompt of about {sent:,} tokens: {reply.status}, {reply.error}"
    return f"{told} (`prompt_token_budget` keeps prompts shorter)"


def _body(request: ModelRequest, reply: ModelReply) -> Mapping[str, Any]:
    return request_body(reply.endpoint, request)


def _what_is_missing(
    provider: Provider, environ: Mapping[str, str], keys: ModelKeys, base_url: str | None
) -> str | None:
    """A provider without a key is configured by its address."""
    key = keys.missing(provider.name, base_url)
    if key is not None:
        return f"set {key}"
    address = provider.base_url_variable
    if (
        base_url is None
        and provider.key_variable is None
        and address is not None
        and not environ.get(address, "").strip()
    ):
        return f"set {address}, such as {provider.base_url}"
    return None


def _question(provider: str, model: str, base_url: str | None) -> ModelRequest:
    """A question like those of a run: a system message, a question, and the schema of the reply."""
    settings = ModelSettings(provider=provider, model=model, base_url=base_url, timeout_seconds=_SECONDS)
    return ModelRequest(
        path="providers/test",
        seed=0,
        settings=settings,
        messages=(ChatMessage(role="system", content=_SYSTEM), ChatMessage(role="user", content=_QUESTION)),
        reply_schema=_SCHEMA,
        most_reply_tokens=None if thinks_first(settings) else _MOST_TOKENS,
    )


def _words(model: str, base_url: str | None) -> ModelRequest:
    return ModelRequest(
        path="providers/test",
        seed=0,
        settings=ModelSettings(provider=CREWAI_PROVIDER, model=model, base_url=base_url, timeout_seconds=_SECONDS),
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
