"""A persona that the file of an experiment does not have, for an agent that comes while the experiment runs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parley_lab.base import variables as texts
from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.experiment import Persona
from parley_lab.design.document import Experiment
from parley_lab.design.reading import validate

Json = Any
_WHERE = "persona"


def with_persona(experiment: Experiment, fields: Mapping[str, Json]) -> Experiment:
    """The experiment with this persona after its own, read and checked as if the file had it.

    Raises:
        InvalidInput: with all problems of the persona; another one of the experiment has its id, for example.
    """
    persona = _read(experiment, fields)
    if problems := _of_readers(fields):
        raise InvalidInput("The persona does not fit the experiment.", problems)
    return experiment.model_copy(update={"personas": (*experiment.personas, persona)})


def _read(experiment: Experiment, fields: Mapping[str, Json]) -> Persona:
    document = experiment.model_dump(mode="json")
    place = f"personas[{len(experiment.personas)}]"
    try:
        return validate({**document, "personas": [*document["personas"], fields]}).personas[-1]
    except InvalidInput as error:
        problems = [one for one in error.problems if one.where.startswith(place)]
        if problems:
            of_persona = [replace(one, where=_WHERE + one.where.removeprefix(place), at="") for one in problems]
            raise InvalidInput("The persona does not fit the experiment.", of_persona) from error
        # The rules of files have become stricter since the experiment was stored.
        return Persona.model_validate(fields)


def _of_readers(fields: Mapping[str, Json]) -> list[Problem]:
    """Names of what only the file's personas are filled with again later, such as the agent's own answers."""
    named = ((where, name) for where, name in texts.places(fields) if texts.is_of_reader(name))
    expected = "the words themselves, or a variable"
    return [Problem(f"{_WHERE}.{where}", f"`{{{{{name}}}}}`, which is known later", expected) for where, name in named]
