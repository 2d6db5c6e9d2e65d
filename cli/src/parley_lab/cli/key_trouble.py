"""Explains a key that a provider refuses: the address, the reply, and what the user can do."""

import os
from collections.abc import Sequence
from typing import Final

from parley_lab.contracts.endpoints import ENDPOINT_KEYS_VARIABLE
from parley_lab.contracts.key_rules import BAD_REQUEST, UNREACHABLE, WAITS, Gate, first_in_words, waiting_in_words
from parley_lab.contracts.named_providers import read_providers
from parley_lab.contracts.providers import CREWAI_KEY_VARIABLES
from parley_lab.drafts.called_keys import Waiting

_WHAT_TO_DO: Final = {
    "auth_error": "Put a key that is accepted there into {variable}.",
    "no_quota": "See that the account has money and quota left, or put the key of another into {variable}.",
    **dict.fromkeys(WAITS, "Go on with --resume then; --patience MINUTES waits longer."),
    BAD_REQUEST: "See what the server can do: parley providers test. What it lacks is said by `lacks` of the model.",
    UNREACHABLE: "See that a model is served there, that the address is right and that this machine can reach it.",
}


def refused_lines(waiting: Waiting) -> Sequence[str]:
    """The reason why a run stops, in lines."""
    gate = waiting.gate
    if gate.waits:
        head = f"The run has stopped: {waiting_in_words(gate)}."
    elif gate.is_tried:
        since = f"{gate.paused_at:%H:%M:%S} UTC" if gate.paused_at else "some time ago"
        state = f"{gate.name} is not reached" if gate.fault == UNREACHABLE else f"the key of {gate.name} is refused"
        head = f"The run has stopped: {state} since {since}."
    else:
        first = first_in_words(gate)
        head = f"The run has stopped: {first[0].lower()}{first[1:]}. Nothing else was asked."
    answers = "1 answer waits" if waiting.drafts == 1 else f"{waiting.drafts} answers wait"
    return (
        head,
        f"  {gate.asked} was asked; what came back: {gate.reason}",
        f"  {answers} for it, and no member has failed. {_what_to_do(gate)}",
    )


def _what_to_do(gate: Gate) -> str:
    name, _, address = gate.name.partition(" at ")
    account = name.partition("/")[0]
    provider = read_providers(os.environ).get(account)
    variable = provider.key_variable if provider is not None else CREWAI_KEY_VARIABLES.get(account)
    if address:
        variable = f"the variable that {ENDPOINT_KEYS_VARIABLE} names for it"
    return _WHAT_TO_DO.get(gate.fault, "").format(variable=variable or "the environment")
