"""Personas without an experiment: reads one, reads a file of several, and writes them without loss."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, TypeVar

import yaml
from pydantic import ValidationError

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.experiment import Document, Persona
from parley_lab.design.complaints import found, translate
from parley_lab.design.parsing import MAX_BYTES, Loader, check_values, decoded, parse
from parley_lab.design.places import located

Json = Any
Format = Literal["yaml", "json"]
ModelT = TypeVar("ModelT", Persona, "PersonaFile")
_WIDTH: Final = 120


class PersonaFile(Document):
    """Personas without an experiment, the format in which libraries export and import them."""

    parley: Literal[1]
    """The version of this file format."""
    personas: tuple[Persona, ...]
    """The agents, each with a unique id."""


def read_persona(content: str | bytes, name: str, persona_id: str) -> Persona:
    """The persona with this id: JSON when `name` ends in `.json`, YAML otherwise; the id may be left out.

    Raises:
        TooLarge: the file is too large.
        InvalidInput: with all problems.
    """
    text = decoded(content, name)
    value = _fields(parse(text, name), name)
    if value.get("id", persona_id) != persona_id:
        problem = Problem("id", found(value["id"]), f"{persona_id!r}, or nothing")
        raise InvalidInput("The persona has two ids.", [problem])
    return _validated(Persona, {**value, "id": persona_id}, name, text)


def read_personas(content: str | bytes, name: str, *, max_bytes: int = MAX_BYTES) -> tuple[Persona, ...]:
    """The personas of a persona file, each id once.

    Raises:
        TooLarge: the file is too large.
        InvalidInput: with all problems.
    """
    text = decoded(content, name, max_bytes)
    value = _fields(parse(text, name, max_bytes=max_bytes), name)
    personas = _validated(PersonaFile, value, name, text).personas
    ids = [persona.id for persona in personas]
    repeated = [
        Problem(f"personas[{index}].id", f"{one!r}, as in personas[{ids.index(one)}]", "an id of its own")
        for index, one in enumerate(ids)
        if ids.index(one) < index
    ]
    if repeated:
        raise InvalidInput(f"{name} is not a valid persona file.", located(repeated, value, text))
    return personas


def write_personas(personas: Sequence[Persona], form: Format) -> str:
    """A persona file that `read_personas` reads as the same personas."""
    value = {"parley": 1, "personas": [as_written(persona) for persona in personas]}
    if form == "json":
        return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return yaml_of(value)


def yaml_of(value: Json) -> str:
    """YAML that `Loader` reads as the same values."""
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_WIDTH)


def as_written(persona: Persona) -> dict[str, Json]:
    """The fields that were set, without defaults."""
    return persona.model_dump(mode="json", exclude_unset=True)


def _fields(value: Json, name: str) -> Mapping[str, Json]:
    check_values(value, name)
    if not isinstance(value, Mapping):
        problem = Problem(name, "nothing" if value is None else found(value), "an object with fields")
        raise InvalidInput(f"{name} cannot be used.", [problem])
    return value


def _validated(model: type[ModelT], value: Mapping[str, Json], name: str, text: str) -> ModelT:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = translate(error, value, _schema(model))
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        is_experiment = model is PersonaFile and "stages" in value and "cohorts" in value
        hint = " It is an experiment file; a persona file has `parley` and `personas` only." if is_experiment else ""
        raise InvalidInput(f"{name} is not valid: {count}.{hint}", located(problems, value, text)) from error


@cache
def _schema(model: type[Document]) -> dict[str, Any]:
    return model.model_json_schema()


class _Dumper(yaml.SafeDumper):
    """Writes what `Loader` reads: quotes texts that would be read as something else."""

    yaml_implicit_resolvers = Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # Some line breaks and some invisible characters survive only in double quotes.
    is_plain = all(character.isprintable() or character == "\n" for character in text)
    style = '"' if not is_plain else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
