"""Converts rows of the database to lines of tables. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from parley_lab.contracts.experiment import StageConfig
from parley_lab.design import Resolved
from parley_lab.design.own_arms import why_shared
from parley_lab.formats.exports.readers import ReadFor
from parley_lab.kinds import PAGE, Data, Json, Table
from parley_lab.kinds.attendees import attendee
from parley_lab.kinds.data import COLUMNS_OF_ROWS, Answered, RowAsked
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.questions.asked_of_rows import AskedOfRows
from parley_lab.kinds.questions.own_order import without_order
from parley_lab.kinds.questions.rows import Rows
from parley_lab.kinds.stages import parts_of
from parley_lab.views.builder import Facts, People, lab_view
from parley_lab.views.playing import play_on

PARTICIPANT_COLUMNS: Final = (
    "participant_id",
    "path",
    "cohort_id",
    "cohort_path",
    "cohort",
    "treatment",
    "assigned_arm",
    "player",
    "persona",
    "endpoint",
    "model",
    "name",
    "avatar",
    "pronouns",
    "is_test",
    "joining",
    "arm_draw",
    "arm_drawn_for",
    "arm_block",
    "arm_probability",
    "added_by",
    "status",
    "status_reason",
    "stage",
    "created_at",
    "joined_at",
    "ended_at",
    "analysed",
    "excluded_because",
)
MEMBER_COLUMNS: Final = (
    "member_id",
    "path",
    "role",
    "player",
    "persona",
    "cohort_id",
    "cohort_path",
    "cohort",
    "treatment",
    "name",
)
"""Whom `path`, `author_path` and the like of the other tables name, mediators included."""
ANSWER_COLUMNS: Final = (
    "participant_id",
    "path",
    "cohort_id",
    "cohort_path",
    "cohort",
    "treatment",
    "player",
    "endpoint",
    "model",
    "stage",
    "kind",
    "key",
    "field",
    "label",
    "type",
    "value",
    "text",
    "correct",
    "status",
    "reason",
    "attempts",
    "revision",
    "completed_at",
    "written_at",
)
PROCESS_COLUMNS: Final = ("pasted_characters", "keys", "out_of_focus", "seconds")
"""How an answer came about, where the experiment records it."""
ROW_COLUMNS: Final = ("row", "question", "place")
"""The row of a table that a question was about, and the question of the file, where stages ask about rows."""
VARIABLE_COLUMNS: Final = ("cohort_path", "cohort", "treatment", "member_path", "scope", "name", "value", "draw")
MESSAGE_COLUMNS: Final = (
    "message_id",
    "thread_id",
    "thread_path",
    "cohort_path",
    "cohort",
    "treatment",
    "stage",
    "seq",
    "author_id",
    "author_path",
    "author_kind",
    "author_role",
    "author_name",
    "text",
    "topic",
    "reply_to_id",
    "reply_to_seq",
    "reply_to_author_path",
    "reply_to_text",
    "reactions",
    "trigger_id",
    "trigger_seq",
    "explanation",
    "endpoint",
    "model",
    "elapsed_ms",
    "created_at",
)
PAYMENT_COLUMNS: Final = ("external_id", "code", "outcome", "currency", "amount", "parts")
MODEL_CALL_COLUMNS: Final = (
    "call_id",
    "draft_id",
    "path",
    "cohort_path",
    "member_path",
    "stage",
    "purpose",
    "part",
    "attempt",
    "provider",
    "endpoint",
    "model",
    "model_asked",
    "model_returned",
    "status",
    "error",
    "tokens_in",
    "tokens_out",
    "cost",
    "settings",
    "prompt_hash",
    "prompt",
    "raw",
    "parsed",
    "read_as",
    "details",
    "started_at",
    "finished_at",
)


def payment_columns(document: Mapping[str, Any]) -> list[str]:
    """The columns of payments, with one for each parameter of the link that the file keeps, after the external id."""
    external_id, *others = PAYMENT_COLUMNS
    return [external_id, *(f"parameter.{name}" for name in document.get("join", {}).get("parameters", ())), *others]


def payment(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of payments."""
    return {**row, **{f"parameter.{name}": value for name, value in (row["parameters"] or {}).items()}}


def answer_columns(arms: Mapping[str, Resolved], order: Sequence[str]) -> list[str]:
    """`<stage>.<column>` for every question and result of every arm, stages in the order of the file."""
    columns: dict[str, None] = {}
    for stage_id in order:
        for resolved in arms.values():
            if stage_id in resolved.stage_ids:
                data = parts_of(resolved.stage(stage_id)).data
                names = [column.name for column in (*data.columns(), *data.group_columns())]
                columns.update(dict.fromkeys(f"{stage_id}.{name}" for name in names))
    return list(columns)


