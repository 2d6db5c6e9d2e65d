"""The prompts of personas that have none of their own for a stage, made of the items that researchers use."""

from typing import Final

from parley_lab.contracts.prompt_items import (
    ALL_STAGES,
    PersonaContext,
    ProfileInfo,
    PromptItems,
    StageContext,
    Task,
    TextItem,
)

_PARTICIPANT: Final = (
    "You are a human participant in an online task that several people go through stage by stage. Be the person "
    "described below, think and decide as this person would, and do what the current stage asks of you now."
)
_MEDIATOR: Final = (
    "You are the mediator of a live conversation in an online task that several people go through stage by stage. You "
    "do not take part in the task: you are there for the conversation, under the name below."
)
_ROLE: Final = (
    "You have a role of your own in an online task that several people go through stage by stage. You are not one of "
    "those people: you are there under the name below, and do what the current stage asks of your role now."
)


def _default(opening: str) -> PromptItems:
    return (TextItem(text=opening), ProfileInfo(), PersonaContext(), StageContext(stage=ALL_STAGES), Task())


PARTICIPANT: Final = _default(_PARTICIPANT)
MEDIATOR: Final = _default(_MEDIATOR)
ROLE: Final = _default(_ROLE)
"""Of a mediator that is asked where no conversation takes place, such as for a summary in an interview."""
