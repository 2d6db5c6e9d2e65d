"""Sentences for members that pages say in words of their own, by a code and the values in them."""

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel
from typing_extensions import TypedDict


class SpokenWords(TypedDict):
    """A sentence of the lab inside another one, for pages with words of their own; `text` is the sentence itself."""

    code: str
    params: dict[str, "Said"]
    text: str


Said = str | int | float | SpokenWords
"""A value in a sentence."""


class Sentence(str):
    """A sentence in English, with a code that does not change and the values that other words for it need."""

    code: str
    params: Mapping[str, Said]

    def __new__(cls, sentence: str, code: str, **params: Said) -> Self:
        found = super().__new__(cls, sentence)
        found.code, found.params = code, params
        return found

    @property
    def spoken(self) -> SpokenWords:
        """The sentence as a value of another one, which pages say in their words, too."""
        return {"code": self.code, "params": dict(self.params), "text": str(self)}

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, Said]]:
        """For copies, which are made anew."""
        return (str(self), self.code), dict(self.params)


class Reason(Sentence):
    """Why a member cannot go on."""


class Label(Sentence):
    """The title of a field of a form, in the lab's own words."""


class LabLine(Sentence):
    """What the lab says in a conversation. Prompts and data have the sentence itself."""


class LabWords(BaseModel):
    """What the lab itself says on a page, as a code with its parameters, for pages with words of their own."""

    code: str
    params: dict[str, Said]

    @classmethod
    def of(cls, text: str) -> Self | None:
        """None for a text that is not a `Label`: it is of the file, or of a member."""
        return cls(code=text.code, params=dict(text.params)) if isinstance(text, Label) else None
