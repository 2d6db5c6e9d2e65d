"""Pairings: expands pairs of players into treatments and cohorts.

A pair in a cell of the design is a treatment; its replicates are cohorts. Both are named after the players, not
numbered by position, so that a pair's draws do not depend on other pairs. The stored experiment contains all its
treatments and cohorts. This module does not know what is played.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import combinations, combinations_with_replacement, product
from math import prod
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.experiment import Slug
from parley_lab.contracts.pairings import Level, Meeting, Pairings, Player
from parley_lab.design.complaints import translate
from parley_lab.design.treatments import merged

Json = Any
LONGEST_ID: Final = 58
"""Leaves room for the number of a replicate."""
_SHORTEST_PAIR: Final = 18
PERSON: Final = "person"
MAX_ARMS: Final = 20_000
"""The arms of more than two hundred players, each against each."""
_SLUG: Final[TypeAdapter[str]] = TypeAdapter(Slug)


def with_pairings(value: Json) -> Json:
    """The values of an experiment file with its pairings, if any, as treatments and cohorts.

    Raises:
        InvalidInput: with all problems of the pairings.
    """
    if not has_pairings(value):
        return value
    pairings = _read(value["pairings"])
    problems = [*_problems(value, pairings)]
    arms = [*_arms(pairings)] if _count(pairings) <= MAX_ARMS else []
    problems += _repeated(arms)
    if problems:
        raise InvalidInput("The pairings are not described as they should be.", problems)
    names = _names(value)
    return {
        **without_pairings(value),
        "treatments": [*_list(value.get("treatments")), *(arm.treatment(pairings, names) for arm in arms)],
        "cohorts": [*_list(value.get("cohorts")), *(arm.cohort(pairings) for arm in arms)],
    }


def has_pairings(value: Json) -> bool:
    return isinstance(value, Mapping) and value.get("pairings") is not None


def without_pairings(value: Mapping[str, Json]) -> dict[str, Json]:
    """The values of the file without its pairings."""
    return {key: part for key, part in value.items() if key != "pairings"}


def players_of(value: Json) -> set[str]:
    """The personas that the pairings name, as far as they are valid."""
    try:
        pairings = _read(value["pairings"]) if has_pairings(value) else None
    except InvalidInput:
        return set()
    if pairings is None:
        return set()
    seats = [seat for meeting in pairings.pairs for seat in meeting.seats]
    return {seat for seat in [*seats, *pairings.round_robin] if isinstance(seat, str)}


def placed_in_pairings(problems: Sequence[Problem], value: Json) -> list[Problem]:
    """The problems of the expanded experiment with places in `value`; one that all arms share is reported once."""
    if not has_pairings(value):
        return list(problems)
    names: dict[str, str] = {}
    own = {part: len(_list(value.get(part))) for part in ("treatments", "cohorts")}
    for index, arm in enumerate(_arms(_read(value["pairings"]))):
        names |= {f"{part}[{own[part] + index}]": f"{arm.where}, {arm.id}" for part in own}
    return [_placed(problem, names) for problem in problems]


def _placed(problem: Problem, names: Mapping[str, str]) -> Problem:
    place, bracket, rest = problem.where.partition("]")
    name = names.get(place + bracket)
    return problem if name is None else replace(problem, where=f"{name}{rest.replace('.', ': ', 1)}")


class _Arm:
    """One meeting in one cell of the design."""

    def __init__(self, where: str, meeting: Meeting, cell: Sequence[tuple[str, Level]], room: int) -> None:
        """`room`: how long the name of a pair may be, so that all its levels are at the end of every id."""
        self.where, self.meeting = where, meeting
        self._cell = cell
        named = meeting.id or f"{_id_of(meeting.seats[0])}-vs-{_id_of(meeting.seats[1])}"
        self.id = "-".join([_shortened(named, room), *(level.id for _, level in cell)])

    def treatment(self, pairings: Pairings, names: Mapping[str, str]) -> dict[str, Json]:
        fields = merged({}, self.meeting.settings)
        for factor, level in self._cell:
            fields = merged(fields, {factor: level.value})
        title = " vs ".join(names.get(seat, seat) if isinstance(seat, str) else PERSON for seat in self.meeting.seats)
        levels = ", ".join(f"{factor}: {level.id}" for factor, level in self._cell)
        return {
            "id": self.id,
            "name": f"{title}, {levels}" if levels else title,
            "levels": {factor: level.id for factor, level in self._cell},
            "stages": {pairings.stage: fields} if fields else {},
        }

    def cohort(self, pairings: Pairings) -> dict[str, Json]:
        seats = [{"persona": seat} if isinstance(seat, str) else {"open": True} for seat in self.meeting.seats]
        count = self.meeting.replicates or pairings.replicates
        # Named like the first of several, so that further replicates do not change its name.
        named = {"id": f"{self.id}-1"} if count == 1 else {"id": self.id, "count": count}
        return {**named, "seats": seats, "treatment": self.id}


def _count(pairings: Pairings) -> int:
    """The number of arms, before any is made."""
    players = len(pairings.round_robin)
    robins = players * (players + 1) // 2 if pairings.self_play else players * (players - 1) // 2
    return (len(pairings.pairs) + robins) * prod(len(levels) for levels in pairings.levels().values())


def _arms(pairings: Pairings) -> Iterator[_Arm]:
    factors = [[(factor, level) for level in levels] for factor, levels in pairings.levels().items()]
    room = LONGEST_ID - _longest_levels(pairings)
    for where, meeting in _meetings(pairings):
        for cell in product(*factors):
            yield _Arm(where, meeting, cell, room)


def _longest_levels(pairings: Pairings) -> int:
    return sum(1 + max((len(level.id) for level in levels), default=0) for levels in pairings.levels().values())


def _meetings(pairings: Pairings) -> Iterator[tuple[str, Meeting]]:
    for index, pair in enumerate(pairings.pairs):
        yield f"pairings.pairs[{index}]", pair
    chosen = combinations_with_replacement if pairings.self_play else combinations
    for seats in chosen(pairings.round_robin, 2):
        yield "pairings.round_robin", Meeting(seats=seats)


def _read(value: Json) -> Pairings:
    try:
        return Pairings.model_validate(value)
    except ValidationError as error:
        problems = translate(error, value, Pairings.model_json_schema())
        placed = [replace(one, where=f"pairings.{one.where}".rstrip(".")) for one in problems]
        raise InvalidInput("The pairings are not described as they should be.", placed) from error


def _problems(value: Mapping[str, Json], pairings: Pairings) -> Iterator[Problem]:
    stages = [stage.get("id") for stage in _list(value.get("stages")) if isinstance(stage, Mapping)]
    if pairings.stage not in stages:
        listed = ", ".join(str(stage) for stage in stages) or "a stage of the experiment"
        yield Problem("pairings.stage", repr(pairings.stage), f"one of {listed}")
    if not pairings.pairs and not pairings.round_robin:
        yield Problem("pairings", "no pairs", "`pairs` or `round_robin`")
    if len(pairings.round_robin) == 1 and not pairings.self_play:
        yield Problem("pairings.round_robin", "one player", "at least two players, or `self_play: true`")
    seen: set[str] = set()
    for index, player in enumerate(pairings.round_robin):
        if player in seen:
            yield Problem(f"pairings.round_robin[{index}]", repr(player), "every player once")
        seen.add(player)
    if (count := _count(pairings)) > MAX_ARMS:
        yield Problem("pairings", f"{count} pairs, each in all its arms", f"at most {MAX_ARMS}")
    for factor, levels in pairings.levels().items():
        yield from _bad_levels(factor, levels)
    if (longest := _longest_levels(pairings)) > LONGEST_ID - _SHORTEST_PAIR:
        expected = f"shorter ids of levels: {LONGEST_ID - _SHORTEST_PAIR} characters for one of each factor"
        yield Problem("pairings.factors", f"ids of levels with {longest} characters together", expected)
    for index, cohort in enumerate(_list(value.get("cohorts"))):
        if isinstance(cohort, Mapping) and cohort.get("treatment") is None:
            expected = "a treatment: those of pairings are for their own pairs"
            yield Problem(f"cohorts[{index}].treatment", "nothing", expected)


def _bad_levels(factor: str, levels: Sequence[Level]) -> Iterator[Problem]:
    where = f"pairings.factors.{factor}"
    if not levels:
        yield Problem(where, "no levels", "at least one level")
    for index, level in enumerate(levels):
        if not _is_id(level.id):
            yield Problem(where, f"the level {level.id!r}", "levels with a name: an object of id and value")
        elif level.id in [other.id for other in levels[:index]]:
            yield Problem(where, f"the level {level.id!r} twice", "every level once")


def _repeated(arms: Sequence[_Arm]) -> list[Problem]:
    first: dict[str, str] = {}
    found = []
    for arm in arms:
        if arm.id in first:
            found.append(Problem(arm.where, f"the pair {arm.id!r}, as in {first[arm.id]}", "every pair once, or an id"))
        first.setdefault(arm.id, arm.where)
    return found


def _names(value: Mapping[str, Json]) -> dict[str, str]:
    """The names of the file's personas."""
    names = {}
    for persona in _list(value.get("personas")):
        profile = persona.get("profile") if isinstance(persona, Mapping) else None
        if isinstance(profile, Mapping) and isinstance(profile.get("name"), str) and profile["name"]:
            names[str(persona.get("id"))] = profile["name"]
    return names


def _id_of(seat: Player) -> str:
    return seat if isinstance(seat, str) else PERSON


def _shortened(name: str, room: int) -> str:
    """A name that is too long, with its end replaced by a unique text."""
    if len(name) <= room:
        return name
    return f"{name[: room - 9]}-{sha256(name.encode()).hexdigest()[:8]}"


def _is_id(value: str) -> bool:
    try:
        return bool(_SLUG.validate_python(value))
    except ValidationError:
        return False


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
