"""Secrets in files, as containers get them: `NAME_FILE` names the file with the value of `NAME`."""

from collections.abc import Container, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Final

from parley_lab.base.errors import SettingsInvalid
from parley_lab.contracts.endpoints import read_endpoint_keys
from parley_lab.contracts.named_providers import named_providers
from parley_lab.contracts.providers import KEY_VARIABLES

_BOOTSTRAP_KEY: Final = "PARLEY_BOOTSTRAP_API_KEY"
ADDRESSES_OF_SERVERS: Final = ("PARLEY_DATABASE_URL", "PARLEY_AMQP_URL")

_NEVER_EMPTY: Final = (*ADDRESSES_OF_SERVERS, _BOOTSTRAP_KEY)


def read_secret_files(environ: MutableMapping[str, str], *, only: Container[str] | None = None) -> None:
    """Set every secret whose file is named, and forget the file; an empty file of a provider's key counts as absent.

    only: the names of the secrets that are wanted; None: all.

    Raises:
        SettingsInvalid: with each variable whose file cannot be read or has no address or API key of the lab, or that
            is also set itself.
    """
    found: dict[str, str] = {}
    wrong: list[str] = []
    for name in (one for one in _named(environ) if only is None or one in only):
        if environ.get(name, "").strip():
            wrong.append(f"  {name}: is set, and {name}_FILE is, too; one of them is enough")
            continue
        try:
            found[name] = Path(environ[f"{name}_FILE"]).read_text().strip()
            if not found[name] and name in _NEVER_EMPTY:
                wrong.append(f"  {name}_FILE: is empty")
        except (OSError, UnicodeDecodeError) as error:
            wrong.append(f"  {name}_FILE: cannot be read ({type(error).__name__})")
    if wrong:
        raise SettingsInvalid("These settings are missing or wrong:\n" + "\n".join(wrong))
    environ.update(found)
    for name in found:
        del environ[f"{name}_FILE"]


def _named(environ: Mapping[str, str]) -> Iterator[str]:
    own = (one.key_variable for one in named_providers(environ))
    secrets = (
        *ADDRESSES_OF_SERVERS,
        _BOOTSTRAP_KEY,
        *KEY_VARIABLES.values(),
        *own,
        *read_endpoint_keys(environ).values(),
    )
    for name in dict.fromkeys(filter(None, secrets)):
        if environ.get(f"{name}_FILE", "").strip():
            yield name
