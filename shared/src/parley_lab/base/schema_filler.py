"""Fills a JSON Schema with a valid, plausible value; the same schema and randomness give the same value.

Understands the schemas of pydantic, except `pattern`, for which it raises an error.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any, Final

Schema = Mapping[str, Any]
# The value for a property of this name, or None for the filler's own; taken where type and length allow. A float is
# a position among the allowed values, from 0, the first or smallest, to 1.
Suggest = Callable[[str, Random], "str | bool | float | None"]
# Beyond this depth optional parts are left out, so that recursive schemas end.
_SHALLOW: Final = 6
_DEEPEST: Final = 60
_MOST_EXTRA_ITEMS: Final = 3
_LONGEST_ENUMERATION: Final = 1000
_DISTINCT_TRIES: Final = 200
_NULL_RATE: Final = 0.2
_NUMBER_KEYWORDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")

_SENTENCES: Final = (
    "That seems reasonable to me.",
    "I would like to think about it a little more.",
    "It depends on the details.",
    "It is what I think at the moment.",
    "There is something to be said for more than one answer.",
    "I am fairly sure about this one.",
    "It is hard to say in one sentence.",
    "It is a close call for me.",
)

_FORMATS: Final[Mapping[str, Callable[[Random], str]]] = {
    "date": lambda rng: f"20{rng.randint(10, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
    "time": lambda rng: f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:00Z",
    "date-time": lambda rng: f"20{rng.randint(10, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T12:00:00Z",
    "email": lambda rng: f"person{rng.randint(1, 999)}@example.org",
    "uri": lambda rng: f"https://example.org/{rng.randint(1, 999)}",
    "uuid": lambda rng: (
        f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-4{rng.getrandbits(12):03x}"
        f"-8{rng.getrandbits(12):03x}-{rng.getrandbits(48):012x}"
    ),
}


class UnfillableSchemaError(ValueError):
    """The schema allows no value, or has keywords that the filler does not understand."""


def no_suggestion(_name: str, _rng: Random) -> None:
    """Leave every property to the filler."""


def fill(schema: Schema, rng: Random, *, suggest: Suggest = no_suggestion) -> Any:
    """A value that is valid under `schema`.

    Raises:
        UnfillableSchemaError: the schema cannot be filled.
    """
    return _Filler(schema, rng, suggest).fill(schema, name="", depth=0)


def fit_text(text: str, *, min_length: int = 0, max_length: int | None = None) -> str:
    """`text` cut at a word, or lengthened by itself, to the bounds."""
    if max_length is not None and min_length > max_length:
        raise UnfillableSchemaError(f"no text has at least {min_length} and at most {max_length} characters")
    while len(text) < min_length:
        text = f"{text} {text}" if text else "x" * min_length
    if max_length is None or len(text) <= max_length:
        return text
    at_a_word = text[: max_length + 1].rpartition(" ")[0].rstrip(" ,;")
    return at_a_word if len(at_a_word) >= max(min_length, 1) else text[:max_length]


class _Filler:
    def __init__(self, root: Schema, rng: Random, suggest: Suggest) -> None:
        self._root = root
        self._rng = rng
        self._suggest = suggest

    def fill(self, schema: Schema | bool, *, name: str, depth: int) -> Any:
        schema = self._resolve(schema)
        if depth > _DEEPEST:
            raise UnfillableSchemaError("the schema contains itself without an end")
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._choose_enum(schema, name)
        for alternatives in ("anyOf", "oneOf"):
            if alternatives in schema:
                return self.fill(self._alternative(schema, alternatives, depth), name=name, depth=depth + 1)
        return self._fill_type(self._type_of(schema, depth), schema, name, depth)

    def _fill_type(self, type_name: str, schema: Schema, name: str, depth: int) -> Any:
        match type_name:
            case "object":
                return self._fill_object(schema, depth)
            case "array":
                return self._fill_array(schema, name, depth)
            case "string":
                return self._fill_string(schema, name)
            case "integer":
                return self._fill_multiple(schema, name, integer_step(schema))
            case "number":
                return self._fill_number(schema, name)
            case "boolean":
                suggested = self._suggest(name, self._rng)
                return suggested if isinstance(suggested, bool) else self._pick((False, True), suggested)
            case "null":
                return None
        raise UnfillableSchemaError(f"the type {type_name!r} is unknown")

    def _resolve(self, schema: Schema | bool) -> Schema:
        if schema is False:
            raise UnfillableSchemaError("the schema false allows nothing")
        if schema is True:
            return {}
        assert not isinstance(schema, bool)
        hops = 0
        while "$ref" in schema or "allOf" in schema:
            hops += 1
            if hops > _DEEPEST:
                raise UnfillableSchemaError("a $ref leads back to itself")
            schema = self._merge(schema)
        return schema

    def _merge(self, schema: Schema) -> Schema:
        rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        parts = [*schema.get("allOf", ())]
        if "$ref" in schema:
            parts.insert(0, self._referenced(schema["$ref"]))
        for part in parts:
            properties = {**part.get("properties", {}), **rest.get("properties", {})}
            rest = {**part, **rest, **({"properties": properties} if properties else {})}
        return rest

    def _referenced(self, reference: str) -> Schema:
        found: Any = self._root
        if not reference.startswith("#"):
            raise UnfillableSchemaError(f"the reference {reference!r} leads out of the schema")
        for step in reference[1:].strip("/").split("/"):
            if step:
                found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            raise UnfillableSchemaError(f"the reference {reference!r} leads nowhere")
        return found

    def _choose_enum(self, schema: Schema, name: str) -> Any:
        values = schema["enum"]
        if not values:
            raise UnfillableSchemaError("an empty enum allows nothing")
        suggested = self._suggest(name, self._rng)
        if isinstance(suggested, str) and suggested in values:
            return suggested
        return self._pick(values, suggested)

    def _pick(self, values: Sequence[Any], suggested: str | bool | float | None) -> Any:
        if not isinstance(suggested, float):
            return self._rng.choice(values)
        return values[_at(suggested, 0, len(values) - 1)]

    def _alternative(self, schema: Schema, keyword: str, depth: int) -> Schema:
        beside = {key: value for key, value in schema.items() if key not in (keyword, "discriminator", "default")}
        options = [self._resolve(option) for option in schema[keyword]]
        if depth >= _SHALLOW:
            chosen = min(options, key=_weight)
        else:
            usual = [option for option in options if option.get("type") != "null" or self._rng.random() < _NULL_RATE]
            chosen = self._rng.choice(usual or options)
        return {**beside, **chosen}

    def _type_of(self, schema: Schema, depth: int) -> str:
        given = schema.get("type")
        if isinstance(given, str):
            return given
        if given:
            lightest = min(given, key=lambda kind: _weight({"type": kind}))
            return str(lightest if depth >= _SHALLOW else self._rng.choice(given))
        if "properties" in schema:
            return "object"
        if "items" in schema or "prefixItems" in schema:
            return "array"
        return "number" if any(keyword in schema for keyword in _NUMBER_KEYWORDS) else "string"

    def _fill_object(self, schema: Schema, depth: int) -> dict[str, Any]:
        required = set(schema.get("required", ()))
        properties: Mapping[str, Schema | bool] = schema.get("properties", {})
        filled = {
            key: self.fill(part, name=key, depth=depth + 1)
            for key, part in properties.items()
            if key in required or depth < _SHALLOW
        }
        extra = schema.get("additionalProperties", True)
        missing = [key for key in schema.get("required", ()) if key not in filled]
        missing += [f"key{number}" for number in range(schema.get("minProperties", 0) - len(filled) - len(missing))]
        for key in missing:
            filled[key] = self.fill(extra, name=key, depth=depth + 1)
        return filled

    def _fill_array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        first: Sequence[Schema | bool] = schema.get("prefixItems", ())
        items = [self.fill(part, name=name, depth=depth + 1) for part in first]
        rest: Schema | bool = schema.get("items", True)
        if rest is False:
            return items
        least = max(schema.get("minItems", 0), len(items))
        most = max(least, min(least + _MOST_EXTRA_ITEMS, schema.get("maxItems", least + _MOST_EXTRA_ITEMS)))
        length = least if depth >= _SHALLOW else self._rng.randint(least, most)
        finite = self._finite_values(rest)
        if finite is not None and not first:
            return self._sample(finite, name, least, length, unique=schema.get("uniqueItems", False))
        if schema.get("uniqueItems"):
            return self._add_distinct(items, rest, name, depth, least=least, length=length)
        while len(items) < length:
            items.append(self.fill(rest, name=name, depth=depth + 1))
        return items

    def _sample(self, values: list[Any], name: str, least: int, length: int, *, unique: bool) -> list[Any]:
        if unique and least > len(values):
            raise UnfillableSchemaError(f"{least} different items are wanted, but there are only {len(values)}")
        suggested = self._suggest(name, self._rng)
        if isinstance(suggested, float) and values:
            # Neighbours, and at most half of the options if possible, so that no value is in most answers.
            first = _at(suggested, 0, len(values) - 1)
            length = max(least, min(length, len(values) // 2))
            return [values[(first + number) % len(values)] for number in range(length)]
        distinct = self._rng.sample(values, min(length, len(values)))
        return distinct + [self._rng.choice(values) for _ in range(least - len(distinct))]

    def _add_distinct(
        self, items: list[Any], schema: Schema | bool, name: str, depth: int, *, least: int, length: int
    ) -> list[Any]:
        seen = {_identity(item) for item in items}
        text_like = self._resolve(schema).get("type") == "string"
        for attempt in range(_DISTINCT_TRIES):
            if len(items) >= length:
                break
            item = self.fill(schema, name=name, depth=depth + 1)
            if text_like and attempt > len(_SENTENCES):
                limits = self._resolve(schema)
                item = self._word(limits.get("minLength", 0), limits.get("maxLength"))
            if _identity(item) not in seen:
                seen.add(_identity(item))
                items.append(item)
        if len(items) < least:
            raise UnfillableSchemaError(f"{least} different items are wanted, but only {len(items)} were found")
        return items

    def _finite_values(self, schema: Schema | bool) -> list[Any] | None:
        if isinstance(schema, bool):
            return None
        schema = self._resolve(schema)
        if "enum" in schema:
            return _without_repeats(schema["enum"])
        if options := schema.get("oneOf", ()):
            named = [one["const"] for one in options if isinstance(one, Mapping) and "const" in one]
            return _without_repeats(named) if len(named) == len(options) else None
        if schema.get("type") == "boolean":
            return [False, True]
        if schema.get("type") == "integer":
            low, high = bounds(schema)
            step = integer_step(schema)
            if low is not None and high is not None and high - low <= _LONGEST_ENUMERATION * step:
                first, last = first_and_last(schema, step)
                return [int(factor * step) for factor in range(first, last + 1)]
        return None

    def _word(self, min_length: int, max_length: int | None) -> str:
        longest = max_length if max_length is not None else max(min_length, 12)
        length = max(min_length, min(longest, 12))
        return "".join(self._rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(length))

    def _fill_string(self, schema: Schema, name: str) -> str:
        if "pattern" in schema:
            raise UnfillableSchemaError(f"a text with a pattern ({name or 'reply'}) cannot be filled")
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]](self._rng)
        suggested = self._suggest(name, self._rng)
        text = suggested if isinstance(suggested, str) else self._pick(_SENTENCES, suggested)
        return fit_text(text, min_length=schema.get("minLength", 0), max_length=schema.get("maxLength"))

    def _fill_multiple(self, schema: Schema, name: str, step: Fraction) -> int | float:
        first, last = first_and_last(schema, step)
        if first > last:
            raise UnfillableSchemaError("no number lies within the bounds")
        suggested = self._suggest(name, self._rng)
        factor = _at(suggested, first, last) if isinstance(suggested, float) else self._rng.randint(first, last)
        value = factor * step
        return int(value) if schema.get("type") == "integer" else float(value)

    def _fill_number(self, schema: Schema, name: str) -> int | float:
        if "multipleOf" in schema:
            return self._fill_multiple(schema, name, fraction(schema["multipleOf"]))
        hundredth = Fraction(1, 100)
        first, last = first_and_last(schema, hundredth)
        if first <= last:
            return self._fill_multiple(schema, name, hundredth)
        low, high = bounds(schema)
        assert low is not None, "only two bounds can leave no hundredth between them"
        assert high is not None, "as above"
        value = float((low + high) / 2)
        if not lies_within(value, schema):
            raise UnfillableSchemaError("no number lies within the bounds")
        return value


def _at(position: float, first: int, last: int) -> int:
    """The integer at this position; each integer from first to last has an equal share of 0 to 1."""
    return first + min(last - first, max(0, int(position * (last - first + 1))))


def _weight(schema: Schema) -> int:
    order = ("null", "boolean", "integer", "number", "string", "array", "object")
    if "const" in schema or "enum" in schema:
        return 0
    kind = schema.get("type")
    return order.index(kind) if kind in order else len(order)


def _identity(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    """JSON knows one kind of number: 1 and 1.0 are the same item."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _without_repeats(values: Sequence[Any]) -> list[Any]:
    return list({_identity(value): value for value in values}.values())


