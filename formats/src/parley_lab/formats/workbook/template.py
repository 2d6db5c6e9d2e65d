"""The workbook that a researcher starts from: an example row on every sheet, and a note on every key and column."""

from typing import Any, Final, get_args

from parley_lab.formats.workbook import prompts, settings
from parley_lab.formats.workbook.arms_and_roles import ROLES_HEADER, TREATMENTS_HEADER
from parley_lab.formats.workbook.constants import HEADER as CONSTANTS_HEADER
from parley_lab.formats.workbook.design import Strategy, TaskType, TreatmentStrategy
from parley_lab.formats.workbook.sheets import CONSTANTS, PROFILES, PROMPTS, ROLES, SETTINGS, TREATMENTS
from parley_lab.formats.workbook.writing import write_xlsx
from parley_lab.kinds.stages.group_interview.replies import VariableType


def template() -> bytes:
    """The template as an .xlsx file; it validates without problems and can be run as it is."""
    return write_xlsx(_SHEETS, notes=_NOTES, choices=_CHOICES)


_SHEETS: Final[dict[str, list[list[Any]]]] = {
    SETTINGS: [
        list(settings.HEADER),
        ["experiment_id", "my_experiment"],
        ["model_info", "gpt-4o-mini"],
        ["api_endpoint", None],
        ["temperature", 1],
        ["num_agents_per_session", 1],
        ["num_sessions", 1],
        ["max_conversation_length", 50],
        ["treatment_assignment_strategy", "complete_random"],
        ["treatment_column", None],
        ["session_assignment_strategy", "random"],
        ["session_column", None],
        ["role_assignment_strategy", "random"],
        ["role_column", None],
        ["random_seed", 42],
    ],
    TREATMENTS: [
        list(TREATMENTS_HEADER),
        ["reminder", "On your way here you saw a poster: your city lends bicycles for free."],
    ],
    ROLES: [
        list(ROLES_HEADER),
        ["Facilitator", "You lead the interview."],
        ["Participant", "You take part in a survey about traffic. Answer as the person that you are."],
    ],
    PROMPTS: [
        list(prompts.HEADER),
        [
            *("intro", "context", 0, 0, None, "This is a short interview about getting around in {{city}}."),
            *("intro", None, None, 0, 0, 0, 0),
        ],
        [
            *("trips", "private_question", 1, 1, "Trips by bicycle last week: ____"),
            "How many trips did you make by bicycle last week? {response_options}",
            *("trips", "integer", "(0, 50)", 0, 1, 1, 1),
        ],
    ],
    PROFILES: [
        ["ID", "age", "commute"],
        ["ID", "How old are you?", "How do you usually get to work?"],
        ["P001", 34, "By tram, and on foot from the station."],
    ],
    CONSTANTS: [list(CONSTANTS_HEADER), ["city", "['a small town', 'a large city']"]],
}

_BY_HAND: Final = "Only for the strategy `manual`: the short name, or the question, of the column of agent_profiles."
_FLAG: Final = "0 or 1."

