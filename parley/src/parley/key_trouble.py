"""What a person at the terminal is told of a key that a provider refuses: who was asked, what came back, what to do."""

from collections.abc import Sequence
from typing import Final

from shared.acts.called_keys import Waiting
from shared.contracts.endpoints import ENDPOINT_KEYS_VARIABLE
from shared.contracts.providers import CREWAI_KEY_VARIABLES, PROVIDERS
from shared.key_rules import Gate

_WHAT_TO_DO: Final = {
    "auth_error": "Put a key that is accepted there into {variable}.",
    "no_quota": "See that the account has money and quota left, or put the key of another into {variable}.",
    "unreachable": "See that a model is served there, that the address is right and that this machine can reach it.",
}


def refused_lines(waiting: Waiting) -> Sequence[str]:
    """The reason for which a run stops, in lines."""
    gate = waiting.gate
    if gate.is_tried:
        since = f"{gate.paused_at:%H:%M:%S} UTC" if gate.paused_at else "some time ago"
        head = f"The run has stopped: the key of {gate.name} is refused since {since}."
    else:
        head = f"The run has stopped: the first call with the key of {gate.name} was refused. Nothing else was asked."
    answers = "1 answer waits" if waiting.drafts == 1 else f"{waiting.drafts} answers wait"
    return (
        head,
        f"  {gate.asked} was asked; what came back: {gate.reason}",
        f"  {answers} for it, and nobody has failed. {_what_to_do(gate)}",
    )


def _what_to_do(gate: Gate) -> str:
    name, _, address = gate.name.partition(" at ")
    account = name.partition("/")[0]
    provider = PROVIDERS.get(account)
    variable = provider.key_variable if provider is not None else CREWAI_KEY_VARIABLES.get(account)
    if address:
        variable = f"the variable that {ENDPOINT_KEYS_VARIABLE} names for it"
    return _WHAT_TO_DO.get(gate.fault, "").format(variable=variable or "the environment")