def row_columns(arms: Mapping[str, Resolved]) -> list[str]:
    """The columns of the long table about the rows of stages, with one for each name of levels; none without rows."""
    asked = [rows for _, rows in _rows_of(arms)]
    levels = (f"level.{name}" for rows in asked for name in rows.levels)
    return [*ROW_COLUMNS, *dict.fromkeys(levels)] if asked else []


def rows_of_stages(arms: Mapping[str, Resolved]) -> tuple[list[str], list[dict[str, Json]]]:
    """The rows that stages ask about: the columns of a table and its lines, one for each row as arms have it."""
    columns, lines = dict.fromkeys(("stage", *ROW_COLUMNS[:1])), list[dict[str, Json]]()
    for stage_id, rows in _rows_of(arms):
        if rows.attributes:
            # Each participant has rows of their own, which are in a table of the kind.
            continue
        columns.update(dict.fromkeys(name for name in rows.columns if name not in ("id", *columns)))
        for row_id, item in zip(rows.ids, rows.items, strict=True):
            own = {name: cell for name, cell in item.items() if name != "id"}
            lines.append({**own, "stage": stage_id, "row": row_id})
    once = {tuple(line.items()): line for line in lines}
    return list(columns), list(once.values())


def _rows_of(arms: Mapping[str, Resolved]) -> Iterator[tuple[str, Rows]]:
    """The rows of each stage that has some, as arms have them: each once."""
    found: dict[str, list[Rows]] = {}
    for resolved in arms.values():
        for stage in resolved.stages:
            rows = stage.rows if isinstance(stage, AskedOfRows) else None
            if rows is not None and rows not in found.setdefault(stage.id, []):
                found[stage.id].append(rows)
                yield stage.id, rows


def attribute_columns(arms: Mapping[str, Resolved]) -> list[str]:
    """`attribute.<name>` for every attribute of any persona, in the order of the personas."""
    personas = [persona for resolved in arms.values() for persona in resolved.personas.values()]
    return list(dict.fromkeys(f"attribute.{name}" for persona in personas for name in persona.attributes))


def participant(row: Mapping[str, Any], arms: Mapping[str, Resolved], read_for: ReadFor) -> dict[str, Any]:
    """One line of the wide table."""
    resolved = arms[row["treatment"]]
    stages = row["stages"]
    joining, drawn = row["joining"] or {}, row["drawn"] or {}
    line = {
        **{column: row[column] for column in PARTICIPANT_COLUMNS if column in row},
        "participant_id": row["member_id"],
        "persona": row["agent"]["persona_id"] if row["agent"] else None,
        "name": row["profile"].get("name"),
        "avatar": row["profile"].get("avatar"),
        "pronouns": row["profile"].get("pronouns"),
        "joining": joining.get("rule"),
        "arm_draw": drawn.get("draw"),
        "arm_block": drawn.get("block"),
        "arm_probability": drawn.get("probability"),
        "stage": stages[row["position"]] if row["position"] < len(stages) else None,
        "excluded_because": (why := excluded_because(row)),
        "analysed": why is None,
        **{f"attribute.{name}": value for name, value in (row["agent"] or {}).get("attributes", {}).items()},
    }
    # Of who has moved some pages stay in the cohort where they were answered, which may have had another arm.
    given_in = row["arms_of_pages"] or {}
    for stage_id, value in (row["pages"] or {}).items():
        stage = read_for(row, given_in.get(stage_id, row["treatment"])).stage(stage_id)
        line.update({f"{stage_id}.{name}": cell for name, cell in parts_of(stage).data.cells(value).items()})
    for stage_id, value in (row["results"] or {}).items():
        cells = parts_of(resolved.stage(stage_id)).data.group_cells(value)
        line.update({f"{stage_id}.{name}": cell for name, cell in cells.items() if stage_id in stages})
    return line


_LEFT_OUT: Final = ("declined", "screened_out", "removed", "attention_failed", "dropped_out")


def excluded_because(row: Mapping[str, Any]) -> str | None:
    """Why a participant does not count in an analysis, the first reason that holds; None: they do."""
    if row["is_test"]:
        return "test"
    if row["player"] in ("person", "rehearsed") and row["joined_at"] is None:
        return "nobody_came"
    if row["status"] in _LEFT_OUT:
        return str(row["status"])
    is_played_on = row["player"] not in ("person", "rehearsed") and row["joined_at"] is not None
    return "played_on_by_an_agent" if is_played_on else None


