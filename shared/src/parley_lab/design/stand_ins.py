"""Checks the personas that are to play on for people who are gone, or to take the seats of those who do not come."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import meant_by, one_of, unknown
from parley_lab.contracts.experiment import Persona, StageConfig, Treatment


def problems(stage: StageConfig, known: Collection[str], scripted: Collection[str]) -> Iterator[Problem]:
    """Personas of the stage that there are not, or for which no model speaks; `where` is relative to the stage."""
    if stage.stand_in is not None:
        yield from _of("stand_in", stage.stand_in, known, scripted)
    elif stage.when_gone == "replace":
        yield Problem("stand_in", "nothing", "the id of the persona that plays on for a person who is gone")
    if stage.progress.fill_with is not None:
        yield from _of("progress.fill_with", stage.progress.fill_with, known, scripted)


def _of(where: str, persona_id: str, known: Collection[str], scripted: Collection[str]) -> Iterator[Problem]:
    yield from unknown_persona(where, persona_id, known)
    if persona_id in scripted:
        yield Problem(where, "a persona that acts by script", "one that a model speaks for")


def scripted_in(personas: Iterable[Persona], treatment: Treatment | None = None) -> set[str]:
    """The personas that act by script, in this arm."""
    changed = treatment.personas if treatment is not None else {}
    return {one.id for one in personas if changed.get(one.id, {}).get("player", one.player) == "script"}


def unknown_persona(where: str, name: str, known: Collection[str]) -> Iterator[Problem]:
    """A persona of the library is among the known ones."""
    if name not in known:
        of_file = one_of(name, known, "persona") if known else "a persona that the file defines"
        problem = unknown(where, name, known, "persona")
        more = "" if meant_by(name, known) else " Add it to `personas`, or to the persona library."
        yield replace(problem, expected=f"{of_file}, or one that the persona library has", hint=f"{problem.hint}{more}")
