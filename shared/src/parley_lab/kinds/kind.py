"""The interface of every kind of stage."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds.effects import Effect
from parley_lab.kinds.parts import Parts
from parley_lab.kinds.talk import Block
from parley_lab.kinds.view import Ask, Json, OwnView

ConfigT = TypeVar("ConfigT", bound=StageConfig)


class PageContent(BaseModel):
    """The fields of the page of every stage; each kind adds its own.

    A field is private until such a class declares it.
    """

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    id: str
    title: str
    description: str
    info: str


def heading(stage: StageConfig) -> dict[str, Json]:
    """The values of the fields that the page of every stage has."""
    return {"id": stage.id, "title": stage.title, "description": stage.description, "info": stage.info}


@dataclass(frozen=True, slots=True)
class Done:
    """The member may go on. `page` is the answer to store for the whole page, if none is stored yet.

    `effects` are applied once, in the transaction of the move.
    """

    page: Json | None = None
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Blocked:
    """The member cannot go on yet; `reasons` are sentences for the member, those of our kinds with a code."""

    reasons: tuple[str, ...]


Completion = Done | Blocked


class StageKind(ABC, Generic[ConfigT]):
    """One kind of stage. A folder in `stages/` holds one subclass, its config, its rules and its tests.

    This is the core, which is enough for a page to read; everything else is in `parts`. Methods about one member
    get an `OwnView`, made for that member; methods about all answers get a `LabView`. `parley_lab.views.builder` makes
    both, and a type checker tells them apart.

    Each method says for whom it is called. *Settling* is the orchestrator's, under the cohort's lock. A *step* is the
    agent-worker's, under the lock of the agent's row. *Pages* are made by the gateway and *prompts* by prompt-builder,
    both without a lock, and so are *previews*, which are prompts of what has not happened. A *file* is read and checked
    before anything is stored, and *data* are written whenever someone wants them.
    """

    config_model: ClassVar[type[StageConfig]]
    is_only_read: ClassVar[bool] = False
    """Whether its page holds nothing that was said or answered: then people may look back at all of it where the file
    lets them look back at texts."""

    @abstractmethod
    def page(self, stage: ConfigT, view: OwnView) -> PageContent:
        """The page for `view.me`, also when the stage is over. Called for pages, as soon as the stage is open.

        The return type of a subclass is the schema of its pages.
        """

    @abstractmethod
    def prompt(self, stage: ConfigT, view: OwnView, ask: Ask | None = None) -> list[Block]:
        """What a prompt shows of the stage to `view.me`. Called for prompts, with the view as of the opening of the
        ask, and by the agent-worker for how long a person would read.

        `ask` is the prompt's ask on this stage; None: the prompt looks back at the stage, and shows the answers in the
        view. Then the stage is over for the reader, whatever the state says: a preview looks back before anything has
        happened.
        """

    @abstractmethod
    def example(self) -> ConfigT:
        """A small, complete stage of this kind. Called for the checks of kinds, and for documentation."""

    def parts(self, stage: ConfigT) -> Parts:
        """The stage's parts beyond a page to read. Called by everyone, once for each stage in memory."""
        return Parts()

    def problems(self, stage: ConfigT, earlier: Sequence[StageConfig]) -> list[Problem]:
        """The problems that types cannot express; `where` is relative to the stage. `earlier`: the stages before it.

        Called for files, for each order in which treatments have their stages.
        """
        return []

    def texts(self, stage: ConfigT, view: OwnView) -> list[str]:
        """Texts that a prompt shows `view.me` before `prompt`, for an ask and for looking back. Called where it is."""
        return [stage.description]

    def completion(self, stage: ConfigT, view: OwnView) -> Completion:
        """Whether `view.me` may go on. Called for pages; in each step; when a person goes on, under the lock of their
        row, or without it where the move fails if anything has happened since; at the end of a member's time on the
        stage; and by settling, to find agents who are done.

        Draws, state and own answers decide: other members may be missing in the view. A kind that asks for the whole
        page blocks until it is answered; other kinds say when theirs is over.
        """
        return Done()

    def in_common(self, stage: ConfigT) -> ConfigT:
        """The stage without what each member reads alone although members are together, such as the words of a role.

        That may differ between members who have treatments of their own; nothing that is drawn or settled reads it.
        Called for files with treatments by participant.
        """
        return stage

    def manner(self, script: Json) -> tuple[str, ...]:
        """Phrases that the mock uses in conversations for a persona with this script for stages of this kind.

        Called for prompts, of a stage of any kind.
        """
        return ()


@cache
def page_model(kind: type[StageKind[Any]]) -> type[PageContent]:
    """The schema of this kind's pages.

    Raises:
        TypeError: `page` has no return type.
    """
    try:
        found = get_type_hints(kind.page).get("return")
    except NameError as error:
        raise TypeError(f"{kind.__name__}.page: {error}") from error
    if not isinstance(found, type) or not issubclass(found, PageContent) or found is PageContent:
        raise TypeError(f"{kind.__name__}.page must say which PageContent it returns")
    return found


def to_read(kind: StageKind[ConfigT], stage: ConfigT, view: OwnView, ask: Ask | None = None) -> str:
    """The text that a person has to read before answering this ask, or before going on from a page to read."""
    questions = kind.parts(stage).questions
    question = None if ask is None or questions is None else questions.question(view, ask)
    news = None if question is None else question.news()
    if news is not None:
        return news
    return "\n".join([*kind.texts(stage, view), *(block.text for block in kind.prompt(stage, view, ask))])
