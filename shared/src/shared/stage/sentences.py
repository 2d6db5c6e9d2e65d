"""Sentences for members that pages say in words of their own, by a code and the values in them."""

from collections.abc import Mapping
from typing import Self

from shared.stage.view import Json


class Sentence(str):
    """A sentence in English, with a code that does not change and the values that other words for it need."""

    code: str
    params: Mapping[str, Json]

    def __new__(cls, sentence: str, code: str, **params: Json) -> Self:
        found = super().__new__(cls, sentence)
        found.code, found.params = code, params
        return found

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, Json]]:
        """For copies, which are made anew."""
        return (str(self), self.code), dict(self.params)


class Reason(Sentence):
    """Why a member cannot go on."""


class Label(Sentence):
    """The title of a field of a form, in the lab's own words."""


class LabLine(Sentence):
    """What the lab says in a conversation. Prompts and data have the sentence itself."""
