"""Providers that the environment names: any endpoint with OpenAI's API, with a key of its own.

PARLEY_PROVIDERS='{"groq": {"base_url": "https://api.groq.com/openai/v1", "key": "GROQ_API_KEY", "model": "..."}}'
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from parley_lab.base.errors import SettingsInvalid
from parley_lab.contracts.addresses import read_place
from parley_lab.contracts.providers import CREWAI_PROVIDER, PROVIDERS, Provider

PROVIDERS_VARIABLE: Final = "PARLEY_PROVIDERS"

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_FIELDS: Final = frozenset({"base_url", "key", "model", "key_header", "query"})
_TAKEN: Final = frozenset({"steps", CREWAI_PROVIDER, *(name.partition("/")[0] for name in PROVIDERS)})
"""Names of other queues of workers, and of providers that there are anyway."""


def read_providers(environ: Mapping[str, str]) -> Mapping[str, Provider]:
    """Every provider that a persona may name: those that there always are, then those of the environment.

    Raises:
        SettingsInvalid: an entry cannot be read; the message names its place and no value, which may be a key.
    """
    return {**PROVIDERS, **{one.name: one for one in named_providers(environ)}}


def named_providers(environ: Mapping[str, str]) -> list[Provider]:
    """The providers of the environment alone; raises what `read_providers` does."""
    written = environ.get(PROVIDERS_VARIABLE, "").strip()
    if not written:
        return []
    try:
        entries = json.loads(written)
    except ValueError:
        entries = None
    if not isinstance(entries, dict):
        example = '{"mine": {"base_url": "https://models.example.org/v1", "key": "NAME_OF_A_VARIABLE"}}'
        raise _wrong(f"expected is JSON: {example}")
    return list(_read(entries))


def _read(entries: Mapping[str, object]) -> Iterator[Provider]:
    for number, (name, fields) in enumerate(entries.items(), start=1):
        if not _NAME.fullmatch(name) or name in _TAKEN:
            raise _wrong(f"the name of entry {number} is taken or has other characters than a-z, 0-9, - and _")
        if not isinstance(fields, dict) or not fields.keys() <= _FIELDS:
            raise _wrong(f"entry {number} has the fields base_url, key, model, key_header and query, and no others")
        key, base_url, model = fields.get("key"), fields.get("base_url"), fields.get("model", "")
        if key is not None and (not isinstance(key, str) or not _KEY.fullmatch(key)):
            raise _wrong(f"the key of entry {number} is the name of the variable that holds it")
        if not isinstance(base_url, str) or not isinstance(model, str):
            raise _wrong(f"the base_url and the model of entry {number} are texts, and the base_url is needed")
        try:
            read_place(base_url)
        except ValueError as error:
            raise _wrong(f"the base_url of entry {number}: {error}") from None
        yield Provider(
            name,
            key,
            base_url=base_url.rstrip("/"),
            example_model=model,
            key_header=_key_header(number, fields.get("key_header")),
            query=_query(number, fields.get("query", {})),
        )


def _key_header(number: int, header: object) -> str | None:
    if header is None or (isinstance(header, str) and _HEADER.fullmatch(header)):
        return header
    raise _wrong(f"the key_header of entry {number} is the name of a header, such as api-key")


def _query(number: int, query: object) -> Mapping[str, str]:
    if isinstance(query, dict) and all(isinstance(value, str) for value in query.values()):
        return query
    raise _wrong(f'the query of entry {number} is an object of texts, such as {{"api-version": "2024-10-21"}}')


def _wrong(what: str) -> SettingsInvalid:
    return SettingsInvalid(f"These settings are missing or wrong:\n  {PROVIDERS_VARIABLE}: {what}")
