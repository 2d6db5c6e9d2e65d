"""What single arms keep, and texts for single arms, written out into the treatments. Pure.

`keep` becomes `leave_out` of the other arms, and `texts` become variables of each arm, before anything is checked:
nothing after this knows of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.meant_names import one_of, unknown
from parley_lab.base.rules import as_level
from parley_lab.base.variables import places
from parley_lab.contracts.allocation import Texts
from parley_lab.contracts.experiment import Treatment
from parley_lab.design.complaints import translate

Json = Any
_TEXTS: TypeAdapter[Any] = TypeAdapter(Texts)
_READ_HERE: Final = ("id", "levels", "variables", "leave_out")


def with_cells(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """The values of a file, whose factors are crossed, with what its arms keep and read in the treatments.

    Raises:
        InvalidInput: with all problems.
    """
    arms = value.get("treatments")
    if not isinstance(arms, list) or not all(isinstance(arm, Mapping) for arm in arms):
        arms = []
    keeps, texts = any(arm.get("keep") for arm in arms), value.get("texts")
    if not keeps and texts is None:
        return value
    problems = [*_bad_arms(arms)]
    if keeps and not problems:
        problems += _bad_keeps(value, arms)
    if texts is not None and not problems:
        problems += _bad_texts(texts, arms)
    if problems:
        raise InvalidInput("What single arms keep or read is not described as it should be.", problems)
    written = [_with_kept(arm, arms, value) for arm in arms] if keeps else arms
    if emptied := [*_without_stages(written, arms, value)]:
        raise InvalidInput("An arm keeps nothing.", emptied)
    if texts is not None:
        written = [{**arm, "variables": {**_texts_of(arm, texts), **(arm.get("variables") or {})}} for arm in written]
    return {**without_cells(value), "treatments": written}


def without_cells(value: Mapping[str, Json]) -> dict[str, Json]:
    """What the file says beside texts of single arms."""
    return {name: part for name, part in value.items() if name != "texts"}


def unnamed_texts(value: Mapping[str, Json], arms: Sequence[Mapping[str, Json]]) -> Iterator[Problem]:
    """Columns of a table that are no factor, and that nothing in the file names: most likely factors with a slip.

    `value` has all personas. Its texts are valid, and written out to these arms.
    """
    rows = value.get("texts")
    if not isinstance(rows, list | tuple):
        return
    factors = [*dict.fromkeys(factor for arm in arms for factor in _levels_of(arm))]
    named = {*_named_in(without_cells(value))}
    told: set[str] = set()
    for index, row in enumerate(rows):
        for name in row:
            if name not in factors and name not in named and name not in told:
                told.add(name)
                expected = f"a factor, {one_of(name, factors, 'factor')}; or `{{{{{name}}}}}` in a text of the file"
                yield Problem(f"texts[{index}].{name}", repr(name), expected)


def _with_kept(arm: Mapping[str, Json], arms: Sequence[Mapping[str, Json]], value: Mapping[str, Json]) -> Json:
    """The arm, which leaves out what only others keep, in the order of the file."""
    own, left_out = {*arm.get("keep", ())}, [*arm.get("leave_out", ())]
    kept = {stage for one in arms for stage in one.get("keep", ())}
    others = [stage for stage in _stage_ids(value) if stage in kept - own and stage not in left_out]
    rest = {name: part for name, part in arm.items() if name != "keep"}
    return {**rest, "leave_out": [*left_out, *others]}


def _without_stages(
    written: Sequence[Mapping[str, Json]], arms: Sequence[Mapping[str, Json]], value: Mapping[str, Json]
) -> Iterator[Problem]:
    """Arms of which other arms keep every stage."""
    known = {*_stage_ids(value)}
    for index, (arm, before) in enumerate(zip(written, arms, strict=True)):
        if known <= {*arm.get("leave_out", ())} and not known <= {*before.get("leave_out", ())}:
            expected = "a stage that this arm keeps: those that another arm keeps are its own"
            yield Problem(f"treatments[{index}].keep", "nothing, and other arms keep every stage", expected)


def _bad_arms(arms: Sequence[Mapping[str, Json]]) -> Iterator[Problem]:
    """Fields of arms that cannot be read here."""
    for index, arm in enumerate(arms):
        fields = {"id": "x", **{name: arm[name] for name in _READ_HERE if name in arm}}
        try:
            Treatment.model_validate(fields)
        except ValidationError as error:
            for problem in translate(error, fields, Treatment.model_json_schema()):
                yield replace(problem, where=f"treatments[{index}].{problem.where}")


def _stage_ids(value: Mapping[str, Json]) -> list[str]:
    stages = value.get("stages")
    return [str(one.get("id")) for one in stages if isinstance(one, Mapping)] if isinstance(stages, list) else []


def _bad_keeps(value: Mapping[str, Json], arms: Sequence[Mapping[str, Json]]) -> Iterator[Problem]:
    known = _stage_ids(value)
    for index, arm in enumerate(arms):
        keep, left_out = arm.get("keep", ()), arm.get("leave_out", ())
        if not isinstance(keep, list | tuple) or not all(isinstance(one, str) for one in keep):
            yield Problem(f"treatments[{index}].keep", repr(keep)[:80], "a list of stages")
            continue
        for number, stage in enumerate(keep):
            where = f"treatments[{index}].keep[{number}]"
            if stage not in known:
                yield unknown(where, stage, known, "stage")
            elif isinstance(left_out, list | tuple) and stage in left_out:
                yield Problem(where, f"{stage!r}, which the arm leaves out", "one of the two")


def _texts_of(arm: Mapping[str, Json], texts: Json) -> dict[str, Json]:
    """The texts of this arm, by name."""
    if isinstance(texts, Mapping):
        return {name: by_arm[arm["id"]] for name, by_arm in texts.items() if arm.get("id") in by_arm}
    levels = _levels_of(arm)
    found: dict[str, Json] = {}
    for row in texts:
        if _is_of(row, levels):
            found |= {name: text for name, text in row.items() if name not in levels}
    return found


def _named_in(value: Json) -> Iterator[str]:
    """The variables that texts and rules of the file name."""
    yield from (name.partition(".")[0] for _, name in places(value))
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Mapping):
            pending += one.values()
            if isinstance(one.get("variable"), str):
                yield one["variable"].partition(".")[0]
        elif isinstance(one, list | tuple):
            pending += one


def _levels_of(arm: Mapping[str, Json]) -> dict[str, Json]:
    return {factor: as_level(level) for factor, level in arm.get("levels", {}).items()}


def _is_of(row: Mapping[str, Json], levels: Mapping[str, Json]) -> bool:
    return all(_is_level(row[factor], level) for factor, level in levels.items() if factor in row)


def _is_level(cell: Json, level: Json) -> bool:
    """Whether the cell of a table names the level; a file has numbers as texts."""
    return as_level(cell) == level or (isinstance(cell, str) and cell.replace(".", "-") == level)


def _bad_texts(texts: Json, arms: Sequence[Mapping[str, Json]]) -> Iterator[Problem]:
    if isinstance(texts, Mapping) and isinstance(texts.get("file"), str):
        yield Problem("texts.file", "a table", "a list of its rows; or send the table with this file")
        return
    try:
        _TEXTS.validate_python(texts)
    except ValidationError as error:
        for problem in translate(error, texts, _TEXTS.json_schema()):
            yield replace(problem, where=f"texts.{problem.where}".rstrip("."))
        return
    if not arms:
        yield Problem("texts", "texts for single arms", "`treatments` or `factors` beside them, or `variables`")
        return
    ids = [str(arm.get("id")) for arm in arms]
    if isinstance(texts, Mapping):
        for name, by_arm in texts.items():
            for arm in by_arm:
                if arm not in ids:
                    yield unknown(f"texts.{name}.{arm}", arm, ids, "treatment")
        return
    levels = [_levels_of(arm) for arm in arms]
    factors = {factor for one in levels for factor in one}
    for index, row in enumerate(texts):
        named = {name: level for name, level in row.items() if name in factors}
        if not named:
            expected = (
                f"a level of {', '.join(sorted(factors))}" if factors else "`factors` beside it, whose levels it names"
            )
            yield Problem(f"texts[{index}]", "a text for no cell", expected)
        for factor, level in named.items():
            known = list(dict.fromkeys(one[factor] for one in levels if factor in one))
            if not any(_is_level(level, one) for one in known):
                yield unknown(f"texts[{index}].{factor}", str(as_level(level)), known, "level")
