"""Scripts for stages on which a member answers one page: answers from the file, and chance for the others."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from parley_lab.base import rules
from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.fitting import fitted
from parley_lab.base.schema_filler import fill
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.models import HINT_SUGGESTED, Hint
from parley_lab.kinds.form import Form, problems_of
from parley_lab.kinds.parts import Question, Scripts
from parley_lab.kinds.view import PAGE, Json, Member, OwnView


class PageScript(BaseModel):
    """How a persona answers a page without a model. What `answers` does not say is drawn within the form."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    answers: Mapping[str, Json] = {}
    policy: Literal["random"] | None = None


def fixed_answers(stage: StageConfig, member: Member) -> Mapping[str, Json]:
    """What the persona's script answers to this page, by question; empty without one."""
    found = member.script_for(stage)
    return {} if found is None else PageScript.model_validate(found).answers


def suggested(answers: Mapping[str, Json]) -> dict[str, Hint]:
    """Hints by which the mock says the same."""
    return {f"{HINT_SUGGESTED}{name}": value for name, value in answers.items() if isinstance(value, str | int | float)}


class PageScripts(Scripts):
    """Scripts for the page of one stage. A persona without a script for it passes without an answer."""

    def __init__(self, stage: StageConfig) -> None:
        self._stage = stage

    @abstractmethod
    def question(self, view: OwnView) -> Question | None:
        """What the page asks."""

    @abstractmethod
    def problems_of(self, name: str, answer: Json) -> Iterator[Problem]:
        """What is wrong with an answer of the script to the question of this name; `where` is relative to it."""

    def fixed(self, view: OwnView) -> Mapping[str, Json]:
        """What the script says, by the fields of the question."""
        return fixed_answers(self._stage, view.me)

    def problems(self, given: Mapping[str, Json] | None) -> list[Problem]:
        if given is None:
            return []
        try:
            script = PageScript.model_validate(given)
        except ValidationError as error:
            return problems_of(error)
        if not script.answers and script.policy is None:
            return [Problem("", "a script that answers nothing", "`answers` by question, or `policy: random`")]
        return [
            replace(one, where=f"answers.{name}{f'.{one.where}' if one.where else ''}")
            for name, answer in script.answers.items()
            for one in self.problems_of(name, answer)
        ]

    def page(self, view: OwnView, rng: Random) -> Json | None:
        if view.me.script_for(self._stage) is None:
            return None
        question = self.question(view)
        if question is None:
            return None
        given = filled(question.form(), rng, fixed=self.fixed(view))
        try:
            return question.check(given)
        except InvalidInput:
            # Fixed answers that do not go together: it passes without an answer.
            return None


NOTHING_FIXED: Final[Mapping[str, Any]] = {}


def filled(form: Form, rng: Random, *, fixed: Mapping[str, Json] = NOTHING_FIXED) -> Any:
    """An answer made of the schema alone, as a page makes it: it has no value of a field that it does not show.

    What is `fixed` is answered as it says.
    """
    schema = form.json_schema()
    if form.is_bare:
        return fill(schema, rng)
    given: dict[str, Any] = {}
    for name, field in schema["properties"].items():
        rule = field.get("x-show-if")
        is_left_out = rule is None and name not in schema["required"] and rng.random() < 0.5
        if rule is not None and not _holds(rule, given):
            continue
        if name in fixed:
            given[name] = fixed[name]
        elif not is_left_out:
            given[name] = fill(field, rng)
    return {**fitted(schema, given), **{name: value for name, value in fixed.items() if name in given}}


def _holds(rule: Any, given: Mapping[str, Any]) -> bool:
    return rules.holds(TypeAdapter(rules.Rule).validate_python(rule), {PAGE: given}, PAGE)
