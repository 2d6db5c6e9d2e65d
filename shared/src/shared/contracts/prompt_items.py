"""The items that a prompt is put together from, as a researcher writes them.

Nothing here knows how an item reads: prompt-builder renders them, and its default prompts are made of the same items.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from shared.rules import Rule

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
    """The persona's private text and attributes."""

    type: Literal["persona_context"] = "persona_context"


class Character(_Item):
    """The agent's role and backstory in a sentence, and its goal; its text where it has no backstory."""

    type: Literal["character"] = "character"


class StageContext(_Item):
    """What a stage shows to the agent."""

    type: Literal["stage_context"] = "stage_context"
    stage: str = THIS_STAGE
    """`this`, `all` (all so far, this one included), or the id of a stage; one that is still to come shows nothing."""
    text: bool = True
    """With the stage's description; of an interview also its context, the treatment and the agent's role."""
    info: bool = False
    """With the stage's additional information."""
    display: bool = True
    """With the content of the stage: its lines, its questions, what was said in it."""
    answers: bool = True
    """Stages that are over are shown with the answers given there, as far as the agent may see them."""
    heading: bool = True
    """With a line above it that says where the agent is, and the stage's name."""
    only_turns: bool = False
    """Of the content only what was said, without who is there and other lines about it."""


class Task(_Item):
    """What the kind of the stage tells an agent to do."""

    type: Literal["task"] = "task"
    heading: bool = True
    """With a line above it that says that this is the task."""


class Shuffle(BaseModel):
    """A seeded order."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    seed: Literal["experiment", "cohort", "participant", "custom"] = "participant"
    """Who shares one order: everybody, a cohort, nobody, or all groups with the same `custom_seed`."""
    custom_seed: str = ""
    """For `seed: custom`."""


class Group(_Item):
    """Several items that are shown or left out together."""

    type: Literal["group"] = "group"
    title: str = ""
    """For researchers, and part of the seed of the order; not shown."""
    items: tuple["Item", ...]
    shuffle: Shuffle | None = None
    """Shows the items in a drawn order; left out: as they stand here."""


Item = Annotated[
    TextItem | ProfileInfo | PersonaContext | Character | StageContext | Task | Group,
    Field(discriminator="type", description="One item of a prompt."),
]

PromptItems = tuple[Item, ...]
"""A prompt as it is written: its items in their order."""

Group.model_rebuild()


def walk(items: Iterable[Item], where: str = "") -> Iterator[tuple[str, Item]]:
    """Every item with its place, those in groups included."""
    for index, item in enumerate(items):
        place = f"{where}[{index}]"
        yield place, item
        if isinstance(item, Group):
            yield from walk(item.items, f"{place}.items")
