"""The sheet experimental_setting: 14 keys with their values."""

import re
from collections.abc import Mapping
from typing import Final, get_args

from parley_lab.base.meant_names import one_of
from parley_lab.contracts.models import ADDRESS_PATTERN
from parley_lab.contracts.providers import HUGGING_FACE_PROVIDER
from parley_lab.formats.workbook.cells import Cell
from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.design import Settings, Strategy, TreatmentStrategy, is_id
from parley_lab.formats.workbook.profiles import Profiles
from parley_lab.formats.workbook.sheets import SETTINGS, Sheet, records
from parley_lab.formats.workbook.templates import has_placeholder
from parley_lab.formats.workbook.values import number_between, whole_number, word

HEADER: Final = ("experimental_setting", "value")
KEYS: Final = (
    "experiment_id",
    "model_info",
    "api_endpoint",
    "temperature",
    "num_agents_per_session",
    "num_sessions",
    "max_conversation_length",
    "treatment_assignment_strategy",
    "treatment_column",
    "session_assignment_strategy",
    "session_column",
    "role_assignment_strategy",
    "role_column",
    "random_seed",
)
HUGGING_FACE: Final = HUGGING_FACE_PROVIDER
MODELS: Final = (
    "gpt-4.5-preview",
    "o3",
    "o4-mini",
    "o1-pro",
    "o1",
    "gpt-4.1",
    "gpt-4.1-mini",
    "gpt-4.1-nano",
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-4-turbo",
    "gpt-4",
    "gpt-3.5-turbo",
    HUGGING_FACE,
)
DEFAULT_SEED: Final = 42
LARGEST_SEED: Final = 2**32 - 1
"""The largest seed of the generator that shuffles agents over sessions."""
MAX_SESSIONS: Final = 20_000
_LOWEST_TEMPERATURE, _HIGHEST_TEMPERATURE = 0.0, 2.0
_ONLY_TEMPERATURE: Final = 1.0
"""The only temperature of reasoning models."""
_REASONING_MODELS: Final = re.compile(r"(\S+/)?(o\d|gpt-[5-9])(?!.*chat)")
_FILE_NAME: Final = re.compile(r"[^\W_][\w .-]{0,79}")
_ADDRESS: Final = re.compile(ADDRESS_PATTERN)
_SECRETIVE: Final = re.compile(r"\S+://\S*[@?#]\S*")
"""An address that may contain a password or a token."""


def setting_cells(sheet: Sheet | None, complaints: Complaints) -> Mapping[str, Cell]:
    """The value of each key; complete when there is no complaint."""
    found: dict[str, Cell] = {}
    keys: dict[str, Cell] = {}
    for record in records(sheet, HEADER, complaints):
        key, value = record.cell(HEADER[0]), record.cell(HEADER[1])
        if key.label in keys:
            complaints.cell(
                key, f"the key is repeated from {keys[key.label].where}", "every key once", do="keep one of the rows"
            )
        elif key.label not in KEYS:
            expected = one_of(key.label, KEYS, "key") if key.label else f"one of {', '.join(KEYS)}"
            complaints.cell(key, "this key is not known", expected)
        else:
            found[key.label] = value
        keys.setdefault(key.label, key)
    if sheet is not None:
        _check_complete(sheet, found, complaints)
    _check_placeholders(found, complaints)
    return found


def _check_complete(sheet: Sheet, found: Mapping[str, Cell], complaints: Complaints) -> None:
    for key in KEYS:
        if key not in found:
            where = sheet.next_free.where
            complaints.at(
                where, f"the key {key} is missing", f"a row for {key}", found="no such row", do=f"add a row for {key}"
            )


def _check_placeholders(found: Mapping[str, Cell], complaints: Complaints) -> None:
    for cell in found.values():
        if has_placeholder(cell.text):
            complaints.cell(
                cell,
                "placeholders are not filled in on this sheet",
                "a value without {{ or {%",
                hint="constants belong in treatments, agent_roles and interview_prompts",
            )


def read_settings(cells: Mapping[str, Cell], profiles: Profiles, complaints: Complaints) -> Settings | None:
    """The settings; None after a complaint.

    cells: by key; missing ones were complained about before.
    """
    everything = {key: cells.get(key) or Cell(SETTINGS, 2, 1, flaw="no such key") for key in KEYS}
    before = len(complaints.problems)
    settings = _settings(everything, profiles, complaints)
    is_complete = len(cells) == len(KEYS) and len(complaints.problems) == before
    return settings if is_complete else None


