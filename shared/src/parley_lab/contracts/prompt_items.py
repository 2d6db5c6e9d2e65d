"""The items of prompts, as researchers write them.

prompt-builder renders the items; its default prompts consist of the same ones.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley_lab.base.rules import Rule

THIS_STAGE: Final = "this"
ALL_STAGES: Final = "all"


class _Item(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    show_if: Rule | None = None
    """The item is left out unless this rule about the agent's own answers is true."""


class TextItem(_Item):
    """A text of the researcher's."""

    type: Literal["text"] = "text"
    text: str
    """`{{name}}` is replaced by the variable of that name."""


class ProfileInfo(_Item):
    """How others see the agent: name, avatar, pronouns."""

    type: Literal["profile_info"] = "profile_info"


class PersonaContext(_Item):
    """The persona's private description: role and backstory, text, attributes, goal."""

    type: Literal["persona_context"] = "persona_context"


class Character(_Item):
    """The agent's role and backstory in a sentence, and its goal; without a backstory, its text."""

    type: Literal["character"] = "character"


class StageContext(_Item):
    """What a stage shows to the agent."""

    type: Literal["stage_context"] = "stage_context"
    stage: str = THIS_STAGE
    """`this`, `all` (all so far, this one included), or the id of a stage; a later stage shows nothing."""
    text: bool = True
    """With the stage's description; of an interview also its context, the treatment and the agent's role."""
    info: bool = True
    """With the stage's additional information."""
    display: bool = True
    """With the content of the stage: its lines, questions and messages."""
    answers: bool = True
    """Completed stages include their answers, as far as the agent may see them."""
    heading: bool = True
    """With a heading that says where the agent is, and the stage's name."""
    only_turns: bool = False
    """Of the content only the messages, without the list of members and other lines."""


class Task(_Item):
    """What the kind of the stage tells an agent to do."""

    type: Literal["task"] = "task"
    heading: bool = True
    """With a heading for the task."""


class Shuffle(BaseModel):
    """A seeded order."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    seed: Literal["experiment", "cohort", "participant", "custom"] = "participant"
    """Who shares one order: all, a cohort, none, or all groups with the same `custom_seed`."""
    custom_seed: str = ""
    """For `seed: custom`."""


class Group(_Item):
    """Several items that are shown or left out together."""

    type: Literal["group"] = "group"
    title: str = ""
    """For researchers, and part of the seed of the order; not shown."""
    items: tuple["Item", ...]
    shuffle: Shuffle | None = None
    """Shows the items in a drawn order; left out: in the order of the file."""


Item = Annotated[
    TextItem | ProfileInfo | PersonaContext | Character | StageContext | Task | Group,
    Field(discriminator="type", description="One item of a prompt."),
]

PromptItems = tuple[Item, ...]
"""A prompt as written: its items in order."""

Group.model_rebuild()


def walk(items: Iterable[Item], where: str = "") -> Iterator[tuple[str, Item]]:
    """Every item with its place, items of groups included."""
    for index, item in enumerate(items):
        place = f"{where}[{index}]"
        yield place, item
        if isinstance(item, Group):
            yield from walk(item.items, f"{place}.items")