_NOTES: Final[dict[tuple[str, str], str]] = {
    (SETTINGS, "experiment_id"): "Names the experiment and its data files. Letters, digits, space, - _ and .",
    (SETTINGS, "model_info"): "The model of all agents. A name that is not in the list goes to the OpenAI-compatible "
    "endpoint as it is, with a warning. hf-inference: the model at api_endpoint.",
    (SETTINGS, "api_endpoint"): "The address of an inference endpoint; needed for hf-inference, else blank.",
    (SETTINGS, "temperature"): "0 to 2; lower is more predictable.",
    (SETTINGS, "num_agents_per_session"): "As many as agent_roles has rows without Facilitator and Summarizer.",
    (SETTINGS, "num_sessions"): "Sessions times agents must be the number of profiles.",
    (SETTINGS, "max_conversation_length"): "The most replies of one session. At least tasks times roles.",
    (SETTINGS, "treatment_assignment_strategy"): "simple_random: a draw for each session. complete_random: as many "
    "sessions of each treatment as possible. manual: see treatment_column.",
    (SETTINGS, "treatment_column"): _BY_HAND,
    (SETTINGS, "session_assignment_strategy"): "random, or manual: see session_column.",
    (SETTINGS, "session_column"): _BY_HAND,
    (SETTINGS, "role_assignment_strategy"): "random, or manual: see role_column.",
    (SETTINGS, "role_column"): _BY_HAND,
    (SETTINGS, "random_seed"): "A whole number; the same seed draws the same. Blank: 42.",
    (TREATMENTS, "treatment_label"): "A short name of its own. A whole session has one treatment.",
    (TREATMENTS, "treatment_description"): "What every agent of the session is told. {{name}} takes a constant.",
    (ROLES, "role_label"): "A short name of its own. Facilitator is needed and puts the questions; Summarizer may be "
    "there and sees all answers. Each other role is played by one agent in every session.",
    (ROLES, "role_description"): "What the agent in this role is told about it. {{name}} takes a constant.",
    (PROMPTS, "task_id"): "A name of its own for every task.",
    (PROMPTS, "type"): "context: shown, asks no question; the first row is one, and is part of every system message. "
    "discussion: all speak in turn. public_question: all hear the answers as they come. private_question: others hear "
    "them when the round is over.",
    (PROMPTS, "task_order"): "A whole number. Tasks with the same number come in a drawn order.",
    (
        PROMPTS,
        "is_adapted",
    ): f"{_FLAG} Whether the text differs from that for people. For the codebook.",
    (PROMPTS, "human_text"): "The words of the experiment with people. For the codebook.",
    (PROMPTS, "llm_text"): "What is asked; {{name}} takes a constant, {response_options} shows the options. For some "
    "roles, or with a text for each: {'Role 1': 'text', 'Role 2': 'text'}. They are asked in this order.",
    (PROMPTS, "var_name"): "The column of the answers; a name of its own. Blank: task_id.",
    (PROMPTS, "var_type"): "category, integer or float; integer and float allow nothing else. May be blank.",
    (PROMPTS, "response_options"): "A list [1, 2, 3] or ['yes', 'no'], a range (0, 10) with both ends, or a text. With "
    "options for each role: {'Role 1': (0, 10), 'Role 2': ['yes', 'no']}. May be blank.",
    (PROMPTS, "randomize_response_order"): f"{_FLAG} Whether a list of options is shown in a drawn order.",
    (PROMPTS, "validate_response"): f"{_FLAG} Whether an answer that is no option is asked again, 5 attempts in all.",
    (PROMPTS, "generate_speculation_score"): f"{_FLAG} Whether agents say how speculative an answer is, 0 to 100.",
    (PROMPTS, "format_response"): f"{_FLAG} 1: answers come as JSON with the reasoning, 0: as plain text.",
    (PROFILES, "ID"): "Row 1: a short name of its own for every column; one is ID. Row 2: the question that the column "
    "answers. From row 3: a row for every agent. A blank answer is not told to the model.",
    (CONSTANTS, "name"): "The name in {{name}}.",
    (CONSTANTS, "value"): "A value, or a list. Every combination of values of all lists is an experiment of its own.",
}

_CHOICES: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    (SETTINGS, "model_info"): settings.MODELS,
    (SETTINGS, "treatment_assignment_strategy"): get_args(TreatmentStrategy),
    (SETTINGS, "session_assignment_strategy"): get_args(Strategy),
    (SETTINGS, "role_assignment_strategy"): get_args(Strategy),
    (PROMPTS, "type"): get_args(TaskType),
    (PROMPTS, "var_type"): get_args(VariableType),
    **{
        (PROMPTS, column): ("0", "1")
        for column in (
            "is_adapted",
            "randomize_response_order",
            "validate_response",
            "generate_speculation_score",
            "format_response",
        )
    },
}