def _settings(cells: Mapping[str, Cell], profiles: Profiles, complaints: Complaints) -> Settings:
    """The settings, with placeholders for values that were complained about."""
    treatment = word(cells["treatment_assignment_strategy"], "the strategy", get_args(TreatmentStrategy), complaints)
    session = word(cells["session_assignment_strategy"], "the strategy", get_args(Strategy), complaints)
    role = word(cells["role_assignment_strategy"], "the strategy", get_args(Strategy), complaints)
    if treatment == "manual" and session == "random":
        complaints.cell(
            cells["session_assignment_strategy"],
            "treatments that are assigned by hand need sessions that are assigned by hand",
            "manual",
            hint="a treatment is of a whole session, and random sessions would mix agents of different treatments",
        )
    model = _model(cells["model_info"], complaints)
    return Settings(
        experiment_id=_experiment_id(cells["experiment_id"], complaints),
        model_info=model,
        api_endpoint=_endpoint(cells["api_endpoint"], model, complaints),
        temperature=_temperature(cells["temperature"], model, complaints),
        num_agents_per_session=_count(cells, "num_agents_per_session", complaints),
        num_sessions=_count(cells, "num_sessions", complaints),
        max_conversation_length=_count(cells, "max_conversation_length", complaints, most=2**31),
        treatment_strategy=treatment or "simple_random",
        treatment_column=_column(cells, "treatment", treatment, profiles, complaints),
        session_strategy=session or "random",
        session_column=_column(cells, "session", session, profiles, complaints),
        role_strategy=role or "random",
        role_column=_column(cells, "role", role, profiles, complaints),
        random_seed=_seed(cells["random_seed"], complaints),
    )


def _experiment_id(cell: Cell, complaints: Complaints) -> str:
    if cell.is_blank:
        complaints.cell(cell, "the experiment has no id", "a name; the files with the data are called by it")
    elif not _FILE_NAME.fullmatch(cell.label) and not has_placeholder(cell.label):
        complaints.cell(
            cell,
            "the id cannot be the name of a file",
            "up to 80 letters, digits, spaces, `-`, `_` and `.`, with a letter or digit first",
        )
    return cell.label


def _model(cell: Cell, complaints: Complaints) -> str:
    if cell.is_blank:
        complaints.cell(cell, "no model is named", "a model, such as gpt-4o-mini")
    elif cell.label not in MODELS:
        complaints.warn(
            cell,
            "this model is not in the list of known ones",
            one_of(cell.label, MODELS, "model"),
            hint="it is asked for under this name at the OpenAI-compatible endpoint",
        )
    return cell.label


def _endpoint(cell: Cell, model: str, complaints: Complaints) -> str | None:
    if _SECRETIVE.fullmatch(cell.label):
        wrong, expected = "the endpoint carries a user, a password or a query", "an address without them"
        complaints.cell(cell, wrong, expected, found="an address with `@`, `?` or `#`", hint="the key is HF_API_KEY")
        return None
    if model != HUGGING_FACE:
        if not cell.is_blank:
            complaints.warn(
                cell,
                "the endpoint is not used",
                f"a blank cell, unless model_info is {HUGGING_FACE}",
                do=f"empty the cell, or type {HUGGING_FACE} as model_info",
            )
        return None
    if not _ADDRESS.fullmatch(cell.label):
        wrong = f"{HUGGING_FACE} needs an endpoint" if cell.is_blank else "the endpoint is no address"
        complaints.cell(cell, wrong, "an address that begins with https://")
    return cell.label


def _temperature(cell: Cell, model: str, complaints: Complaints) -> float:
    found = number_between(cell, "the temperature", complaints, least=_LOWEST_TEMPERATURE, most=_HIGHEST_TEMPERATURE)
    if found not in (None, _ONLY_TEMPERATURE) and not takes_temperature(model):
        complaints.warn(cell, f"{model} takes no temperature, and is called without one", f"{_ONLY_TEMPERATURE:g}")
    return found or 0.0


def takes_temperature(model: str) -> bool:
    """Whether calls may set a temperature: reasoning models refuse it."""
    return _REASONING_MODELS.match(model) is None


def _count(cells: Mapping[str, Cell], key: str, complaints: Complaints, *, most: int = MAX_SESSIONS) -> int:
    return whole_number(cells[key], key, complaints, least=1, most=most) or 1


def _seed(cell: Cell, complaints: Complaints) -> int:
    if cell.is_blank:
        return DEFAULT_SEED
    found = whole_number(cell, "the seed", complaints, least=0, most=LARGEST_SEED)
    return DEFAULT_SEED if found is None else found


def _column(
    cells: Mapping[str, Cell], of: str, strategy: str | None, profiles: Profiles, complaints: Complaints
) -> int | None:
    """The column with an assignment by hand; a column that is named needlessly is still left out of profiles."""
    cell = cells[f"{of}_column"]
    found = profiles.named(cell.label) if not cell.is_blank else []
    if strategy != "manual":
        if not cell.is_blank and len(found) != 1 and strategy is not None:
            complaints.warn(
                cell,
                "the column is not in agent_profiles",
                "a blank cell, or the name of a column",
                do="empty the cell, or type the name of a column",
            )
        return found[0].number if len(found) == 1 and not is_id(found[0]) else None
    names = [column.name for column in profiles.columns if not is_id(column)]
    if cell.is_blank:
        wrong = f"{of}s are assigned by hand, and no column says how"
        complaints.cell(cell, wrong, f"the name of a column of agent_profiles: {', '.join(names)}")
    elif not found:
        complaints.cell(cell, "there is no such column in agent_profiles", one_of(cell.label, names, "column"))
    elif len(found) > 1:
        complaints.cell(cell, "several columns have this name", "the short name of one column")
    elif is_id(found[0]):
        complaints.cell(cell, f"the IDs are not {of}s", one_of("", names, "column"))
    return found[0].number if len(found) == 1 else None