def member(row: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the members."""
    persona = (row["agent"] or {}).get("persona_id")
    return {**row, "role": row["kind"], "persona": persona, "name": row["profile"].get("name")}


def answer(row: Mapping[str, Any], read_for: ReadFor) -> Iterator[dict[str, Any]]:
    """The lines of the long table: one for each question of a page, one for any other entry, one for an empty page.

    The entry of a single question has its line only until a page is made of the entries. The status is `valid`, or
    `invalid` where no usable reply came; then the reason says what was expected. What was not sent is `timed_out`,
    `not_sent`, or `default`.
    """
    stage = read_for(row, row["treatment"]).stage(row["stage"])
    common = {**row, "participant_id": row["member_id"], "kind": stage.kind}
    attempts: Mapping[str, int] = row["attempts"] or {}
    missing: Mapping[str, str] = row["invalid"] or {}
    failed: Mapping[str, str] = row["reasons"] or {}
    marks: Mapping[str, str] = row["marks"] or {}
    process: Mapping[str, Mapping[str, float]] = row["process"] or {}
    questions = parts_of(stage).data.answered(row["key"], row["value"])
    result = {"status": "result"} if row["key"] == PAGE and _is_made_by_lab(stage) else {}
    if not questions:
        line = {**common, "label": "", "attempts": attempts.get(row["key"])}
        said = {**process.get("", {}), **_validity("; ".join(missing.values())), **result, **_mark(marks.get(""))}
        for field, value in flat("", without_order(row["value"])):
            yield {**line, "field": field, "type": type_of(value), "value": value, **said}
    elif row["key"] == PAGE or not row["has_page"]:
        for one in questions:
            line = {
                **common,
                **_row(one.row),
                **_process_of(one.field, process),
                "label": one.label,
                "text": one.text,
                "correct": one.is_correct,
                "attempts": attempts.get(one.asked_as, attempts.get(PAGE)),
                **_validity(missing.get(one.field, "" if one.is_valid else failed.get(one.asked_as, "")), one.is_valid),
                **result,
                **_mark(marks.get(one.field, marks.get(""))),
            }
            if not isinstance(one.value, Mapping | list):
                yield {**line, "field": one.field, "type": one.type, "value": one.value}
                continue
            for field, value in _parts(stage, one, row["value"] if row["key"] == PAGE else None):
                yield {**line, "field": field, "type": type_of(value), "value": value}


def _row(row: RowAsked | None) -> dict[str, Json]:
    levels = {} if row is None else {f"level.{name}": level for name, level in row.levels.items()}
    return {} if row is None else {"row": row.id, "question": row.question, "place": row.place, **levels}


def _process_of(field: str, process: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
    """How the answer to a question came about: it may be told of the question, of what it is a part of, or of all."""
    whole = process.get("", {}) if len(process) == 1 else {}
    return process.get(field, process.get(field.partition(".")[0], whole))


def _is_made_by_lab(stage: StageConfig) -> bool:
    """Whether the page of the stage is what the lab makes of answers, such as points, and no answer itself."""
    parts = parts_of(stage)
    is_of_columns = type(parts.data).answered is Data.answered
    return is_of_columns and (parts.questions is None or plays_together(parts))


def _parts(stage: StageConfig, one: Answered, page: Json) -> Iterator[tuple[str, Json]]:
    """The parts of an answer: by the columns that it has in the wide table, else by its own names."""
    cells = parts_of(stage).data.cells(page) if isinstance(page, Mapping) else {}
    own = [(name, cell) for name, cell in cells.items() if name.startswith(f"{one.field}.") and isinstance(cell, bool)]
    yield from own or flat(one.field, one.value)


def flat(field: str, value: Json) -> Iterator[tuple[str, Json]]:
    """The value in cells without JSON: `field`, or `field.name` and `field.1` for the parts of an object or a list."""
    if isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value, start=1)
        parts = [part for name, one in items for part in flat(f"{field}.{name}".lstrip("."), one)]
        yield from parts or [(field, None)]
    else:
        yield field, value


def type_of(value: Json) -> str:
    """The type of a cell, as `type` says it."""
    if isinstance(value, bool):
        return "boolean"
    return "integer" if isinstance(value, int) else "number" if isinstance(value, float) else "text"


def _validity(reason: str, is_valid: bool = True) -> dict[str, str]:
    return {"status": "valid" if is_valid and not reason else "invalid", "reason": reason}


def _mark(mark: str | None) -> dict[str, str]:
    """The status of an answer that was not sent."""
    return {} if mark is None else {"status": mark}


def conversation(row: Mapping[str, Any], arms: Mapping[str, Resolved]) -> dict[str, Any]:
    """The figures of the conversations in one treatment and stage, with the calls paid for each message of a model.

    Fixed opening lines do not count as messages of a model. The ratio leaves out calls that only ask for readiness.
    """
    stage = arms[row["treatment"]].stage(row["stage"])
    talk = parts_of(stage).talk
    by_models = row["messages_of_agents"] - row["opening_lines"]
    calls = row["calls_speaking"] + row["calls_mediating"]
    return {
        **row,
        "turn_taking": None if talk is None else talk.rules.turn_taking,
        "calls_per_message": round(calls / by_models, 3) if by_models else None,
    }


def table_of(resolved: Resolved, stage_id: str) -> Table | None:
    """The table that the kind of this stage adds."""
    return parts_of(resolved.stage(stage_id)).data.table


def read_by_stage(arms: Mapping[str, Resolved]) -> dict[str, dict[str, list[str]]]:
    """The stages that each stage reads, by arm."""
    return {
        arm: {stage.id: [read.stage for read in reads] for stage in resolved.stages if (reads := parts_of(stage).reads)}
        for arm, resolved in arms.items()
    }


def own_rows(row: Mapping[str, Any], arms: Mapping[str, Resolved]) -> Iterator[dict[str, Any]]:
    """The lines of a kind's own table for one stage in one cohort, each in the arm of the participant whose it is.

    A line that is made of an answer has the cohort and the arm in which that was given, also after a move.
    """
    elsewhere = {(path, key): where for path, key, where in row["given_elsewhere"] or ()}
    table = table_of(arms[row["treatment"]], row["stage"]) if elsewhere else None
    for line in _rows_by_arm(row, arms):
        key = PAGE if table is None or table.answer_key is None else table.answer_key(line)
        yield line if table is None else {**line, **elsewhere.get((line.get(table.owner), key), {})}


def _rows_by_arm(row: Mapping[str, Any], arms: Mapping[str, Resolved]) -> Iterator[dict[str, Any]]:
    """Where members are together, the stage is the cohort's; else each arm has lines of its own."""
    own = {one["path"]: one["treatment"] for one in row["members"] or () if one["treatment"] is not None}
    cohorts = arms[row["treatment"]]
    if not own or why_shared(cohorts.stage(row["stage"]), cohorts.stages) is not None:
        yield from _rows_in_arm(row, cohorts, own)
        return
    for arm in dict.fromkeys((row["treatment"], *own.values())):
        if row["stage"] in arms[arm].stage_ids:
            yield from (one for one in _rows_in_arm(row, arms[arm], own) if one["treatment"] == arm)


def _rows_in_arm(row: Mapping[str, Any], arm: Resolved, own: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The lines as the stage of one arm makes them, each marked with the arms of its participants.

    own: the arms of participants who have one of their own, by path.
    """
    stage = arm.stage(row["stage"])
    answers: dict[UUID, dict[str, Json]] = {}
    for member_id, key, value in row["answers"] or ():
        answers.setdefault(UUID(member_id), {})[key] = value
    read: dict[str, dict[UUID, dict[str, Json]]] = {}
    for member_id, stage_id, value in row["read"] or ():
        read.setdefault(stage_id, {})[UUID(member_id)] = {PAGE: value}
    facts = Facts(
        people=People(tuple(map(attendee, row["members"] or ()))),
        draws={stage.id: row["draws"]},
        states={stage.id: row["state"] or {}},
        answers={**read, stage.id: answers},
        results=row["results"] or {},
        stages=arm.by_id,
        variables=arm.variables,
        whole=(stage.id,),
    )
    # A cohort without members was not settled again.
    view = play_on(facts, stage).view if row["state"] is None else lab_view(facts, stage)
    where = {column: row[column] for column in COLUMNS_OF_ROWS}
    table = parts_of(stage).data.table
    met = row["met_before"] or {}
    if table is None:
        return
    for line in table.rows(view):
        yield {**where, **dict(_named(line, met)), **dict(_arms_of(line, table, own, row["treatment"]))}


def _arms_of(
    line: Mapping[str, Json], table: Table, own: Mapping[str, str], of_cohort: str
) -> Iterator[tuple[str, str]]:
    for path, column in ((table.owner, "treatment"), *table.owners):
        yield column, own.get(line.get(path, ""), of_cohort)


def _named(line: Mapping[str, Json], met: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, Json]]:
    """The cells with path and name of members of an earlier cohort, about whom one who has moved has answered.

    met: path and name of each, by id. The name is in the column that is called after that of the member.
    """
    for column, cell in line.items():
        owner = line.get(column.removesuffix("_name"))
        known = met.get(owner) if isinstance(owner, str) else None
        if known is None:
            yield column, cell
        else:
            path, name = known
            yield column, path if owner == cell else name
