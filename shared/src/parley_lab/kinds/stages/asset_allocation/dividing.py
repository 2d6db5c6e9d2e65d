"""What is asked of a member who divides a hundred percent: one share of two assets, or the share of each of more."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic import Field as Described

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.replies import Reply, whole_number
from parley_lab.contracts.models import HINT_SUGGESTED, Hint
from parley_lab.kinds import Field, Form, Json, Label, Question, Substitute, UnusableReply, form
from parley_lab.kinds.parts import WithoutAnswer
from parley_lab.kinds.questions.own_order import ORDER, without_order
from parley_lab.kinds.stages.asset_allocation.config import WHOLE, AssetAllocationStage

SHARE: Final = "share"
"""The field of the answer where two assets are divided: the percent that go to the first on the page."""


def fields_of(stage: AssetAllocationStage) -> tuple[str, ...]:
    """The fields of the answer: `share` of two assets, else the ids of all."""
    return (SHARE,) if len(stage.assets) == 2 else tuple(one.id for one in stage.assets)


def shares(stage: AssetAllocationStage, page: Json) -> dict[str, int]:
    """What each asset was given; empty without an answer."""
    given = page if isinstance(page, Mapping) else {}
    if any(given.get(name) is None for name in fields_of(stage)):
        return {}
    if len(stage.assets) == 2:
        first, second = given.get(ORDER) or [one.id for one in stage.assets]
        return {first: given[SHARE], second: WHOLE - given[SHARE]}
    return {one.id: given[one.id] for one in stage.assets}


def with_order(stage: AssetAllocationStage, given: Mapping[str, int]) -> dict[str, Json]:
    """The answer to a page that has the assets in the order of this stage, with that order where it is drawn."""
    return {**given, ORDER: [one.id for one in stage.assets]} if stage.shuffle_assets else dict(given)


def drawn(stage: AssetAllocationStage, rng: Random) -> dict[str, int]:
    """An answer by chance: each step goes to any of the assets."""
    names = [one.id for one in stage.assets]
    given = dict.fromkeys(names, 0)
    for _ in range(WHOLE // stage.step):
        given[rng.choice(names)] += stage.step
    return {SHARE: given[names[0]]} if len(names) == 2 else given


class SharesReply(Reply):
    model_config = ConfigDict(serialize_by_alias=True)


@lru_cache(maxsize=256)
def _reply_model(step: int, fields: tuple[tuple[str, str], ...]) -> type[SharesReply]:
    """`fields`: the name of each and what it asks."""
    asked: dict[str, Any] = {
        f"share_{number}": (
            whole_number(Described(ge=0, le=WHOLE, multiple_of=step, description=words)),
            Described(alias=name),
        )
        for number, (name, words) in enumerate(fields)
    }
    return create_model("ShareReply", __base__=SharesReply, **asked)


def percent_to(name: str) -> Label:
    return Label(f"Percent to {name}", "percent_to", name=name)


@dataclass(frozen=True, slots=True)
class Division(Question):
    """The shares of these assets, by what the reader knows them by."""

    counts_unsent: ClassVar[bool] = True

    stage: AssetAllocationStage
    names: tuple[str, ...]
    path: str
    """The reader's, for what the mock draws."""

    @property
    def _is_of_two(self) -> bool:
        return len(self.names) == 2

    def form(self) -> Form:
        if self._is_of_two:
            first, second = self.names
            title = Label(
                f"How many percent go to {first}? The rest goes to {second}.", "share", first=first, second=second
            )
            return Form((Field(SHARE, {**self._percent(title), "x-widget": "slider"}),))
        named = zip(fields_of(self.stage), self.names, strict=True)
        return Form(tuple(Field(field, self._percent(percent_to(name))) for field, name in named))

    def _percent(self, title: str) -> dict[str, Json]:
        return {**form.number(title, minimum=0, maximum=WHOLE, is_whole=True), "multipleOf": self.stage.step}

    def task(self) -> str:
        if self._is_of_two:
            about = f"Say how many percent go to {self.names[0]}; the rest goes to {self.names[1]}."
        else:
            about = f"Say how many percent go to each; together they make {WHOLE}."
        return f"{self.stage.question} {about} Decide as the person you are."

    def reply_model(self) -> type[BaseModel]:
        step = self.stage.step
        if self._is_of_two:
            first, second = self.names
            words = f"How many percent go to {first}, a multiple of {step}; the rest goes to {second}."
            return _reply_model(step, ((SHARE, words),))
        together = f"a multiple of {step}; all shares together make {WHOLE}."
        named = zip(fields_of(self.stage), self.names, strict=True)
        return _reply_model(step, tuple((field, f"How many percent go to {name}, {together}") for field, name in named))

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump(by_alias=True)

    def check(self, answer: Json) -> Json:
        try:
            given: dict[str, int] = self.reply_model().model_validate(without_order(answer)).model_dump(by_alias=True)
        except ValidationError as error:
            raise InvalidInput("This is no share.", form.problems_of(error)) from error
        if not self._is_of_two and (total := sum(given.values())) != WHOLE:
            problem = Problem([*given][-1], f"{total} percent in all", f"shares that make {WHOLE} percent together")
            raise InvalidInput(f"These shares do not make {WHOLE} percent.", [problem])
        return with_order(self.stage, given)

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        """No share; an agent of whom no reply came leaves, with the reason."""
        if replies and self.stage.on_invalid == "missing":
            return Substitute(dict.fromkeys(fields_of(self.stage)))
        return "drop"

    def hints(self) -> Mapping[str, Hint]:
        """Of more than two assets, shares that make the whole: chance alone hardly finds such."""
        if self._is_of_two:
            return {}
        given = drawn(self.stage, Random(f"{self.path}/{self.stage.id}"))
        return {f"{HINT_SUGGESTED}{field}": share for field, share in given.items()}


def script_problems(stage: AssetAllocationStage, name: str, answer: Json) -> Iterator[Problem]:
    """What is wrong with a share that a script gives."""
    fields = fields_of(stage)
    is_whole = isinstance(answer, int) and not isinstance(answer, bool)
    if name not in fields:
        of_two = f"`{SHARE}`: the percent that go to the first asset"
        yield Problem("", repr(name), of_two if fields == (SHARE,) else f"one of the assets {', '.join(fields)}")
    elif not is_whole or not 0 <= answer <= WHOLE or answer % stage.step:
        yield Problem("", repr(answer)[:80], f"a multiple of {stage.step} from 0 to {WHOLE}")
