"""The experiment of a test chat: one person, and a persona that answers every message."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from parley_lab.contracts.experiment import ModelMode, Persona
from parley_lab.contracts.prompt_items import Character, PersonaContext, ProfileInfo, TextItem
from parley_lab.design.document import Experiment

Json = Any

STAGE: Final = "talk"
_SITUATION: Final = "You are in a test conversation. Respond naturally and in character."
_SEED: Final = 0
"""The seed of every test chat: the mock answers the same words of a persona's visitor in the same way."""
_DESCRIPTION: Final = "A test conversation. Answer every message, in character."

_WHY: Final[Mapping[str, str]] = {
    "auth_error": "The provider of the model does not accept its key.",
    "no_quota": "The account of the model's key has no money or quota left.",
    "unreachable": "Nothing answers at the address of the model.",
    "refused": "The model refused to answer.",
    "invalid": "The model gave no reply that can be used.",
    "too_long": "The conversation is longer than the model can read.",
    "rate_limited": "The provider of the model takes no more requests for now.",
    "unavailable": "The provider of the model is away.",
    "timeout": "The model did not answer in time.",
    "bad_request": "The provider of the model refused the request as wrong: look at the persona's model settings.",
}
_OTHERWISE: Final = "No reply came of it; the lab's log says more."


def why_no_reply(failure: str) -> str:
    """Why a message has no reply, in words; `failure`: the state of its model call or its draft."""
    return _WHY.get(failure, _OTHERWISE)


def chat_with(persona: Persona, mode: ModelMode) -> Experiment:
    """The experiment of a test chat with this persona.

    The persona is a mediator, so that it cannot leave, and its chat settings, which could keep it silent, are dropped.
    Its prompt is its own for conversations, or else one that shows all its texts and nothing of mediating.
    """
    return Experiment.model_validate(
        {
            "parley": 1,
            "name": f"Test chat with {persona.id}",
            "seed": _SEED,
            "pace": "live",
            "model_mode": mode,
            "stages": [
                {
                    "id": STAGE,
                    "kind": "group_chat",
                    "name": "Test chat",
                    "description": _DESCRIPTION,
                    "progress": {"wait_for_all": False},
                    "turn_taking": "select",
                    # Each message waits for the reply to the one before, which is limit enough.
                    "post_limit": None,
                }
            ],
            "personas": [_as_it_chats(persona)],
            "cohorts": [{"seats": [{"open": True}], "mediators": [persona.id]}],
        }
    )


def _as_it_chats(persona: Persona) -> dict[str, Json]:
    fields = persona.model_dump(mode="json")
    own: Mapping[str, Json] = fields["prompts"]
    texts = _system_prompt(persona)
    if texts:
        fields |= {"role": "", "backstory": "", "goal": ""}
    prompt = own.get("group_chat") or _prompt(texts)
    name = persona.profile.name or persona.id
    return {
        **fields,
        "player": "agent",
        "profile": {**fields["profile"], "name": name},
        "chat": {},
        "prompts": {STAGE: prompt},
    }


def _prompt(texts: Sequence[str]) -> list[Json]:
    return [
        *({"type": "text", "text": text} for text in (*texts, _SITUATION)),
        {"type": "profile_info"},
        {"type": "persona_context"},
        {"type": "stage_context", "heading": False, "text": False, "info": False, "only_turns": True},
    ]


def _system_prompt(persona: Persona) -> list[str]:
    """The texts at the beginning of its own prompt, which replace role, backstory and goal."""
    for items in persona.prompts.values():
        if not any(isinstance(item, Character | PersonaContext | ProfileInfo) for item in items):
            leading = takewhile(lambda item: isinstance(item, TextItem), items)
            return [item.text for item in leading if isinstance(item, TextItem)]
    return []
