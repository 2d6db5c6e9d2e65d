"""What a row of the table says about a kind of stage."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from tests.flows.looking_back.cast import Cast, Json, Reader

if TYPE_CHECKING:
    from tests.flows.looking_back.players import Ana


class Row(ABC):
    """What one kind of stage shows. Sentences belong to the stage with this id; all of them must be there."""

    stage: ClassVar[Mapping[str, Json]] = {}
    """The stage, but for kind and id."""
    has_last_ask: bool = False
    """Whether nothing is asked of a member who has answered everything: a preview is refused (409)."""
    asks_about_members: bool = False
    """Whether the fields of a reply depend on who has come, which no preview knows."""
    not_over: tuple[str, ...] = ()
    """What must be missing where the stage is looked back at."""

    @abstractmethod
    def is_asked(self, reader: Reader) -> bool:
        """Whether a model is asked anything here for this member."""

    @abstractmethod
    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        """Who is there and what it is, in a prompt."""

    @abstractmethod
    def before(self, reader: Reader) -> list[str]:
        """What a preview shows when it looks back before anything has happened."""

    @abstractmethod
    def said(self, reader: Reader, stage_id: str) -> list[str]:
        """Who said what, in a prompt that looks back."""

    @abstractmethod
    def known(self, reader: Reader, stage_id: str) -> set[str]:
        """The words of the stage that are there when it is over: these and no others."""

    @abstractmethod
    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        """What Ana's page shows."""

    async def act(self, ana: "Ana", stage_id: str) -> None:
        """What Ana does before she goes on."""
        await ana.answer_asks(self, stage_id)

    def answer(self, key: str, stage_id: str) -> Json:
        """What she answers to an ask with this key, or (empty) as her page."""
        return None
