"""Reading an experiment file: an experiment, or every problem in it at once, each with its place in the file."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import ValidationError

from shared.errors import InvalidInput, Problem
from shared.experiment import checks
from shared.experiment.complaints import found, translate
from shared.experiment.document import Experiment, json_schema
from shared.experiment.parsing import MAX_BYTES, check_values, parse
from shared.experiment.table import ReadTable, with_table

Json = Any


def load(
    content: str | bytes,
    name: str = "experiment.yaml",
    *,
    max_bytes: int = MAX_BYTES,
    read_table: ReadTable | None = None,
) -> Experiment:
    """The experiment in a file: JSON when `name` ends in `.json`, YAML otherwise.

    `read_table` gives the table of personas that the file names; without it, a file that names one is refused.

    Raises:
        TooLarge: more than `max_bytes`.
        InvalidInput: with all problems.
    """
    value = parse(content, name, max_bytes=max_bytes)
    return validate(value if read_table is None else with_table(value, read_table), name)


def validate(value: Json, name: str = "experiment") -> Experiment:
    """The experiment that the JSON value says.

    Raises:
        InvalidInput: with all problems.
    """
    check_values(value, name)
    if not isinstance(value, Mapping):
        problem = Problem(name, "nothing" if value is None else found(value), "an object with fields")
        raise InvalidInput(f"{name} is not an experiment.", [problem])
    experiment, problems = _read(value)
    problems += checks.problems(value)
    if experiment is None or problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise InvalidInput(f"{name} is not a valid experiment: {count}.", problems)
    return experiment


def _read(value: Mapping[str, Json]) -> tuple[Experiment | None, list[Problem]]:
    try:
        return Experiment.model_validate(value), []
    except ValidationError as error:
        return None, translate(error, value, _schema())


@cache
def _schema() -> dict[str, Any]:
    return json_schema()
