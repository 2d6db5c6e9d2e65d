"""The kinds of questions: a class says everything about one kind; `Question` in `config.py` names them all."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from shared.contracts.experiment import Document, Slug
from shared.errors import Problem
from shared.replies import Truth, text
from shared.rules import Rule
from shared.stage import Column, Json
from shared.storable import is_storable_text

Number = int | float
LONGEST_TEXT: Final = 10_000
"""Characters of an answer in one's own words, where the file says nothing else."""


class Unfit(Exception):
    """A value that cannot answer the question; says what could."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = expected


class BaseQuestion(Document):
    """What every question has."""

    id: Slug
    """Unique on the page; names the answer in the data and in show-if rules."""
    title: str = Field(min_length=1)
    """The question itself."""
    show_if: Rule | None = None
    """The question is shown only when this is true; left out: always."""

    @property
    def has_correct(self) -> bool:
        """Whether one answer is the right one."""
        return False

    @abstractmethod
    def stored(self, value: Json) -> Json:
        """The answer as it is stored. Raises Unfit."""

    @abstractmethod
    def reply_type(self) -> Any:
        """The type of the answer in a model's reply."""

    @abstractmethod
    def hint(self) -> str:
        """How it is to be answered, for a prompt."""

    def public(self) -> dict[str, Json]:
        """What the page shows."""
        return self.model_dump(mode="json", exclude={"show_if"})

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
        return [Column(self.id, self.title, "text")]

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

    def stored(self, value: Json) -> Json:
        if not isinstance(value, str) or not is_storable_text(value):
            raise Unfit("text")
        text = value.strip()
        if len(text) < self.min_chars or (self.max_chars is not None and len(text) > self.max_chars):
            raise Unfit(self.hint())
        if len(text) > (limit := max(LONGEST_TEXT, self.min_chars)) and self.max_chars is None:
            raise Unfit(f"text of at most {limit} characters")
        return text

    def reply_type(self) -> Any:
        return text(Field(min_length=self.min_chars, max_length=self.max_chars))

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

    def stored(self, value: Json) -> Json:
        if not isinstance(value, bool):
            raise Unfit("true or false")
        if self.required and not value:
            raise Unfit(self.hint())
        return value

    def reply_type(self) -> Any:
        return Annotated[Truth, Field(json_schema_extra={"enum": [True]})] if self.required else Truth

    def hint(self) -> str:
        return "true: this box must be ticked" if self.required else "true or false"

    def in_words(self, answer: Json) -> str:
        return "ticked" if answer else "not ticked"

    def columns(self) -> list[Column]:
        return [Column(self.id, self.title, "boolean")]


class Option(Document):
    """One of the answers to choose from."""

    id: Slug
    """Stands for the option in the data."""
    text: str = Field(min_length=1)
    """What participants read."""


class _OptionsQuestion(BaseQuestion):
    options: tuple[Option, ...] = Field(min_length=1)
    """What to choose from."""

    @property
    def option_ids(self) -> tuple[str, ...]:
        return tuple(option.id for option in self.options)

    def _one(self) -> Any:
        """The type of one of the ids."""
        return Literal[self.option_ids]

    def _listed(self) -> str:
        return ", ".join(f"{option.id} ({option.text})" for option in self.options)

    def _texts(self, chosen: Sequence[str]) -> str:
        return "; ".join(option.text for option in self.options if option.id in chosen)

    def problems(self) -> Iterator[Problem]:
        for index, option_id in enumerate(self.option_ids):
            if option_id in self.option_ids[:index]:
                yield Problem(f"options[{index}].id", f"{option_id!r} again", "an id of its own for every option")


class ChoiceQuestion(_OptionsQuestion):
    """One answer out of several."""

    kind: Literal["choice"] = "choice"
    correct: Slug | None = None
    """The id of the right option, when there is one; participants and models never see it."""

    def stored(self, value: Json) -> Json:
        if not isinstance(value, str) or value not in self.option_ids:
            raise Unfit(self.hint())
        return value

    def reply_type(self) -> Any:
        return self._one()

    def hint(self) -> str:
        return f"one of: {self._listed()}"

    def public(self) -> dict[str, Json]:
        return self.model_dump(mode="json", exclude={"show_if", "correct"})

    def in_words(self, answer: Json) -> str:
        return self._texts([answer])

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.correct is not None and self.correct not in self.option_ids:
            yield Problem("correct", repr(self.correct), f"one of the options {', '.join(self.option_ids)}")

    @property
    def has_correct(self) -> bool:
        return self.correct is not None

    def is_correct(self, answer: Json) -> bool | None:
        return None if self.correct is None or answer is None else bool(answer == self.correct)

    def columns(self) -> list[Column]:
        columns = [*super().columns(), Column(f"{self.id}.text", f"{self.title} (text)", "text", derived=True)]
        if self.correct is not None:
            columns.append(Column(f"{self.id}.correct", f"{self.title} (correct)", "boolean", derived=True))
        return columns

    def cells(self, answer: Json) -> dict[str, Json]:
        marked = {} if self.correct is None else {f"{self.id}.correct": self.is_correct(answer)}
        return {**super().cells(answer), f"{self.id}.text": self.in_words(answer), **marked}


class ChoicesQuestion(_OptionsQuestion):
    """Several answers out of several."""

    kind: Literal["choices"] = "choices"
    min_chosen: int = Field(default=0, ge=0)
    """The fewest options one must choose."""
    max_chosen: int | None = Field(default=None, ge=1)
    """The most options one may choose; left out: all of them."""

    def stored(self, value: Json) -> Json:
        """The ids in the order of the options, whatever the order in which they were chosen."""
        if not isinstance(value, list | tuple) or any(chosen not in self.option_ids for chosen in value):
            raise Unfit(self.hint())
        chosen = [option_id for option_id in self.option_ids if option_id in value]
        if len(chosen) != len(value) or not self.min_chosen <= len(chosen) <= self._most():
            raise Unfit(self.hint())
        return chosen

    def reply_type(self) -> Any:
        bounds = Field(min_length=self.min_chosen, max_length=self.max_chosen, json_schema_extra={"uniqueItems": True})
        return Annotated[list[self._one()], bounds, AfterValidator(_without_repeats)]  # type: ignore[misc]

    def hint(self) -> str:
        return f"{self.min_chosen} to {self._most()} different ones of: {self._listed()}"

    def in_words(self, answer: Json) -> str:
        return self._texts(answer) or "none of them"

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.min_chosen > self._most():
            yield Problem("min_chosen", str(self.min_chosen), f"at most {self._most()}, the most one may choose")
        if self.max_chosen is not None and self.max_chosen > len(self.options):
            yield Problem("max_chosen", str(self.max_chosen), f"at most {len(self.options)}, the number of options")

    def columns(self) -> list[Column]:
        """One column per option, as statistics programs want it."""
        return [Column(f"{self.id}.{one.id}", f"{self.title} {one.text}", "boolean") for one in self.options]

    def cells(self, answer: Json) -> dict[str, Json]:
        return {f"{self.id}.{option_id}": option_id in answer for option_id in self.option_ids}

    def _most(self) -> int:
        return len(self.options) if self.max_chosen is None else self.max_chosen


def _without_repeats(chosen: list[str]) -> list[str]:
    if len(set(chosen)) != len(chosen):
        raise ValueError("every option may be chosen once")
    return chosen