# The distance of a missing bound from the given one.
_DEFAULT_SPAN: Final = 100


def fraction(value: int | float) -> Fraction:
    """The decimal as written, not the nearest binary number: 0.1 is one tenth."""
    return Fraction(str(value))


def integer_step(schema: Schema) -> Fraction:
    # The integers among the multiples of p/q are the multiples of p.
    return Fraction(fraction(schema.get("multipleOf", 1)).numerator)


def bounds(schema: Schema) -> tuple[Fraction | None, Fraction | None]:
    lows = [fraction(schema[key]) for key in ("minimum", "exclusiveMinimum") if schema.get(key) is not None]
    highs = [fraction(schema[key]) for key in ("maximum", "exclusiveMaximum") if schema.get(key) is not None]
    return max(lows, default=None), min(highs, default=None)


def first_and_last(schema: Schema, step: Fraction) -> tuple[int, int]:
    """The smallest and largest multiple of `step` within the bounds, as factors; first > last when there is none."""
    low, high = bounds(schema)
    if low is None:
        low = Fraction(0) if high is None or high > 0 else high - max(Fraction(_DEFAULT_SPAN), step)
    if high is None:
        high = low + max(Fraction(_DEFAULT_SPAN), step)
    first, last = math.ceil(low / step), math.floor(high / step)
    if "exclusiveMinimum" in schema and first * step <= fraction(schema["exclusiveMinimum"]):
        first += 1
    if "exclusiveMaximum" in schema and last * step >= fraction(schema["exclusiveMaximum"]):
        last -= 1
    return first, last


def lies_within(value: float, schema: Schema) -> bool:
    return bool(
        value >= schema.get("minimum", -math.inf)
        and value <= schema.get("maximum", math.inf)
        and value > schema.get("exclusiveMinimum", -math.inf)
        and value < schema.get("exclusiveMaximum", math.inf)
    )
