"""What the texts of an arm hold for one reader: own answers, results, assigned variables, and what is for a role."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.rules import Comparison
from parley_lab.design import Resolved
from parley_lab.design.conditions import key_of
from parley_lab.kinds import PAGE, Column, Json
from parley_lab.kinds.stages import parts_of
from parley_lab.store.session import ReadSession
from parley_lab.views.builder import Facts

_NAMES = text("SELECT id, path, profile ->> 'name' AS name FROM members WHERE id = ANY(CAST(:ids AS uuid[]))")


async def reader_values(
    session: ReadSession, resolved: Resolved, facts: Facts, reader: UUID, assigned: Mapping[str, Json]
) -> dict[str, Json]:
    """The values of this reader's placeholders: null where there is no answer, or the value is not known yet."""
    known = known_values(resolved, facts, reader, assigned)
    called = await _names(session, (value for column, value in known.values() if column == "member"))
    return {
        **assigned,
        **{name: called.get(value) if column == "member" else value for name, (column, value) in known.items()},
    }


async def read_by(session: ReadSession, resolved: Resolved, facts: Facts, reader: UUID) -> Resolved:
    """The arm as this reader has it by now; the facts have the values that were assigned to them."""
    values = await reader_values(session, resolved, facts, reader, facts.variables)
    return resolved.for_reader(values, reader_roles(resolved, facts, reader))


def reader_roles(resolved: Resolved, facts: Facts, reader: UUID) -> dict[str, frozenset[str]]:
    """The roles of this reader on each stage: those that earlier stages gave, the later of two that give the same."""
    held: frozenset[str] = frozenset()
    found = {}
    for stage in resolved.stages:
        found[stage.id] = held
        data = parts_of(stage).data
        page = facts.own(stage.id, reader).get(PAGE)
        if given := frozenset(data.roles()):
            mine = None if page is None else data.cells(page).get("role")
            held = (held - given) | (given & {mine})
    return found


def known_values(
    resolved: Resolved, facts: Facts, reader: UUID, assigned: Mapping[str, Json]
) -> dict[str, tuple[str, Json]]:
    """The type and the value of each column that texts name, and of what rules compare; that of a member is an id.

    The words of an option that was chosen are those that the reader read, with assigned values in them.
    """
    if assigned and resolved.names_of_readers:
        read = resolved.for_reader(assigned, reader_roles(resolved, facts, reader))
        facts = replace(facts, stages=read.by_id)
    compared = {key_of(one): ("rule", _compared(one, facts, reader)) for one in resolved.compared}
    return {**{name: _known(name, facts, reader) for name in resolved.names_of_readers}, **compared}


def _compared(one: Comparison, facts: Facts, reader: UUID) -> Json:
    """What a rule compares of an earlier stage: an answer of the page, or how many of its answers are right."""
    stage_id = one.stage if one.question is not None else one.score
    stage = None if stage_id is None else facts.stages.get(stage_id)
    page = {} if stage is None else facts.own(stage.id, reader).get(PAGE)
    if stage is None or not isinstance(page, Mapping):
        return None
    if one.question is not None:
        return page.get(one.question)
    return sum(line.is_correct is True for line in parts_of(stage).data.answered(PAGE, page))


def _known(name: str, facts: Facts, reader: UUID) -> tuple[str, Json]:
    scope, _, rest = name.partition(".")
    stage_id, _, wanted = rest.partition(".")
    stage = facts.stages.get(stage_id)
    if stage is None:
        return "text", None
    data = parts_of(stage).data
    page = facts.own(stage_id, reader).get(PAGE)
    if scope == "results":
        return _cell(data.group_columns(), data.group_cells(facts.results.get(stage_id, {})), wanted)
    return _cell(data.columns(), {} if page is None else data.cells(page), wanted)


def _cell(columns: Iterable[Column], cells: Mapping[str, Json], wanted: str) -> tuple[str, Json]:
    return next((one.type for one in columns if one.name == wanted), "text"), cells.get(wanted)


async def _names(session: ReadSession, ids: Iterable[Json]) -> dict[str, str]:
    """The names of members, by id."""
    wanted = sorted({one for one in ids if isinstance(one, str)})
    rows = await session.all(_NAMES, {"ids": wanted}) if wanted else []
    return {str(row.id): row.name or row.path for row in rows}
