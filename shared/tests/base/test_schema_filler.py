"""The schema filler: whatever a schema allows is filled validly, and the same way every time."""

import json
from enum import StrEnum
from random import Random
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from parley_lab.base.schema_filler import UnfillableSchemaError, fill, fit_text

SEEDS = st.integers(0, 2**32)


def violations(schema: dict[str, Any], value: Any) -> list[str]:
    """A checker that shares no code with the filler; only the keywords that the strategies below make."""
    if "anyOf" in schema:
        return [] if any(not violations(option, value) for option in schema["anyOf"]) else [f"{value!r}: no option"]
    if "enum" in schema:
        return [] if json.dumps(value) in map(json.dumps, schema["enum"]) else [f"{value!r}: not in enum"]
    match schema["type"]:
        case "null":
            return [] if value is None else [f"{value!r}: not null"]
        case "boolean":
            return [] if isinstance(value, bool) else [f"{value!r}: not boolean"]
        case "string":
            fits = isinstance(value, str) and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**9)
            return [] if fits else [f"{value!r}: not such a text"]
        case "integer" | "number":
            return number_violations(schema, value)
        case "array":
            return array_violations(schema, value)
    assert schema["type"] == "object"
    if not isinstance(value, dict) or set(value) != set(schema["properties"]):
        return [f"{value!r}: other properties"]
    return [found for key, part in schema["properties"].items() for found in violations(part, value[key])]


def number_violations(schema: dict[str, Any], value: Any) -> list[str]:
    expected = int if schema["type"] == "integer" else (int, float)
    if isinstance(value, bool) or not isinstance(value, expected):
        return [f"{value!r}: not such a number"]
    factor = value / schema.get("multipleOf", 1)
    fits = (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
        and ("multipleOf" not in schema or abs(factor - round(factor)) < 1e-9 * max(1, abs(factor)))
    )
    return [] if fits else [f"{value!r}: out of {schema}"]


def array_violations(schema: dict[str, Any], value: Any) -> list[str]:
    if not isinstance(value, list) or not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9):
        return [f"{value!r}: not such an array"]
    if schema.get("uniqueItems") and len(set(map(json.dumps, value))) < len(value):
        return [f"{value!r}: repeats"]
    return [found for item in value for found in violations(schema["items"], item)]


@st.composite
def texts(draw: st.DrawFn) -> dict[str, Any]:
    least = draw(st.integers(0, 60))
    return {"type": "string", "minLength": least, "maxLength": least + draw(st.integers(0, 60))}


@st.composite
def numbers(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.integers(-1000, 1000))
    schema: dict[str, Any] = {"type": draw(st.sampled_from(["integer", "number"]))}
    multiple = draw(st.sampled_from([None, 1, 5, 0.5, 0.1, 7]))
    if multiple is not None:
        schema["multipleOf"] = multiple
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = low
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = low + draw(st.integers(15, 200))
    return schema


ENUMS = st.lists(st.one_of(st.text(max_size=5), st.integers(), st.none()), min_size=1, max_size=6, unique_by=json.dumps)
LEAVES = st.one_of(
    texts(),
    numbers(),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": "string"}),
    ENUMS.map(lambda values: {"enum": values}),
)


@st.composite
def choices(draw: st.DrawFn) -> dict[str, Any]:
    """An array of different options, as a question with several choices has it."""
    options = draw(ENUMS)
    least = draw(st.integers(0, len(options)))
    most = draw(st.integers(least, len(options)))
    return {"type": "array", "items": {"enum": options}, "uniqueItems": True, "minItems": least, "maxItems": most}


@st.composite
def arrays(draw: st.DrawFn, items: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    least = draw(st.integers(0, 3))
    return {"type": "array", "items": draw(items), "minItems": least, "maxItems": least + draw(st.integers(0, 3))}


def objects(parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(["response", "explanation", "shouldRespond", "age", "q1", "name"])
    return st.dictionaries(names, parts, max_size=4).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )


SCHEMAS = st.recursive(
    st.one_of(LEAVES, choices()),
    lambda parts: st.one_of(
        arrays(parts), objects(parts), st.lists(parts, min_size=1, max_size=3).map(lambda options: {"anyOf": options})
    ),
    max_leaves=12,
)


@given(schema=SCHEMAS, seed=SEEDS)
def test_what_is_filled_is_valid(schema: dict[str, Any], seed: int) -> None:
    assert violations(schema, fill(schema, Random(seed))) == []


@given(schema=SCHEMAS, seed=SEEDS, suggestion=st.one_of(st.text(), st.booleans(), st.floats(0, 1), st.none()))
def test_no_suggestion_makes_it_invalid(
    schema: dict[str, Any], seed: int, suggestion: str | bool | float | None
) -> None:
    filled = fill(schema, Random(seed), suggest=lambda _name, _rng: suggestion)

    assert violations(schema, filled) == []


@given(schema=SCHEMAS, seed=SEEDS)
def test_the_same_randomness_fills_the_same(schema: dict[str, Any], seed: int) -> None:
    assert fill(schema, Random(seed)) == fill(schema, Random(seed))


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["cat"]
    lives: int = Field(ge=1, le=9)


class Dog(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["dog"]
    weight_kg: float = Field(gt=0, lt=0.001)


class Node(BaseModel):
    model_config = ConfigDict(extra="forbid")
    label: str = Field(min_length=3, max_length=4)
    children: list["Node"] = Field(max_length=3)
    parent: "Node | None"
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    colours: set[Colour] = Field(min_length=1)
    pair: tuple[int, str]
    shares: dict[str, float]


@given(seed=SEEDS)
def test_references_unions_and_recursion_of_pydantic_are_filled(seed: int) -> None:
    filled = fill(Node.model_json_schema(), Random(seed))

    Node.model_validate_json(json.dumps(filled))


@given(seed=SEEDS)
def test_different_items_are_found_when_they_are_few(seed: int) -> None:
    schema = TypeAdapter(Annotated[set[Annotated[int, Field(ge=1, le=4)]], Field(min_length=4)]).json_schema()

    assert sorted(fill(schema, Random(seed))) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^a+$"},
        {"enum": []},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "integer", "minimum": 1, "maximum": 4, "multipleOf": 7},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "array", "items": {"enum": ["a"]}, "uniqueItems": True, "minItems": 2},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#"},
        {"type": "spam"},
    ],
)
def test_what_cannot_be_filled_is_refused_aloud(schema: dict[str, Any]) -> None:
    with pytest.raises(UnfillableSchemaError):
        fill(schema, Random(0))


def test_text_is_cut_at_a_word() -> None:
    assert fit_text("one two three", max_length=9) == "one two"
    assert fit_text("internationally", max_length=5) == "inter"
