"""Questions in words and boxes: a class says everything about one kind; `AnyQuestion` names them all."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, PrivateAttr

from parley_lab.base.errors import Problem
from parley_lab.base.replies import Truth, text
from parley_lab.base.rules import Rule, is_empty, is_none
from parley_lab.base.storable import is_storable_number, is_storable_text
from parley_lab.contracts.experiment import Document, Paste, Slug
from parley_lab.contracts.media import Medium, in_words
from parley_lab.contracts.texts import Title
from parley_lab.kinds import Column, Json, form
from parley_lab.kinds.questions.rows import AskedRow, named

Number = int | float
LONGEST_TEXT: Final = 10_000
"""Characters of an answer in one's own words, where the file says nothing else."""


class Unfit(Exception):
    """A value that cannot answer the question; says what could, in words and by a code with values."""

    def __init__(self, expected: str, code: str, **params: Json) -> None:
        super().__init__(expected)
        self.expected = expected
        self.code = code
        # A bound of the file may be larger than what JSON of others can carry.
        self.params = {name: _carried(value) for name, value in params.items()}


def _carried(value: Json) -> Json:
    return str(value) if isinstance(value, int | float) and not is_storable_number(value) else value


class BaseQuestion(Document):
    """What every question has."""

    id: Slug
    """Unique on the page; names the answer in the data and in show-if rules."""
    title: Title
    """The question itself."""
    show_if: Rule | None = None
    """The question is shown only when this is true; left out: always."""
    required: bool = True
    """Whether it must be answered; if not, null is an answer."""
    group: Slug | None = Field(default=None, exclude_if=is_none)
    """The name of the group to which it belongs; `groups` of the stage says what its numbers come to in all."""
    media: tuple[Medium, ...] = Field(default=(), exclude_if=is_empty)
    """Images, sound, films and links above the question."""
    _row: AskedRow | None = PrivateAttr(default=None)

    @property
    def row(self) -> AskedRow | None:
        """The row that it is asked about; None: the stage has none."""
        return self._row

    def of_row(self, row: AskedRow, show_if: Rule | None) -> Self:
        """The same question as that of a row, with its own id."""
        found = self.model_copy(update={"id": named(row.id, self.id), "show_if": show_if})
        found._row = row
        return found

    @property
    def label(self) -> str:
        """What the data call it; a title in parts may have none for all."""
        return self.title or self.id

    @property
    def told(self) -> str:
        """The question in a prompt, after its media in words."""
        return " ".join([*(in_words(one.shown) for one in self.media), self.title])

    @property
    def has_correct(self) -> bool:
        """Whether one answer is the right one."""
        return False

    @property
    def may_be_empty(self) -> bool:
        """Whether null is an answer: then nothing is stored but that."""
        return not self.required

    @abstractmethod
    def stored(self, value: Json) -> Json:
        """The answer as it is stored. Raises Unfit."""

    def answered(self, value: Json) -> Json:
        """The same, for an answer that may be left out where the question says so. Raises Unfit."""
        return None if value is None and self.may_be_empty else self.stored(value)

    @abstractmethod
    def reply_type(self) -> Any:
        """The type of the answer in a model's reply, where it is given."""

    def reply_field(self) -> Any:
        """The type of the answer in a model's reply; null where it may be left out."""
        return self.reply_type() | None if self.may_be_empty else self.reply_type()

    @abstractmethod
    def hint(self) -> str:
        """How it is to be answered, for a prompt."""

    def asked(self) -> str:
        """The same, with the leave not to answer."""
        return f"{self.hint()}, or null for no answer" if self.may_be_empty else self.hint()

    @abstractmethod
    def field_schema(self) -> dict[str, Json]:
        """The field of a form: JSON Schema in words for people."""

    def form_field(self) -> dict[str, Json]:
        """The same, with the media above it."""
        shown = {"x-media": [one.shown.model_dump() for one in self.media]} if self.media else {}
        return {**self.field_schema(), **shown}

    def in_words(self, answer: Json) -> str:
        """The answer as a prompt shows it."""
        return str(answer)

    def given_in_words(self, answer: Json) -> str:
        """The same for an answer that may be missing."""
        return "(no answer)" if answer is None else self.in_words(answer)

    def problems(self) -> Iterator[Problem]:
        """What the types cannot say about this question; `where` is relative to it."""
        yield from ()

    def columns(self) -> list[Column]:
        return [Column(self.id, self.label, "text")]

    def cells(self, answer: Json) -> dict[str, Json]:
        return {self.id: answer}

    def is_correct(self, answer: Json) -> bool | None:
        """Whether the answer is right; None where there is no right one, or no answer."""
        return None

    def given_cells(self, answer: Json) -> dict[str, Json]:
        """The cells of an answer that may be missing: then they are empty."""
        return {column.name: None for column in self.columns()} if answer is None else self.cells(answer)


