"""Makes drawn answers to a form fit together: numbers with a sum, and numbers that are bounded by another answer. Pure.

Single fields are drawn by their own schemas. What they say of each other (`x-total`, `x-totals`, `x-minimum` and
`x-maximum`) is met afterwards, with as little change as needs be.
"""

from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import Any, Final

Json = Any
_BOUNDS: Final = (("x-minimum", max), ("x-maximum", min))


def is_met(total: Mapping[str, Json], numbers: Sequence[Json]) -> bool:
    """Whether the sum of these numbers, as they are written, is the one that is wanted."""
    found = sum_of(numbers)
    exact, least, most = (_exact(total.get(name)) for name in ("equals", "at_least", "at_most"))
    return (exact is None or found == exact) and (least is None or found >= least) and (most is None or found <= most)


def sum_of(numbers: Sequence[Json]) -> Decimal:
    """Of numbers as they are written: 0.1 and 0.2 are 0.3."""
    return sum((_exact(one) or Decimal(0) for one in numbers), Decimal(0))


def fitted(schema: Mapping[str, Json], given: Mapping[str, Json]) -> dict[str, Json]:
    """The answers with the numbers changed that do not fit to those before them in the form."""
    found = dict(given)
    fields: Mapping[str, Mapping[str, Json]] = schema.get("properties", {})
    for name, field in fields.items():
        if isinstance(found.get(name), Mapping):
            found[name] = fitted(field, found[name])
        for keyword, nearer in _BOUNDS:
            other = found.get(field.get(keyword, ""))
            if _is_number(found.get(name)) and _is_number(other):
                found[name] = nearer(found[name], other)
    totals = [*schema.get("x-totals", ())]
    if "x-total" in schema:
        totals.append({**schema["x-total"], "fields": [*fields]})
    for total in totals:
        summed = [name for name in total["fields"] if _is_number(found.get(name))]
        if not is_met(total, [found[name] for name in summed]):
            found |= _with_sum(total, {name: fields[name] for name in summed}, found)
    return found


def _with_sum(
    total: Mapping[str, Json], fields: Mapping[str, Mapping[str, Json]], given: Mapping[str, Json]
) -> dict[str, Json]:
    """Each number as near to the given one as the rest of the sum lets it be; the last one has what is left."""
    wanted = next(_exact(total[name]) for name in ("equals", "at_most", "at_least") if total.get(name) is not None)
    assert wanted is not None
    left, found, names = wanted, dict[str, Json](), [*fields]
    for number, name in enumerate(names):
        later = [fields[one] for one in names[number + 1 :]]
        least, most = _ends(fields[name], wanted)
        low = max(least, left - sum((_ends(one, wanted)[1] for one in later), Decimal(0)))
        high = min(most, left - sum((_ends(one, wanted)[0] for one in later), Decimal(0)))
        step = _step(fields[name])
        near = min(max(_exact(given[name]) or Decimal(0), low), high)
        value = low + ((near - low) / step).to_integral_value(ROUND_FLOOR) * step
        left -= value
        found[name] = int(value) if value == value.to_integral_value() else float(value)
    return found


def _ends(field: Mapping[str, Json], wanted: Decimal) -> tuple[Decimal, Decimal]:
    least = _exact(field.get("minimum"))
    least = Decimal(0) if least is None else least
    most = _exact(field.get("maximum"))
    return least, max(wanted, least) if most is None else most


def _step(field: Mapping[str, Json]) -> Decimal:
    step = _exact(field.get("x-step", field.get("multipleOf")))
    return step or (Decimal(1) if field.get("type") == "integer" else Decimal("0.01"))


def _exact(number: Json) -> Decimal | None:
    return Decimal(str(number)) if _is_number(number) else None


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
