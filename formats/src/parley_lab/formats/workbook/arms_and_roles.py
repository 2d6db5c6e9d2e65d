"""The sheets treatments and agent_roles: labels with descriptions."""

from collections.abc import Iterator
from typing import Final

from parley_lab.formats.workbook.design import FACILITATOR, Arm, Role
from parley_lab.formats.workbook.names import check_alike, check_typed
from parley_lab.formats.workbook.sheets import Record, Sheet, records
from parley_lab.formats.workbook.templates import Filling

TREATMENTS_HEADER: Final = ("treatment_label", "treatment_description")
ROLES_HEADER: Final = ("role_label", "role_description")
MAX_LABEL: Final = 100
"""In characters; a label names columns and speakers."""
MESSAGE_FIELDS: Final = (
    "speaker",
    "task_id",
    "var_name",
    "to",
    "agent_id",
    "value",
    "valid",
    "reasoning",
    "speculation_score",
    "attempts",
    "system",
)
"""The fields of a message in the nested form beside its text, whose key is the label of the speaker."""


def read_arms(sheet: Sheet | None, filling: Filling) -> tuple[Arm, ...]:
    """The treatments, in the order of the sheet."""
    arms = [Arm(label, description) for label, description in _read_labels(sheet, TREATMENTS_HEADER, filling)]
    if sheet is not None and not sheet.after(1):
        filling.complaints.cell(sheet.next_free, "there is no treatment", "at least one row", do="add a row")
    return tuple(arms)


def read_roles(sheet: Sheet | None, filling: Filling) -> tuple[Role, ...]:
    """The roles, in the order of the sheet; one of them is the facilitator."""
    roles = tuple(Role(label, description) for label, description in _read_labels(sheet, ROLES_HEADER, filling))
    if sheet is None:
        return roles
    labels = [role.label for role in roles]
    _check_fields(sheet, filling)
    if FACILITATOR not in labels:
        filling.complaints.at(
            sheet.next_free.where,
            f"the role {FACILITATOR} is missing",
            f"a row with the label {FACILITATOR}",
            found=", ".join(labels) or "no roles",
            do=f"add a row with the label {FACILITATOR}",
            hint="labels are case-sensitive",
        )
    if all(role.is_special for role in roles):
        filling.complaints.cell(
            sheet.next_free,
            "there is no role for the agents",
            "at least one role of your own",
            do="add a role of your own",
        )
    return roles


def _read_labels(sheet: Sheet | None, header: tuple[str, str], filling: Filling) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    found = records(sheet, header, filling.complaints)
    labels = [record.cell(header[0]) for record in found]
    check_typed(labels, "label", filling.complaints)
    check_alike(labels, "label", filling.complaints)
    for record in found:
        label = _label(record, header[0], filling)
        description = _description(record, header[1], filling)
        where = record.cell(header[0]).where
        if not label:
            continue
        if label in seen:
            filling.complaints.cell(
                record.cell(header[0]),
                f"the label is repeated from {seen[label]}",
                "every label once",
                do="give each row a label of its own",
            )
            continue
        seen[label] = where
        yield label, description


def _check_fields(sheet: Sheet, filling: Filling) -> None:
    for row in sheet.after(1):
        if filling.text(row.cell(1)).strip() in MESSAGE_FIELDS:
            filling.complaints.cell(row.cell(1), "messages in the data have a field of this name", "another label")


def _label(record: Record, column: str, filling: Filling) -> str:
    cell = record.cell(column)
    label = filling.text(cell).strip()
    if cell.is_blank or (not label and not cell.flaw):
        filling.complaints.cell(cell, "the label is missing", "a short label of its own")
    elif len(label) > MAX_LABEL or "\n" in label:
        filling.complaints.cell(cell, "the label is too long", f"one line of at most {MAX_LABEL} characters")
    return label


def _description(record: Record, column: str, filling: Filling) -> str:
    cell = record.cell(column)
    if cell.is_blank:
        filling.complaints.cell(cell, "the description is missing", "the text that is shown to the model")
    return filling.text(cell)