class TextQuestion(BaseQuestion):
    """An answer in one's own words."""

    kind: Literal["text"] = "text"
    min_chars: int = Field(default=1, ge=0)
    """The fewest characters, spaces around the answer not counted; 0: it may stay empty."""
    max_chars: int | None = Field(default=None, ge=1)
    """The most characters; left out: 10,000, or `min_chars` if that is more."""
    paste: Paste | None = None
    """Whether people may paste the answer; left out: as the stage or the experiment says."""

    def stored(self, value: Json) -> Json:
        if not isinstance(value, str) or not is_storable_text(value):
            raise Unfit("text", "write_text")
        text = value.strip()
        if len(text) < self.min_chars:
            raise Unfit(self.hint(), "write_more", count=self.min_chars)
        if self.max_chars is not None and len(text) > self.max_chars:
            raise Unfit(self.hint(), "write_less", count=self.max_chars)
        if len(text) > (limit := max(LONGEST_TEXT, self.min_chars)) and self.max_chars is None:
            raise Unfit(f"text of at most {limit} characters", "write_less", count=limit)
        return text

    def answered(self, value: Json) -> Json:
        """Spaces alone are no answer, where none is needed."""
        is_blank = isinstance(value, str) and not value.strip()
        return None if is_blank and self.may_be_empty else super().answered(value)

    def reply_type(self) -> Any:
        return text(Field(min_length=self.min_chars, max_length=self.max_chars))

    def field_schema(self) -> dict[str, Json]:
        most = self.max_chars or max(LONGEST_TEXT, self.min_chars)
        shown = form.text(self.title, least=self.min_chars, most=most)
        return shown if self.paste is None else {**shown, "x-paste": self.paste}

    def hint(self) -> str:
        if self.max_chars is None:
            return f"text of at least {self.min_chars} characters" if self.min_chars > 1 else "text"
        return f"text of {self.min_chars} to {self.max_chars} characters"

    def in_words(self, answer: Json) -> str:
        return str(answer) or "(left empty)"

    def problems(self) -> Iterator[Problem]:
        if self.max_chars is not None and self.max_chars < self.min_chars:
            yield Problem("max_chars", str(self.max_chars), f"at least min_chars, which is {self.min_chars}")


class CheckQuestion(BaseQuestion):
    """A box to tick."""

    kind: Literal["check"] = "check"
    required: bool = False
    """Whether one must tick it to go on."""

    @property
    def may_be_empty(self) -> bool:
        """Nothing counts as false."""
        return False

    def stored(self, value: Json) -> Json:
        if not isinstance(value, bool):
            raise Unfit("true or false", "tick_or_not")
        if self.required and not value:
            raise Unfit(self.hint(), "tick_this")
        return value

    def reply_type(self) -> Any:
        return Annotated[Truth, Field(json_schema_extra={"enum": [True]})] if self.required else Truth

    def field_schema(self) -> dict[str, Json]:
        must = {"const": True} if self.required else {"default": False}
        return {"type": "boolean", "title": self.title, **must}

    def hint(self) -> str:
        return "true: this box must be ticked" if self.required else "true or false"

    def in_words(self, answer: Json) -> str:
        return "ticked" if answer else "not ticked"

    def columns(self) -> list[Column]:
        return [Column(self.id, self.label, "boolean")]
