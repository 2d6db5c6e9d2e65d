"""The sheet interview_prompts: what is asked of which roles, in which order, and which answers are valid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, get_args

from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.design import Question, Role, TaskType, WorkbookTask
from parley_lab.formats.workbook.draws import Draws
from parley_lab.formats.workbook.literals import NotLiteral, read_literal
from parley_lab.formats.workbook.names import check_alike, check_typed
from parley_lab.formats.workbook.options import read_options
from parley_lab.formats.workbook.sheets import Record, Sheet, records
from parley_lab.formats.workbook.templates import Filling
from parley_lab.formats.workbook.values import flag, whole_number, word
from parley_lab.kinds.stages.group_interview.options import ListOptions, Options, TextOptions, with_options
from parley_lab.kinds.stages.group_interview.replies import VariableType, match

HEADER: Final = (
    "task_id",
    "type",
    "task_order",
    "is_adapted",
    "human_text",
    "llm_text",
    "var_name",
    "var_type",
    "response_options",
    "randomize_response_order",
    "validate_response",
    "generate_speculation_score",
    "format_response",
)
RESERVED_COLUMNS: Final = (
    "ID",
    "experiment_id",
    "session_id",
    "model_info",
    "temperature",
    "role",
    "treatment",
    "treatment_label",
    "experiment_context",
    "system_message",
    "model_mode",
    "endpoint",
    "model",
    "played_by",
)
"""Names that the table of results uses itself."""
CONSTANT_PREFIX: Final = "constant."
"""The prefix of its columns for constants."""
PARTS: Final = (".response", ".valid", ".reasoning", ".speculation_score")
_ASKING: Final = ("public_question", "private_question")


def read_tasks(sheet: Sheet | None, roles: Sequence[Role], filling: Filling, draws: Draws) -> tuple[WorkbookTask, ...]:
    """The tasks in the order of the sheet; the first one is the context."""
    found = records(sheet, HEADER, filling.complaints)
    if sheet is not None and not sheet.after(1):
        filling.complaints.cell(
            sheet.next_free, "there is no task", "at least one row, of type context", do="add a row of type context"
        )
    tasks = [_task(record, roles, filling, draws) for record in found]
    if found and tasks[0].type != "context":
        cell = found[0].cell("type")
        filling.complaints.cell(cell, "the first task is not the context", "context, in the first row")
    for column, what in (("task_id", "id of the task"), ("var_name", "name of the variable")):
        cells = [record.cell(column) for record in found]
        check_typed(cells, what, filling.complaints)
        check_alike(cells, what, filling.complaints, may_repeat=column == "var_name")
    _check_ids(found, tasks, filling.complaints)
    _check_columns(found, tasks, filling.complaints)
    return tuple(tasks)


def _check_ids(found: Sequence[Record], tasks: Sequence[WorkbookTask], complaints: Complaints) -> None:
    seen: dict[str, str] = {}
    for record, task in zip(found, tasks, strict=True):
        cell = record.cell("task_id")
        if not task.task_id:
            complaints.cell(cell, "the task has no id", "an id of its own for every task")
        elif task.task_id in seen:
            complaints.cell(cell, f"the id is repeated from {seen[task.task_id]}", "an id of its own for every task")
        seen.setdefault(task.task_id, cell.where)


def _check_columns(found: Sequence[Record], tasks: Sequence[WorkbookTask], complaints: Complaints) -> None:
    """Complains about names that would be used for two columns of the results."""
    seen: dict[str, str] = {}
    for record, task in zip(found, tasks, strict=True):
        cell = record.cell("var_name")
        name = task.var_name
        if not name:
            continue
        taken = next((seen[one] for one in (name, *(name + part for part in PARTS)) if one in seen), None)
        if name in RESERVED_COLUMNS or name.startswith(CONSTANT_PREFIX):
            complaints.cell(cell, f"the results have a column {name} anyway", "another name", found=repr(name))
        elif taken is not None:
            wrong = f"the variable of the task {task.task_id} is repeated from {taken}"
            complaints.cell(cell, wrong, "a name of its own", found=repr(name))
        for one in (name, *(name + part for part in PARTS)):
            seen.setdefault(one, cell.where)


def _task(record: Record, roles: Sequence[Role], filling: Filling, draws: Draws) -> WorkbookTask:
    complaints = filling.complaints
    kind: TaskType = word(record.cell("type"), "the type", get_args(TaskType), complaints) or "context"
    task_id = filling.text(record.cell("task_id")).strip()
    text_cell = record.cell("llm_text")
    text = filling.text(text_cell)
    if text_cell.is_blank or (not text.strip() and not text_cell.flaw):
        complaints.cell(text_cell, "the text is missing", "the text that is shown to the model")
    asks = kind in _ASKING or (kind == "discussion" and _decides_who_talks(record, text, filling.complaints, draws))
    talk = _Talk(text) if asks else _talk(record, text, roles, filling, is_talked_about=kind == "discussion")
    var_type = _variable_type(record, complaints)
    validate = flag(record.cell("validate_response"), "validate_response", complaints)
    questions = _questions(record, text, None if kind == "discussion" else var_type, roles, filling) if asks else ()
    if validate and kind in _ASKING:
        _check_checked(record, questions, var_type, complaints)
    order = whole_number(record.cell("task_order"), "the order", complaints, least=-(2**31), most=2**31)
    return WorkbookTask(
        task_id=task_id,
        type=kind,
        order=order or 0,
        text=talk.text,
        options=talk.options,
        role_options=talk.role_options,
        questions=questions,
        var_name=filling.text(record.cell("var_name")).strip() or task_id,
        var_type=var_type,
        randomize_options=flag(record.cell("randomize_response_order"), "randomize_response_order", complaints),
        validate=validate,
        wants_score=flag(record.cell("generate_speculation_score"), "generate_speculation_score", complaints),
        as_json=flag(record.cell("format_response"), "format_response", complaints),
        is_adapted=flag(record.cell("is_adapted"), "is_adapted", complaints),
        human_text=record.cell("human_text").text,
    )


def _check_checked(
    record: Record, questions: Sequence[Question], var_type: VariableType | None, complaints: Complaints
) -> None:
    """Complains about replies that are to be checked against nothing, so that every reply would be valid."""
    options = record.cell("response_options")
    if var_type in ("integer", "float") or not all(isinstance(one.options, TextOptions | None) for one in questions):
        return
    cell, type_cell = record.cell("validate_response"), record.cell("var_type")
    wrong = "replies are to be checked, and every reply would be valid"
    expected = f"a list or a range in {options.where}, or integer or float in {type_cell.where}; or 0 here"
    if options.is_blank:
        complaints.cell(cell, wrong, expected)
    elif questions and any(one.options for one in questions):
        complaints.warn(cell, wrong, expected)


def _decides_who_talks(record: Record, text: str, complaints: Complaints, draws: Draws) -> bool:
    """Whether the text of a discussion names its participants by role; the reference treats it as any text."""
    try:
        is_by_role = isinstance(read_literal(text), dict) if text.lstrip().startswith("{") else False
    except NotLiteral:
        is_by_role = True
    if is_by_role and draws == "reference":
        wrong = "the texts by role are read out to all unchanged, as the reference does"
        expected = (
            "one text for all; with --draws parley a text for each role decides who takes part, and in which order"
        )
        complaints.warn(record.cell("llm_text"), wrong, expected)
        return False
    return is_by_role


@dataclass(frozen=True, slots=True)
class _Talk:
    """What is said to all: options in a drawn order that all hear, and options of single roles."""

    text: str
    options: Options | None = None
    role_options: Mapping[str, Options] = field(default_factory=dict)


def _talk(record: Record, text: str, roles: Sequence[Role], filling: Filling, *, is_talked_about: bool) -> _Talk:
    """A task without questions to roles; its options matter in a discussion of all."""
    cell = record.cell("response_options")
    labels = [role.label for role in roles]
    options, is_by_role = read_options(cell, filling.text(cell), labels, labels, filling.complaints)
    if not is_talked_about:
        return _Talk(text)
    if is_by_role:
        return _Talk(with_options(text, None), role_options=options)
    of_all = next(iter(options.values()), None)
    if isinstance(of_all, ListOptions) and flag(
        record.cell("randomize_response_order"), "randomize_response_order", filling.complaints
    ):
        return _Talk(text, options=of_all)
    return _Talk(with_options(text, of_all))


def _variable_type(record: Record, complaints: Complaints) -> VariableType | None:
    cell = record.cell("var_type")
    return None if cell.is_blank else word(cell, "the type of the variable", get_args(VariableType), complaints)


def _questions(
    record: Record, text: str, var_type: VariableType | None, roles: Sequence[Role], filling: Filling
) -> tuple[Question, ...]:
    """The questions by role, in speaking order; a text that is no dict goes to every role but the special ones."""
    user_roles = [role.label for role in roles if not role.is_special]
    labels = [role.label for role in roles]
    texts = _texts(record, text, labels, user_roles, filling.complaints)
    cell = record.cell("response_options")
    options, is_by_role = read_options(cell, filling.text(cell), labels, user_roles, filling.complaints)
    if is_by_role:
        for role in texts:
            if role not in options and role in user_roles:
                wrong = f"the role {role} is asked and has no options"
                filling.complaints.cell(cell, wrong, "options for every role that is asked")
    for role in dict.fromkeys(texts):
        _check_type(record, options.get(role), var_type, filling.complaints)
    return tuple(Question(role, asked, options.get(role)) for role, asked in texts.items())


def _texts(
    record: Record, text: str, labels: Sequence[str], user_roles: Sequence[str], complaints: Complaints
) -> Mapping[str, str]:
    cell = record.cell("llm_text")
    expected = "a text for all roles, or a dict with a text for each role that is asked"
    try:
        value = read_literal(text) if text.lstrip().startswith("{") else text
    except NotLiteral as error:
        complaints.cell(cell, str(error), expected, hint="mind the quotes inside the texts")
        return {}
    if not isinstance(value, dict):
        if not isinstance(value, str):
            complaints.cell(cell, "the texts have no roles", expected)
            return {}
        return dict.fromkeys(user_roles, text)
    found: dict[str, str] = {}
    if not value:
        complaints.cell(cell, "no role is asked", expected)
    for role, asked in value.items():
        if role not in labels:
            complaints.cell(cell, f"there is no role {role!r}", f"one of {', '.join(labels)}")
        elif not isinstance(asked, str) or not asked.strip():
            complaints.cell(cell, f"the text of {role} is missing", "a text in quotes")
        else:
            found[role] = asked
    return found


def _check_type(record: Record, options: Options | None, var_type: VariableType | None, complaints: Complaints) -> None:
    """Complains about options that can never be a valid answer."""
    if not isinstance(options, ListOptions) or var_type not in ("integer", "float"):
        return
    for option in options.values:
        if not match(str(option), options, var_type).is_valid:
            complaints.cell(
                record.cell("response_options"),
                f"the option {option!r} is no {var_type}",
                f"options of type {var_type}",
            )
