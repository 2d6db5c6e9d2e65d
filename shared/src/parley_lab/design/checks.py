"""Checks that types cannot express: references, ids, seats, and every treatment.

Works on the values of the file, without the parts that are invalid in themselves, so that one mistake does not hide
others.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from parley_lab.base import variables as texts
from parley_lab.base.errors import REPEATED_ID, Problem
from parley_lab.base.meant_names import unknown
from parley_lab.contracts.allocation import Allocation
from parley_lab.contracts.assigned import ByPersona, Permutation
from parley_lab.contracts.experiment import AttentionChecks, CohortPlan, Persona, StageConfig, Treatment
from parley_lab.contracts.join_page import OF_THE_PAGE, JoinPage
from parley_lab.design import assigning, block_orders, left_out, meetings, own_arms, own_words, sequences, stand_ins
from parley_lab.design.allocation import repeated_names
from parley_lab.design.arms import Arms
from parley_lab.design.complaints import LANGUAGE_EXPECTED, without_unknown
from parley_lab.design.document import MAX_MEMBERS
from parley_lab.design.stand_ins import unknown_persona
from parley_lab.kinds.questions.rows import fill_stage, filled_by_rows
from parley_lab.kinds.stages import parts_of, read_stage

Json = Any
T = TypeVar("T")
_MOST_TRIED: Final = 2_000
"""So many values of a column are tried in the texts that name it."""


@dataclass(frozen=True)
class _Parts:
    """The valid parts of a file, by position, and the ids of all parts that have one."""

    stages: Mapping[int, StageConfig]
    personas: Mapping[int, Persona]
    cohorts: Mapping[int, CohortPlan]
    treatments: Mapping[int, Treatment]
    ids: Mapping[str, Sequence[tuple[int, str]]]
    known: Mapping[str, Collection[str]]
    """The same ids, for quick look-ups."""
    counts: Mapping[str, int]
    unread: Collection[str]
    """How complaints show the ids of invalid stages."""


_NAME_OF_A_LANGUAGE: Final = re.compile(r"[A-Za-z]{4,8}(-[A-Za-z0-9]{1,8})*")
"""What stored experiments may have as their language, since files could say `english` once; tags begin with two letters
or three."""


def problems(value: Mapping[str, Json]) -> list[Problem]:
    """All problems between the parts of the file."""
    parts = _split(value)
    found = [
        *_unread_table(value),
        *_repeated_ids(parts),
        *repeated_names(parts.cohorts),
        *assigning.problems(value),
        *_language(value),
        *_reserved_names(value),
        *_attention(value),
        *_unknown_weights(parts, value),
        *_idle_allocation(parts, value),
        *_unfilled_join_page(value),
        *_parameters_of_the_link(value),
        *own_words.problems(value),
        *_cohort_problems(parts),
        *_seats_given_again(parts, value),
        *_stage_problems(parts),
        *_arm_problems(parts, value),
        *_own_arm_problems(parts, value),
        *_meeting_problems(parts, value),
        *_ways_of_members(parts, value),
        *_persona_value_problems(parts, value),
    ]
    # Those parts exist, though their content is unknown.
    return [problem for problem in _once(found) if problem.found not in parts.unread]


def _split(value: Mapping[str, Json]) -> _Parts:
    lists = {name: _list(value.get(name)) for name in ("stages", "personas", "cohorts", "treatments")}
    ids = {name: list(_ids(parts)) for name, parts in lists.items()}
    stages = _valid(lists["stages"], _read_stage)
    return _Parts(
        stages=stages,
        personas=_valid(lists["personas"], _read_persona),
        cohorts=_valid(lists["cohorts"], CohortPlan.model_validate),
        treatments=_valid(lists["treatments"], Treatment.model_validate),
        ids=ids,
        known={name: {part_id: None for _, part_id in found}.keys() for name, found in ids.items()},
        counts={name: len(parts) for name, parts in lists.items()},
        unread={repr(stage_id) for index, stage_id in ids["stages"] if index not in stages},
    )


def _read_stage(value: Json) -> StageConfig:
    """The stage, without its unknown fields, which are reported elsewhere."""
    try:
        return read_stage(value)
    except ValidationError as error:
        return read_stage(without_unknown(value, error))


def _read_persona(value: Json) -> Persona:
    try:
        return Persona.model_validate(value)
    except ValidationError as error:
        return Persona.model_validate(without_unknown(value, error))


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _valid(values: Sequence[Json], read: Callable[[Json], T]) -> dict[int, T]:
    valid: dict[int, T] = {}
    for index, value in enumerate(values):
        try:
            valid[index] = read(value)
        except ValidationError:
            continue
    return valid


def _ids(values: Sequence[Json]) -> Iterator[tuple[int, str]]:
    for index, value in enumerate(values):
        if isinstance(value, Mapping) and isinstance(value.get("id"), str):
            yield index, value["id"]


def _language(value: Mapping[str, Json]) -> Iterator[Problem]:
    language = value.get("language")
    if isinstance(language, str) and _NAME_OF_A_LANGUAGE.fullmatch(language) is not None:
        yield Problem("language", repr(language), LANGUAGE_EXPECTED)


def _unread_table(value: Mapping[str, Json]) -> Iterator[Problem]:
    """Tables that were not read: `reading.read` replaces them with their rows before this check."""
    if value.get("personas_from") is not None:
        yield Problem("personas_from", "a table", "`personas`; or send the table with this file")
    for index, stage in enumerate(_list(value.get("stages"))):
        rows = stage.get("rows") if isinstance(stage, Mapping) else None
        if isinstance(rows, Mapping) and rows.get("file") is not None:
            yield Problem(f"stages[{index}].rows.file", "a table", "`items`; or send the table with this file")


def _repeated_ids(parts: _Parts) -> Iterator[Problem]:
    for what, ids in parts.ids.items():
        first: dict[str, int] = {}
        for index, part_id in ids:
            if part_id in first:
                place, other = f"{what}[{index}].id", f"{what}[{first[part_id]}]"
                wrong = f"the id {part_id!r} is there already, in {other}"
                expected = "an id of its own"
                hint = f"Write {expected}."
                yield Problem(place, f"{part_id!r}, as in {other}", expected, wrong, hint, code=REPEATED_ID)
            first.setdefault(part_id, index)


def _unknown_weights(parts: _Parts, value: Mapping[str, Json]) -> Iterator[Problem]:
    allocation = value.get("allocation")
    weights = allocation.get("weights") if isinstance(allocation, Mapping) else None
    for treatment in weights if isinstance(weights, Mapping) else ():
        yield from _unknown(f"allocation.weights.{treatment}", treatment, parts.known["treatments"], "treatment")


def _reserved_names(value: Mapping[str, Json]) -> Iterator[Problem]:
    """Variables that texts could not name, since the name is that of something else."""
    arms = enumerate(_list(value.get("treatments")))
    layers = [("variables", value.get("variables"))]
    layers += [
        (f"treatments[{index}].variables", arm.get("variables")) for index, arm in arms if isinstance(arm, Mapping)
    ]
    of_rows = {name for stage in _list(value.get("stages")) for name in filled_by_rows(stage)}
    for where, given in layers:
        for name in given if isinstance(given, Mapping) else ():
            if name in of_rows:
                yield Problem(f"{where}.{name}", repr(name), f"another name: {name!r} is the row of a stage with rows")
            if name in texts.OF_READER:
                yield Problem(f"{where}.{name}", repr(name), f"another name: {name!r} is what is known of each reader")


def _attention(value: Mapping[str, Json]) -> Iterator[Problem]:
    try:
        checks = AttentionChecks.model_validate(value.get("attention_checks") or {})
    except ValidationError:
        return
    if checks.every_seconds is not None and checks.seconds > checks.every_seconds:
        expected = f"at most every_seconds, which is {checks.every_seconds:g}: one check at a time"
        yield Problem("attention_checks.seconds", f"{checks.seconds:g}", expected)


def _idle_allocation(parts: _Parts, value: Mapping[str, Json]) -> Iterator[Problem]:
    """What the file says about arms that it does not have, or about blocks that are not drawn."""
    allocation = value.get("allocation")
    if not isinstance(allocation, Mapping):
        return
    # A file that was read back has the defaults written out.
    usual = Allocation().model_dump()
    if not parts.counts["treatments"] and any(part != usual.get(name) for name, part in allocation.items()):
        yield Problem("allocation", "no arms to allocate", "`treatments` or `factors` beside it; or leave it out")
    cycles, method = allocation.get("block_cycles", 1), allocation.get("method", "complete")
    if cycles != 1 and method != "blocked":
        expected = f"`method: blocked` beside it: {method} draws no blocks of so many cycles"
        yield Problem("allocation.block_cycles", str(cycles), expected)


def _unfilled_join_page(value: Mapping[str, Json]) -> Iterator[Problem]:
    """Placeholders on the page before people join: it has no reader yet, and nothing is filled in."""
    page = value.get("join")
    for where, name in texts.places(page) if isinstance(page, Mapping) else ():
        yield Problem(
            f"join.{where}", f"`{{{{{name}}}}}`", "the words themselves: nothing is filled in before people join"
        )


def _parameters_of_the_link(value: Mapping[str, Json]) -> Iterator[Problem]:
    try:
        page = JoinPage.model_validate(value.get("join") or {})
    except ValidationError:
        return
    for index, name in enumerate(page.parameters):
        where, found = f"join.parameters[{index}]", repr(name)
        if name == page.external_id:
            yield Problem(where, found, "another parameter than `external_id`, which is kept anyhow")
        elif name == OF_THE_PAGE:
            yield Problem(where, found, f"another name: `{name}=1` tells the page to join anew")
        elif name in page.parameters[:index]:
            yield Problem(where, f"{found} again", "each name once")


def _cohort_problems(parts: _Parts) -> Iterator[Problem]:
    scripted = stand_ins.scripted_in(parts.personas.values())
    for index, plan in parts.cohorts.items():
        where = f"cohorts[{index}]"
        yield from _wrong_size(where, plan, parts)
        yield from _made_on_arrival(where, plan)
        for number, seat in enumerate(plan.seats):
            place = f"{where}.seats[{number}]"
            if seat.each_row:
                yield Problem(f"{place}.each_row", "true", "a table in `personas_from`, and no `persona` beside it")
            elif seat.open == (seat.persona is not None):
                found = "a persona and `open: true`" if seat.open else "neither a persona nor `open: true`"
                yield Problem(place, found, "one of the two: a persona plays the seat, or a person who joins")
            elif seat.persona is not None:
                yield from unknown_persona(f"{place}.persona", seat.persona, parts.known["personas"])
            for value, persona_id in seat.persona_for.items():
                yield from unknown_persona(f"{place}.persona_for.{value}", persona_id, parts.known["personas"])
        for number, persona_id in enumerate(plan.mediators):
            if persona_id in scripted:
                yield Problem(
                    f"{where}.mediators[{number}]", "a persona that acts by script", "one that a model speaks for"
                )
            yield from unknown_persona(f"{where}.mediators[{number}]", persona_id, parts.known["personas"])
        if plan.treatment is not None:
            yield from _unknown(f"{where}.treatment", plan.treatment, parts.known["treatments"], "treatment")
        yield from _settled_draws(f"{where}.draws", plan, parts)
    members = sum(plan.members for plan in parts.cohorts.values())
    if members > MAX_MEMBERS:
        yield Problem("cohorts", f"{members} participants and mediators", f"at most {MAX_MEMBERS}")


def _seats_given_again(parts: _Parts, value: Mapping[str, Json]) -> Iterator[Problem]:
    for index, rule in enumerate(_list(value.get("seat_again"))):
        if isinstance(rule, Mapping) and isinstance(rule.get("left_before"), str):
            where = f"seat_again[{index}].left_before"
            yield from _unknown(where, rule["left_before"], parts.known["stages"], "stage")


def _made_on_arrival(where: str, plan: CohortPlan) -> Iterator[Problem]:
    if plan.made == "on_arrival":
        if not any(seat.open for seat in plan.seats):
            yield Problem(f"{where}.made", "on_arrival", "a seat with `open: true`: people make the cohort by coming")
        if plan.groups_of is not None:
            yield Problem(f"{where}.groups_of", str(plan.groups_of), "nothing beside `made: on_arrival`")


def _wrong_size(where: str, plan: CohortPlan, parts: _Parts) -> Iterator[Problem]:
    """Stages for a number of players that the cohort does not have."""
    if any(seat.each_row for seat in plan.seats):
        return
    found = plan.participants
    if plan.groups_of is not None:
        if found % plan.groups_of:
            yield Problem(f"{where}.groups_of", str(plan.groups_of), f"a number that divides the {found} seats")
            return
        found = plan.groups_of
    for stage in parts.stages.values():
        least, most = parts_of(stage).players
        if found < least or (most is not None and found > most):
            wanted = str(least) if least == most else f"at least {least}" if most is None else f"{least} to {most}"
            yield Problem(f"{where}.seats", f"{found} participants", f"{wanted}, for the stage {stage.id!r}")


def _settled_draws(where: str, plan: CohortPlan, parts: _Parts) -> Iterator[Problem]:
    """Values that a cohort sets for a stage that is missing, or that does not draw them."""
    stages = {stage.id: stage for stage in parts.stages.values()}
    for stage_id, given in plan.draws.items():
        yield from _unknown(where, stage_id, parts.known["stages"], "stage")
        if (stage := stages.get(stage_id)) is None:
            continue
        draws = parts_of(stage).draws
        if draws is None:
            yield Problem(f"{where}.{stage_id}", "draws", f"nothing: a {stage.kind} draws nothing")
        else:
            for problem in draws.problems(given):
                yield replace(problem, where=f"{where}.{stage_id}.{problem.where}")


def _unknown(where: str, name: str, known: Collection[str], what: str) -> Iterator[Problem]:
    if name not in known:
        yield unknown(where, name, known, what)


def _stage_problems(parts: _Parts) -> Iterator[Problem]:
    places = sorted(parts.stages)
    for number, problem in sequences.problems([parts.stages[place] for place in places]):
        yield replace(problem, where=f"stages[{places[number]}].{problem.where}")
    scripted = stand_ins.scripted_in(parts.personas.values())
    for place, stage in parts.stages.items():
        for problem in stand_ins.problems(stage, parts.known["personas"], scripted):
            yield replace(problem, where=f"stages[{place}].{problem.where}")
        changed = [one.stages.get(stage.id, {}).get("when_gone") for one in parts.treatments.values()]
        if stage.stand_in is not None and "replace" not in (stage.when_gone, *changed):
            expected = "`when_gone: replace`, which it is for; or leave it out"
            yield Problem(f"stages[{place}].stand_in", repr(stage.stand_in), expected)


def _own_arm_problems(parts: _Parts, value: Mapping[str, Json]) -> Iterator[Problem]:
    """What is wrong with arms that participants have, or with those of seats in a file where cohorts have them."""
    allocation = value.get("allocation")
    if not isinstance(allocation, Mapping) or allocation.get("by") != "participant":
        yield from own_arms.named_by_cohort(parts.cohorts)
        return
    for index, plan in parts.cohorts.items():
        for number, seat in enumerate(plan.seats):
            if seat.treatment is not None:
                place = f"cohorts[{index}].seats[{number}].treatment"
                yield from _unknown(place, seat.treatment, parts.known["treatments"], "treatment")
    stages = {place: parts.stages[place] for place in sorted(parts.stages)}
    whole = own_arms.Allocating(stages, parts.personas, parts.cohorts, parts.treatments, _values(value))
    yield from own_arms.problems(whole)


def _persona_value_problems(parts: _Parts, value: Mapping[str, Json]) -> Iterator[Problem]:
    """Values of single agents where members are together, and seats that have none."""
    own = {one.id: one for one in assigning.by_persona(value)}
    stages = [parts.stages[place] for place in sorted(parts.stages)]
    written, used = _written(value), dict[str, str]()
    for place, stage in parts.stages.items():
        for where, name in texts.places(written[place], f"stages[{place}]"):
            if name not in own:
                continue
            used.setdefault(name, where)
            if (why := own_arms.why_shared(stage, stages)) is not None:
                expected = f"words that all read alike: {stage.id!r} is a stage {why}"
                yield Problem(where, f"`{{{{{name}}}}}`, which differs between agents", expected)
    for name, where in used.items():
        yield from _unreadable_values(parts, value, own[name])
        for index, plan in parts.cohorts.items():
            for number, seat in enumerate(plan.seats):
                if seat.open or (seat.persona is not None and seat.persona not in own[name].personas):
                    found = "a seat for people" if seat.open else repr(seat.persona)
                    expected = f"an agent with a value of {name!r}, which {where} names"
                    yield Problem(f"cohorts[{index}].seats[{number}]", found, expected)


def _written(value: Mapping[str, Json]) -> Sequence[Json]:
    """The stages as the file has them, by position."""
    stages = value.get("stages")
    return stages if isinstance(stages, list) else ()


def _unreadable_values(parts: _Parts, value: Mapping[str, Json], one: ByPersona) -> Iterator[Problem]:
    """Values with which a stage that names them cannot be read, such as an empty text of an option."""
    written, given = _written(value), _values(value)
    for place in parts.stages:
        if one.id not in {name for _, name in texts.places(written[place])}:
            continue
        tried: set[str] = set()
        for persona_id, cell in one.personas.items():
            if texts.as_text(cell) in tried or len(tried) > _MOST_TRIED:
                continue
            tried.add(texts.as_text(cell))
            try:
                read_stage(fill_stage(written[place], {**given, one.id: cell}))
            except ValidationError:
                found = f"{cell!r}, which {persona_id} has in {one.id!r}"
                yield Problem(f"stages[{place}]", found, f"a value that its texts with `{{{{{one.id}}}}}` can hold")
                return


def _meeting_problems(parts: _Parts, value: Mapping[str, Json]) -> Iterator[Problem]:
    """What is wrong with groups that are made of those who are there."""
    try:
        assigned = assigning.read(value.get("assigned"))
    except ValidationError:
        assigned = ()
    allocation = value.get("allocation")
    by_participant = isinstance(allocation, Mapping) and allocation.get("by") == "participant"
    yield from meetings.problems(
        meetings.Meeting(parts.stages, parts.cohorts, parts.treatments, assigned, by_participant)
    )


def _ways_of_members(parts: _Parts, value: Mapping[str, Json]) -> Iterator[Problem]:
    """What is wrong with rules over arms, with those that leave out stages, and with orders of blocks."""
    try:
        assigned = assigning.read(value.get("assigned"))
    except ValidationError:
        assigned = ()
    allocation = value.get("allocation")
    by_participant = isinstance(allocation, Mapping) and allocation.get("by") == "participant"
    arms = [parts.treatments[place] for place in sorted(parts.treatments)]
    yield from left_out.problems(parts.stages, arms, assigned, by_participant=by_participant)
    ordering = {index: one for index, one in enumerate(assigned) if isinstance(one, Permutation)}
    yield from block_orders.problems(ordering, parts.stages, arms)


def _values(value: Mapping[str, Json]) -> dict[str, Json]:
    """The variables that all arms have; those that are assigned have some text: of single personas the longest."""
    variables = value.get("variables")
    longest = {one.id: max(map(texts.as_text, one.personas.values()), key=len) for one in assigning.by_persona(value)}
    assigned = {**dict.fromkeys(assigning.names(value), ""), **longest}
    return {**(variables if isinstance(variables, Mapping) else {}), **assigned}


def _arm_problems(parts: _Parts, value: Mapping[str, Json]) -> Iterator[Problem]:
    values = _values(value)
    arms = Arms(parts.stages, parts.personas, parts.known)
    of_arms: dict[str, list[Problem]] = {}
    for index, treatment in parts.treatments.items():
        merged = texts.merged(values, treatment.variables)
        found = [*arms.problems(merged, treatment, index), *_unfilled(parts, value, merged)]
        of_arms[treatment.id] = found
    yield from _named(of_arms)
    if not parts.counts["treatments"]:
        yield from arms.problems(values, None, 0)
        yield from _unfilled(parts, value, values)


def _named(of_arms: Mapping[str, Sequence[Problem]]) -> Iterator[Problem]:
    """The problems of the arms; those of a stage that not all of them have say whose they are."""
    having: dict[tuple[str, str], list[str]] = {}
    for arm, found in of_arms.items():
        for place in dict.fromkeys((one.where, one.found) for one in found if one.where.startswith("stages[")):
            having.setdefault(place, []).append(arm)
    for problem in (one for found in of_arms.values() for one in found):
        arms = having.get((problem.where, problem.found), [])
        more = f" and {len(arms) - 1} more" if len(arms) > 1 else ""
        is_of_all = not arms or len(arms) == len(of_arms)
        named = problem.expected if is_of_all else f"{problem.expected} (in the arm {arms[0]!r}{more})"
        hint = problem.hint if is_of_all or not problem.hint else f"{problem.hint} (In the arm {arms[0]!r}{more}.)"
        yield replace(problem, expected=named, hint=hint)


def _unfilled(parts: _Parts, value: Mapping[str, Json], values: Mapping[str, Json]) -> Iterator[Problem]:
    """Unknown variables in the texts of invalid stages and personas."""
    for what, valid in (("stages", parts.stages), ("personas", parts.personas)):
        for index, part in enumerate(_list(value.get(what))):
            if index not in valid and isinstance(part, Mapping):
                texts_of = {name: field for name, field in part.items() if name != "model"}
                filled = filled_by_rows(part)
                yield from texts.problems(texts_of, values, f"{what}[{index}]", filled=filled)


def _once(found: Iterable[Problem]) -> list[Problem]:
    """Each problem once per place, though several arms have it."""
    return list({(problem.where, problem.found): problem for problem in found}.values())
