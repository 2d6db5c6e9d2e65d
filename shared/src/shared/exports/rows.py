"""From rows of the database to lines of a table. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from shared.contracts.experiment import Profile
from shared.experiment import Resolved
from shared.stage import PAGE, Member, StageView, Table
from shared.stages import kind_of

PARTICIPANT_COLUMNS: Final = (
    "participant_id",
    "path",
    "cohort_id",
    "cohort_path",
    "cohort",
    "treatment",
    "player",
    "persona",
    "name",
    "avatar",
    "pronouns",
    "is_test",
    "status",
    "status_reason",
    "stage",
    "created_at",
    "joined_at",
    "ended_at",
)
ANSWER_COLUMNS: Final = (
    "participant_id",
    "path",
    "cohort_id",
    "cohort_path",
    "cohort",
    "treatment",
    "player",
    "stage",
    "kind",
    "key",
    "field",
    "label",
    "type",
    "value",
    "revision",
    "completed_at",
    "written_at",
)
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
    "explanation",
    "elapsed_ms",
    "created_at",
)
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
    "started_at",
    "finished_at",
)


COHORT_STAGE_COLUMNS: Final = ("cohort_id", "cohort_path", "cohort", "treatment", "stage")


def answer_columns(arms: Mapping[str, Resolved], order: Sequence[str]) -> list[str]:
    """`<stage>.<column>` for every question of every arm, stages in the order of the file."""
    columns: dict[str, None] = {}
    for stage_id in order:
        for resolved in arms.values():
            if stage_id in resolved.stage_ids:
                stage = resolved.stage(stage_id)
                columns.update(dict.fromkeys(f"{stage_id}.{column.name}" for column in kind_of(stage).columns(stage)))
    return list(columns)


def participant(row: Mapping[str, Any], arms: Mapping[str, Resolved]) -> dict[str, Any]:
    """One line of the wide table."""
    resolved = arms[row["treatment"]]
    stages = row["stages"]
    line = {
        **{column: row[column] for column in PARTICIPANT_COLUMNS if column in row},
        "participant_id": row["member_id"],
        "persona": row["agent"]["persona_id"] if row["agent"] else None,
        "name": row["profile"].get("name"),
        "avatar": row["profile"].get("avatar"),
        "pronouns": row["profile"].get("pronouns"),
        "stage": stages[row["position"]] if row["position"] < len(stages) else None,
    }
    for stage_id, value in (row["pages"] or {}).items():
        stage = resolved.stage(stage_id)
        line.update({f"{stage_id}.{name}": cell for name, cell in kind_of(stage).cells(stage, value).items()})
    return line


def answer(row: Mapping[str, Any], arms: Mapping[str, Resolved]) -> Iterator[dict[str, Any]]:
    """The lines of the long table: one per field of a page; one for an entry, and for a page without fields."""
    stage = arms[row["treatment"]].stage(row["stage"])
    kind = kind_of(stage)
    common = {**row, "participant_id": row["member_id"], "kind": stage.kind}
    cells = kind.cells(stage, row["value"]) if row["key"] == PAGE else {}
    if not cells:
        yield {**common, "field": "", "label": "", "type": "json"}
    for column in kind.columns(stage):
        if column.name in cells:
            yield {
                **common,
                "field": column.name,
                "label": column.label,
                "type": column.type,
                "value": cells[column.name],
            }


def conversation(row: Mapping[str, Any], arms: Mapping[str, Resolved]) -> dict[str, Any]:
    """What the conversations of one treatment and stage came to, with the calls paid for each message of a model.

    Fixed opening lines are no messages of a model. Calls that only ask for readiness are not in the ratio.
    """
    stage = arms[row["treatment"]].stage(row["stage"])
    by_models = row["messages_of_agents"] - row["opening_lines"]
    calls = row["calls_speaking"] + row["calls_mediating"]
    return {
        **row,
        "turn_taking": kind_of(stage).turn_taking(stage),
        "calls_per_message": round(calls / by_models, 3) if by_models else None,
    }


def table_of(resolved: Resolved, stage_id: str) -> Table | None:
    """The table that the kind of this stage has of its own."""
    return kind_of(resolved.stage(stage_id)).table


def own_rows(row: Mapping[str, Any], arms: Mapping[str, Resolved]) -> Iterator[dict[str, Any]]:
    """The lines of a kind's own table for one stage in one cohort."""
    stage = arms[row["treatment"]].stage(row["stage"])
    kind = kind_of(stage)
    view = StageView(
        members=tuple(_member(fields) for fields in row["members"] or ()),
        draws=row["draws"],
        answers={(UUID(member_id), key): value for member_id, key, value in row["answers"] or ()},
        variables=arms[row["treatment"]].variables,
    )
    where = {column: row[column] for column in COHORT_STAGE_COLUMNS}
    for line in kind.table_rows(stage, replace(view, state=kind.public_state(stage, view))):
        yield {**where, **line}


def _member(fields: Mapping[str, Any]) -> Member:
    return Member(
        id=UUID(fields["id"]),
        path=fields["path"],
        kind=fields["kind"],
        player=fields["player"],
        profile=Profile.model_construct(**fields["profile"]),
        present=fields["present"],
        persona=fields["persona"] or "",
    )
