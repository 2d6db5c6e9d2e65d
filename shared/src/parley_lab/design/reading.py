"""Reads an experiment file: an experiment, or all its problems at once, each with its place in the file."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

from parley_lab.base import variables as texts
from parley_lab.base.errors import IN_WORDS, InvalidInput, Problem
from parley_lab.base.meant_names import is_unknown
from parley_lab.contracts.experiment import Persona
from parley_lab.contracts.media import StoredFile
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.design import assigning, checks
from parley_lab.design.cells import unnamed_texts, with_cells, without_cells
from parley_lab.design.complaints import found, object_with, translate
from parley_lab.design.document import Experiment
from parley_lab.design.factors import has_factors, placed_in_factors, with_factors, without_factors
from parley_lab.design.library import named_personas, placed, with_library
from parley_lab.design.media import ReadMedium, with_media
from parley_lab.design.own_words import ReadWords, with_words
from parley_lab.design.pairings import placed_in_pairings, with_pairings, without_pairings
from parley_lab.design.parsing import MAX_BYTES, check_values, decoded, parse, with_spaces
from parley_lab.design.persona_table import ReadTable, with_table
from parley_lab.design.places import located
from parley_lab.design.row_tables import with_row_tables, without_unread_tables
from parley_lab.design.tables import Table
from parley_lab.design.typing_speeds import too_fast
from parley_lab.kinds.questions.rows import filled_by_rows, left_empty, rules_of_no_row

Json = Any


@dataclass(frozen=True, slots=True)
class Reading:
    """The parsed content of a file, with its table of personas, before validation."""

    name: str
    value: Json
    text: str | None = None
    """The content of the file, for the lines of problems."""
    problems: tuple[Problem, ...] = ()
    """The problems of its table of personas; without a valid table, seats that need it cause no complaints. Those of
    files that stages show are among them."""
    files: tuple[StoredFile, ...] = ()
    """The files that stages show, which the values name by digest."""
    of_tables: tuple[Problem, ...] = ()
    """The warnings of its tables."""

    def warnings(self) -> list[Problem]:
        """What is valid and likely not meant."""
        if not isinstance(self.value, Mapping):
            return []
        arms = [one for one in self.value.get("treatments") or () if isinstance(one, Mapping)]
        layers = [one.get("variables") for one in (self.value, *arms)]
        names = {name for one in layers if isinstance(one, Mapping) for name in one} | assigning.names(self.value)
        stages = stages if isinstance(stages := self.value.get("stages"), list) else []
        names |= {name for one in stages for name in filled_by_rows(one)}
        parts = {name: self.value.get(name) for name in ("stages", "personas", "treatments")}
        found = [*texts.nearly_places(parts, names), *_braces_in_values(self.value)]
        for place, one in enumerate(stages):
            found += [*left_empty(one, f"stages[{place}]"), *rules_of_no_row(one, f"stages[{place}]")]
        return [*self.of_tables, *located(found, self.value, self.text)]

    def warnings_of(self, experiment: Experiment, *, sketched: Collection[str] = ()) -> list[Problem]:
        """The warnings of the valid experiment that was made of the file.

        sketched: the ids of personas of which only the name is known.
        """
        return located([*too_fast(experiment, sketched=sketched)], self.value, self.text)

    def experiment(self, library: Mapping[str, Persona] | None = None) -> Experiment:
        """The experiment with the personas that it takes from the `library`.

        Raises:
            InvalidInput: with all problems.
        """
        return _validated(self, library or {})


def load(
    content: str | bytes,
    name: str = "experiment.yaml",
    *,
    max_bytes: int = MAX_BYTES,
    read_table: ReadTable | None = None,
    library: Mapping[str, Persona] | None = None,
) -> Experiment:
    """The experiment in a file: JSON when `name` ends in `.json`, YAML otherwise.

    `read_table` gives the table of personas that the file names; without it, a file that names one is refused.
    `library` has the personas, by id, that the file may name without defining them.

    Raises:
        TooLarge: more than `max_bytes`.
        InvalidInput: with all problems.
    """
    return read(content, name, max_bytes=max_bytes, read_table=read_table).experiment(library)


def read(
    content: str | bytes,
    name: str,
    *,
    max_bytes: int = MAX_BYTES,
    read_table: ReadTable | None = None,
    read_medium: ReadMedium | None = None,
    read_words: ReadWords | None = None,
) -> Reading:
    """Parse a file. Without `read_medium`, the files that stages show keep their names.

    Raises:
        TooLarge: more than `max_bytes`.
        InvalidInput: it cannot be parsed.
    """
    text = decoded(content, name, max_bytes)
    text = text if name.lower().endswith(".json") else with_spaces(text)
    value = parse(text, name, max_bytes=max_bytes)
    whole, problems, warnings = (value, [], ()) if read_table is None else _with_tables(value, read_table)
    if read_words is not None:
        whole, of_words = with_words(whole, read_words)
        problems = [*problems, *of_words]
    if read_medium is None:
        return Reading(name, whole, text, tuple(problems), of_tables=warnings)
    whole, files, missing = with_media(whole, read_medium)
    return Reading(name, whole, text, (*problems, *missing), tuple(files), warnings)


def _with_tables(value: Json, read_table: ReadTable) -> tuple[Json, list[Problem], tuple[Problem, ...]]:
    """The values with what their tables hold, and the problems and warnings of the tables."""
    warnings: dict[Problem, None] = {}

    def note_warnings(source: PersonasFrom) -> Table:
        table = read_table(source)
        warnings.update(dict.fromkeys(table.warnings))
        return table

    whole, problems = with_table(value, note_warnings)
    whole, of_rows = with_row_tables(whole, note_warnings)
    return whole, [*problems, *of_rows], tuple(warnings)


def validate(value: Json, name: str = "experiment", *, library: Mapping[str, Persona] | None = None) -> Experiment:
    """The experiment in the JSON value, with personas from the `library`.

    Raises:
        InvalidInput: with all problems.
    """
    return Reading(name, value).experiment(library)


def _braces_in_values(value: Mapping[str, Json]) -> Iterator[Problem]:
    """Placeholders inside values of variables: values are put into texts unchanged."""
    valued = {name: value.get(name) for name in ("variables", "factors")}
    for index, one in enumerate(assigned if isinstance(assigned := value.get("assigned"), list) else ()):
        # What people wrote into a table may have braces.
        if isinstance(one, Mapping) and one.get("kind") != "by_persona":
            valued[f"assigned[{index}]"] = one
    arms = value.get("treatments")
    for index, arm in enumerate(arms if isinstance(arms, list) else ()):
        if isinstance(arm, Mapping):
            valued[f"treatments[{index}].variables"] = arm.get("variables")
    for where, name in texts.places(valued):
        if where.partition(".")[0] != "factors" or (".stages." not in where and ".personas." not in where):
            found = f"`{{{{{name}}}}}`"
            wrong = f"people read {found} with its braces: nothing is filled into a value"
            yield Problem(where, found, "the words themselves", wrong, "Write the words themselves.", code=IN_WORDS)


def _validated(reading: Reading, library: Mapping[str, Persona]) -> Experiment:
    value, name = reading.value, reading.name
    check_values(value, name)
    if not isinstance(value, Mapping):
        expected = object_with(("parley", "name", "stages", "cohorts"))
        problem = Problem(name, "nothing" if value is None else found(value), expected)
        raise InvalidInput(f"{name} is not an experiment.", [problem])
    completed = with_library(value, library)
    whole, problems = _written_out(completed)
    experiment, further = _read(whole)
    further = placed([*further, *checks.problems(whole)], value, whole)
    if problems:
        # Without the pairs, missing members cannot be found.
        further = _without(further, "cohorts", "treatments")
        if has_factors(value) or value.get("texts") is not None:
            # Nor without the arms, which variables there are.
            further = _without_unfilled(further)
    elif value.get("texts") is not None and _knows_personas(value, library):
        further = [*unnamed_texts(completed, whole["treatments"]), *further]
    if value.get("personas_from") is not None and reading.problems:
        # Nor without the table.
        further = _without(further, "cohorts", "personas_from")
    problems, further = (without_unread_tables(one, is_told=bool(reading.problems)) for one in (problems, further))
    problems += further if problems else placed_in_pairings(placed_in_factors(further, value), value)
    problems += reading.problems
    if experiment is None or problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        told = located(problems, value, reading.text)
        raise InvalidInput(f"{name} is not a valid experiment: {count}.", told)
    return experiment


def _without(problems: Sequence[Problem], *places: str) -> list[Problem]:
    return [problem for problem in problems if not problem.where.startswith(places)]


def _without_unfilled(problems: Sequence[Problem]) -> list[Problem]:
    """Without those of places that name a variable which is not known."""
    unfilled = {problem.where for problem in problems if is_unknown(problem, "variable")}
    return [problem for problem in problems if problem.where not in unfilled]


def _knows_personas(value: Mapping[str, Json], library: Mapping[str, Persona]) -> bool:
    """Whether the texts of all personas are known; a sketch has the names of those of a library alone."""
    named = named_personas(value)
    return value.get("personas_from") is None and all(
        name in library and library[name] != Persona(id=name) for name in named
    )


def _written_out(value: Mapping[str, Json]) -> tuple[Mapping[str, Json], list[Problem]]:
    """The values with their factors and pairings written out, or without them and with their problems."""
    problems: list[Problem] = []
    whole = value
    steps = ((with_factors, without_factors), (with_cells, without_cells), (with_pairings, without_pairings))
    for write_out, without in steps:
        try:
            # Texts are for arms that factors are crossed to.
            whole = without(whole) if problems and write_out is with_cells else write_out(whole)
        except InvalidInput as error:
            whole = without(whole)
            # The arms are in the words of factors.
            crossed = write_out is with_cells
            problems += placed_in_factors(error.problems, value) if crossed else error.problems
    return whole, problems


def _read(value: Mapping[str, Json]) -> tuple[Experiment | None, list[Problem]]:
    try:
        return Experiment.model_validate(value), []
    except ValidationError as error:
        return None, translate(error, value, _schema())


@cache
def _schema() -> dict[str, Any]:
    return Experiment.model_json_schema()
