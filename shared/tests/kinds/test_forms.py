"""Forms and what they refuse, by the standard: the suite for all kinds has no validator of schemas."""

from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parley_lab.kind_checks import Trial
from parley_lab.kind_checks.play import Asked
from parley_lab.kind_checks.questions import wrong_answers, wrong_values
from parley_lab.kinds import StageKind
from parley_lab.kinds.form import Field as FormField
from parley_lab.kinds.form import Form, problems_of, text
from parley_lab.kinds.scripted import filled
from parley_lab.kinds.stages import kinds

ASKING = {name: kind for name, kind in kinds().items() if kind.parts(kind.example()).questions is not None}
of_every_kind_that_asks = pytest.mark.parametrize("kind", ASKING.values(), ids=ASKING)


def asked(kind: StageKind[Any], seed: int = 1) -> list[Asked]:
    return Trial(kind, kind.example(), seed).straight().asked


@of_every_kind_that_asks
def test_every_form_is_a_json_schema(kind: StageKind[Any]) -> None:
    for one in asked(kind):
        schema = one.question.form().json_schema()
        Draft202012Validator.check_schema(schema)
        assert one.question.form().is_bare or set(schema["required"]) <= set(schema["properties"])


@of_every_kind_that_asks
@pytest.mark.parametrize("seed", range(10))
def test_what_a_page_makes_of_the_form_fits_it(kind: StageKind[Any], seed: int) -> None:
    for one in asked(kind, seed):
        form = one.question.form()
        assert Draft202012Validator(form.json_schema()).is_valid(filled(form, Random(seed)))


@of_every_kind_that_asks
def test_what_the_suite_takes_for_wrong_is_wrong(kind: StageKind[Any]) -> None:
    for one in asked(kind):
        assert list(wrong_answers(one, Random(1)))
        for field in one.question.form().fields:
            assert not any(map(Draft202012Validator(field.schema).is_valid, wrong_values(field.schema)))


def test_a_form_says_whether_a_field_that_is_not_always_shown_needs_a_value() -> None:
    rule = {"question": "often", "value": "never"}
    why = FormField("why", text("Why?"), show_if=rule)
    how = FormField("how", text("How?"), is_required=False, show_if=rule)

    schema: Any = Form((why, how)).json_schema()

    assert schema["required"] == []
    assert {name: one["x-required"] for name, one in schema["properties"].items()} == {"why": True, "how": False}


class Offer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    offer: int = Field(le=10)


@pytest.mark.parametrize(
    ("answer", "where", "told"),
    [
        ({}, "offer", "found nothing, expected a value"),
        ({"offer": 3, "more": 1}, "more", "found an unknown field, expected no field of this name"),
        (5, "", "found 5, expected an object with fields"),
        ({"offer": 11}, "offer", "found 11, expected less than or equal to 10"),
    ],
)
def test_what_pydantic_refuses_is_told_in_words_for_people(answer: Any, where: str, told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Offer.model_validate(answer)

    (problem,) = problems_of(refused.value)

    assert problem.where == where
    assert f"found {problem.found}, expected {problem.expected}" == told
