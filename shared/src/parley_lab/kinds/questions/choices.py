"""Questions with options to choose from."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import AfterValidator, Field

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import repeated_id
from parley_lab.base.replies import option, options
from parley_lab.contracts.experiment import Document, Slug
from parley_lab.contracts.media import Picture, in_words
from parley_lab.kinds import Column, Json
from parley_lab.kinds.questions.questions import BaseQuestion, Unfit


class Option(Document):
    """One of the answers to choose from."""

    id: Slug
    """Names the option in the data."""
    text: str = Field(min_length=1)
    """What participants read."""
    image: Picture | None = None
    """An image above the text."""

    @property
    def told(self) -> str:
        """The option in a prompt."""
        return self.text if self.image is None else f"{self.text} {in_words(self.image.shown)}"

    @property
    def choice(self) -> dict[str, Json]:
        """The option in a form."""
        shown = {} if self.image is None else {"x-image": self.image.shown.model_dump(include={"address", "alt"})}
        return {"const": self.id, "title": self.text, **shown}


class OptionsQuestion(BaseQuestion):
    """What both kinds have."""

    options: tuple[Option, ...] = Field(min_length=1)
    """What to choose from."""

    @property
    def option_ids(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.options)

    @property
    def _words(self) -> dict[str, str]:
        """What each option says, by its id."""
        return {one.id: one.text for one in self.options}

    def _listed(self) -> str:
        return ", ".join(f"{one.id} ({one.told})" for one in self.options)

    def _texts(self, chosen: Sequence[str]) -> str:
        return "; ".join(one.text for one in self.options if one.id in chosen)

    def problems(self) -> Iterator[Problem]:
        for index, option_id in enumerate(self.option_ids):
            if option_id in self.option_ids[:index]:
                yield repeated_id(f"options[{index}].id", option_id, "option")


class ChoiceQuestion(OptionsQuestion):
    """One answer out of several."""

    kind: Literal["choice"] = "choice"
    widget: Literal["radio", "dropdown"] = "radio"
    """How a page shows the options: all of them, or in a list that opens."""
    correct: Slug | tuple[Slug, ...] | None = None
    """The id of the right option, when there is one, or several of which each is right; participants and models never
    see it."""

    def stored(self, value: Json) -> Json:
        if not isinstance(value, str) or value not in self.option_ids:
            raise Unfit(self.hint(), "please_choose")
        return value

    def reply_type(self) -> Any:
        return option(self._words)

    def field_schema(self) -> dict[str, Json]:
        chosen = {"type": "string", "title": self.title, "oneOf": [one.choice for one in self.options]}
        return {**chosen, "x-widget": "dropdown"} if self.widget == "dropdown" else chosen

    def hint(self) -> str:
        return f"one of: {self._listed()}"

    def in_words(self, answer: Json) -> str:
        return self._texts([answer])

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        for right in self.all_correct:
            if right not in self.option_ids:
                yield Problem("correct", repr(right), f"one of the options {', '.join(self.option_ids)}")
        if self.correct == ():
            yield Problem("correct", "an empty list", "at least one right option")

    @property
    def all_correct(self) -> tuple[str, ...]:
        """Each option that is right."""
        return self.correct if isinstance(self.correct, tuple) else (self.correct,) if self.correct is not None else ()

    @property
    def has_correct(self) -> bool:
        return self.correct is not None

    def is_correct(self, answer: Json) -> bool | None:
        return None if self.correct is None or answer is None else answer in self.all_correct

    def columns(self) -> list[Column]:
        columns = [*super().columns(), Column(f"{self.id}.text", f"{self.label} (text)", "text", derived=True)]
        if self.correct is not None:
            columns.append(Column(f"{self.id}.correct", f"{self.label} (correct)", "boolean", derived=True))
        return columns

    def cells(self, answer: Json) -> dict[str, Json]:
        marked = {} if self.correct is None else {f"{self.id}.correct": self.is_correct(answer)}
        return {**super().cells(answer), f"{self.id}.text": self.in_words(answer), **marked}


class ChoicesQuestion(OptionsQuestion):
    """Several answers out of several."""

    kind: Literal["choices"] = "choices"
    min_chosen: int = Field(default=0, ge=0)
    """The fewest options one must choose."""
    max_chosen: int | None = Field(default=None, ge=1)
    """The most options one may choose; left out: all of them."""

    def stored(self, value: Json) -> Json:
        """The ids in the order of the options, whatever the order in which they were chosen."""
        if not isinstance(value, list | tuple) or any(chosen not in self.option_ids for chosen in value):
            raise Unfit(self.hint(), "please_choose")
        chosen = [option_id for option_id in self.option_ids if option_id in value]
        if len(chosen) != len(value):
            raise Unfit(self.hint(), "please_choose")
        if len(chosen) < self.min_chosen:
            raise Unfit(self.hint(), "choose_more", count=self.min_chosen)
        if len(chosen) > self._most():
            raise Unfit(self.hint(), "choose_fewer", count=self._most())
        return chosen

    def reply_type(self) -> Any:
        bounds = Field(min_length=self.min_chosen, max_length=self.max_chosen, json_schema_extra={"uniqueItems": True})
        return options(self._words, bounds, AfterValidator(_without_repeats))

    def field_schema(self) -> dict[str, Json]:
        chosen = [one.choice for one in self.options]
        return {
            "type": "array",
            "title": self.title,
            "items": {"type": "string", "oneOf": chosen},
            "uniqueItems": True,
            "minItems": self.min_chosen,
            "maxItems": self._most(),
        }

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
        return [Column(f"{self.id}.{one.id}", f"{self.label} {one.text}", "boolean") for one in self.options]

    def cells(self, answer: Json) -> dict[str, Json]:
        return {f"{self.id}.{option_id}": option_id in answer for option_id in self.option_ids}

    def _most(self) -> int:
        return len(self.options) if self.max_chosen is None else self.max_chosen


def _without_repeats(chosen: list[str]) -> list[str]:
    if len(set(chosen)) != len(chosen):
        raise ValueError("every option may be chosen once")
    return chosen
