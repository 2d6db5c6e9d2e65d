"""From rows of the database to lines of a table. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from shared.experiment import Resolved
from shared.stage import PAGE, Json, Table
from shared.stages import kind_of
from shared.views import Facts, People, attendee, lab_view, stated

PARTICIPANT_COLUMNS: Final = (
    "participant_id",
    "path",
    "cohort_id",
    "cohort_path",
    "cohort",
    "treatment",
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
    "arm_block",
    "arm_probability",
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


def attribute_columns(arms: Mapping[str, Resolved]) -> list[str]:
    """`attribute.<name>` for every attribute of every persona that is there, in the order of the personas."""
    personas = [persona for resolved in arms.values() for persona in resolved.personas.values()]
    return list(dict.fromkeys(f"attribute.{name}" for persona in personas for name in persona.attributes))


def levels(arms: Mapping[str, Resolved]) -> dict[str, dict[str, str]]:
    """`factor.<name>` and the level of that factor, for every arm that has levels of factors."""
    return {
        arm: {f"factor.{factor}": level for factor, level in resolved.levels.items()}
        for arm, resolved in arms.items()
        if resolved.levels
    }


def participant(row: Mapping[str, Any], arms: Mapping[str, Resolved]) -> dict[str, Any]:
    """One line of the wide table."""
    resolved = arms[row["treatment"]]
    stages = row["stages"]
    joining = row["joining"] or {}
    line = {
        **{column: row[column] for column in PARTICIPANT_COLUMNS if column in row},
        "participant_id": row["member_id"],
        "persona": row["agent"]["persona_id"] if row["agent"] else None,
        "name": row["profile"].get("name"),
        "avatar": row["profile"].get("avatar"),
        "pronouns": row["profile"].get("pronouns"),
        "joining": joining.get("rule"),
        "arm_draw": joining.get("draw"),
        "arm_block": joining.get("block"),
        "arm_probability": joining.get("probability"),
        "stage": stages[row["position"]] if row["position"] < len(stages) else None,
        **{f"attribute.{name}": value for name, value in (row["agent"] or {}).get("attributes", {}).items()},
    }
    for stage_id, value in (row["pages"] or {}).items():
        stage = resolved.stage(stage_id)
        line.update({f"{stage_id}.{name}": cell for name, cell in kind_of(stage).cells(stage, value).items()})
    return line


def answer(row: Mapping[str, Any], arms: Mapping[str, Resolved]) -> Iterator[dict[str, Any]]:
    """The lines of the long table: one for each question of a page; one for any other entry, and for an empty page.

    A question that was asked by itself has the line of its entry only as long as no page is made of the entries. The
    status is `valid`, or `invalid` where no usable reply came; then the reason says what was expected.
    """
    stage = arms[row["treatment"]].stage(row["stage"])
    common = {**row, "participant_id": row["member_id"], "kind": stage.kind}
    attempts: Mapping[str, int] = row["attempts"] or {}
    missing: Mapping[str, str] = row["invalid"] or {}
    questions = kind_of(stage).answered(stage, row["key"], row["value"])
    if not questions:
        line = {**common, "field": "", "label": "", "type": "json", "attempts": attempts.get(row["key"])}
        yield {**line, **_validity("; ".join(missing.values()))}
    elif row["key"] == PAGE or not row["has_page"]:
        for one in questions:
            yield {
                **common,
                "field": one.field,
                "label": one.label,
                "type": one.type,
                "value": one.value,
                "text": one.text,
                "correct": one.is_correct,
                "attempts": attempts.get(one.asked_as, attempts.get(PAGE)),
                **_validity(missing.get(one.field, ""), is_valid=one.is_valid),
            }


def _validity(reason: str, *, is_valid: bool = True) -> dict[str, str]:
    return {"status": "valid" if is_valid and not reason else "invalid", "reason": reason}


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
    answers: dict[UUID, dict[str, Json]] = {}
    for member_id, key, value in row["answers"] or ():
        answers.setdefault(UUID(member_id), {})[key] = value
    facts = Facts(
        people=People(tuple(map(attendee, row["members"] or ()))),
        draws={stage.id: row["draws"]},
        states={stage.id: row["state"] or {}},
        answers={stage.id: answers},
        variables=arms[row["treatment"]].variables,
        whole=(stage.id,),
    )
    view = lab_view(facts, stage)
    if row["state"] is None:
        view = stated(stage, view)
    where = {column: row[column] for column in COHORT_STAGE_COLUMNS}
    for line in kind_of(stage).table_rows(stage, view):
        yield {**where, **line}
