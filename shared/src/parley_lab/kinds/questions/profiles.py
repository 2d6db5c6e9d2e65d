"""Profiles of attributes, drawn for the tasks of one participant, as conjoint studies ask about them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from random import Random
from typing import Any, Final

from parley_lab.base.errors import Problem
from parley_lab.kinds.data import COLUMNS_OF_ROWS, COLUMNS_OF_RUN
from parley_lab.kinds.questions.rows import Rows

Json = Any
Profile = Mapping[str, Json]
Task = Sequence[Profile]
COLUMNS_OF_PROFILES: Final = ("participant", "task", "profile", "chosen", "attribute_order")
"""The columns of the table of profiles, before those of the attributes."""
_MOST_LOOKED_THROUGH: Final = 50_000
"""So many profiles are looked through for those that no rule forbids."""


def drawn_profiles(rows: Rows, names: Sequence[str], rng: Random) -> list[Task]:
    """The profiles of each task. Every allowed profile is as likely, but for those that the task has already.

    names: the attributes in the participant's order, the same in all tasks.
    """
    return [_task(rows, names, rng) for _ in range(rows.tasks)]


def _task(rows: Rows, names: Sequence[str], rng: Random) -> Task:
    found: list[Profile] = []
    while len(found) < rows.draw:
        # Levels are drawn in the order of the file, so that an order of attributes changes no draw.
        levels = {name: rng.choice(levels) for name, levels in rows.attributes.items()}
        profile = {name: levels[name] for name in names}
        if profile not in found and not _is_forbidden(rows, profile):
            found.append(profile)
    return found


def _is_forbidden(rows: Rows, profile: Profile) -> bool:
    return any(all(profile.get(name) == level for name, level in rule.items()) for rule in rows.never)


def bad_attributes(rows: Rows) -> Iterator[Problem]:
    """`where` is relative to the stage."""
    others = {"items": bool(rows.items), "take": rows.take, "by": rows.by, "levels": rows.levels}
    for name, value in others.items():
        if value:
            yield Problem(f"rows.{name}", name, "nothing beside `attributes`: levels are drawn for each task")
    for name, levels in rows.attributes.items():
        if not levels or len(set(levels)) != len(levels):
            yield Problem(f"rows.attributes.{name}", f"{len(levels)} levels", "at least one level, each once")
        if name in (*COLUMNS_OF_PROFILES, *COLUMNS_OF_ROWS, *COLUMNS_OF_RUN):
            yield Problem(f"rows.attributes.{name}", repr(name), "another name: the data have this column")
    unknown = [*_unknown_levels(rows)]
    yield from unknown
    if not unknown and (count := _allowed(rows)) < rows.draw:
        yield Problem("rows.draw", str(rows.draw), f"at most {count}, the number of profiles that may be drawn")


def _unknown_levels(rows: Rows) -> Iterator[Problem]:
    for index, rule in enumerate(rows.never):
        if not rule:
            yield Problem(f"rows.never[{index}]", "no levels", "an attribute with the level that no profile has")
        for name, level in rule.items():
            where, known = f"rows.never[{index}].{name}", rows.attributes.get(name)
            if known is None:
                yield Problem(where, repr(name), f"one of the attributes {', '.join(rows.attributes)}")
            elif level not in known:
                yield Problem(where, repr(level), f"one of the levels {', '.join(map(str, known))}")


def _allowed(rows: Rows) -> int:
    """How many profiles may be drawn, or at least so many."""
    profiles = (dict(zip(rows.attributes, levels, strict=True)) for levels in product(*rows.attributes.values()))
    looked_through = islice(profiles, min(prod(map(len, rows.attributes.values())), _MOST_LOOKED_THROUGH))
    return sum(not _is_forbidden(rows, profile) for profile in looked_through)
