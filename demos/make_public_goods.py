"""Writes demos/public_goods.xlsx, a public goods game of four: `python demos/make_public_goods.py`.

Four players own 10 tokens in each of five rounds. What they put into a common pot is doubled and shared equally. The
sheets are made here so that changes to them can be read; a test holds the file to what this makes.
"""

import sys
from pathlib import Path
from typing import Any, Final

from parley_lab.formats.workbook.prompts import HEADER
from parley_lab.formats.workbook.writing import write_xlsx

Rows = list[list[Any]]

PLAYERS: Final = ("Participant 1", "Participant 2", "Participant 3", "Participant 4")
SUMMARIZER: Final = "Summarizer"


def sheets() -> dict[str, Rows]:
    """All sheets of the demo, as values."""
    return {
        "experimental_setting": _settings(),
        "treatments": _treatments(),
        "agent_roles": _roles(),
        "interview_prompts": _prompts(),
        "agent_profiles": _profiles(),
        "constants": [["name", "value"], ["participant_label", "['participant', 'subject']"]],
    }


def _settings() -> Rows:
    return [
        ["experimental_setting", "value"],
        ["experiment_id", "public_goods"],
        ["model_info", "gpt-4o-mini"],
        ["api_endpoint", None],
        ["temperature", 0],
        ["num_agents_per_session", len(PLAYERS)],
        ["num_sessions", 2],
        ["max_conversation_length", 100],
        ["treatment_assignment_strategy", "manual"],
        ["treatment_column", "treatment"],
        ["session_assignment_strategy", "manual"],
        ["session_column", "session"],
        ["role_assignment_strategy", "manual"],
        ["role_column", "role"],
        ["random_seed", 42],
    ]


def _treatments() -> Rows:
    return [
        ["treatment_label", "treatment_description"],
        ["plain", "The pot of your group has no name; it is called the pot."],
        [
            "garden",
            "The pot of your group pays for a garden that the group shares: each token that is put into it grows to "
            "two, and all four of you harvest the same.",
        ],
    ]


def _roles() -> Rows:
    player = (
        "You are {label}, a {{{{participant_label}}}} in a study about decisions in groups. You do not know who the "
        "others are, and they do not know who you are. Decide as the person that you are; your aim is your own."
    )
    return [
        ["role_label", "role_description"],
        ["Facilitator", "You lead the study. You read out instructions and questions and give no advice."],
        [
            SUMMARIZER,
            "You keep the accounts of the group. You report what was put into the pot and what everybody earned, in "
            "numbers, and you comment on nobody.",
        ],
        *([label, player.format(label=label)] for label in PLAYERS),
    ]


CONTEXT: Final = (
    "Four people form a group and stay together for five rounds. At the start of every round each of the four owns 10 "
    "tokens, and decides how many of them, from 0 to 10, go into a common pot. Nobody knows what the others decide "
    "before all have decided. Whatever is in the pot is then doubled and shared equally among the four, no matter who "
    "put in how much: a token in the pot brings half a token to each of the four. A {{participant_label}} earns in a "
    "round the tokens that were kept and the share of the pot. Earnings of all rounds add up.\n"
    "An example: one of you puts in 4 tokens and the other three put in nothing. The pot grows from 4 to 8, and each "
    "of you gets 2. Whoever put in the 4 has kept 6 and earns 8 in this round; the others have kept 10 and earn 12."
)

ROUND: Final = "A new round begins, and you own 10 tokens. How many of them do you put into the pot? {response_options}"
ACCOUNTS: Final = (
    "All four have decided. Report this round: the total in the pot before it was doubled, the share of each, and for "
    "each {{participant_label}} the tokens kept, the earnings of this round and the earnings of all rounds so far."
)


def _prompts() -> Rows:
    return [
        list(HEADER),
        _task("context", "context", 0, CONTEXT, var_name="context"),
        *_quiz(),
        _task(
            *("talk", "discussion", 2),
            "Before the first round you may talk. Say in one or two sentences how you think the group should play.",
            format_response=1,
        ),
        _task(
            *("start", "context", 3),
            "The talk is over. Five rounds follow; decisions are made in private, and the accounts are read to all.",
        ),
        *_rounds(),
        _task(
            *("belief", "private_question", 9),
            "Suppose the group played on. Which share of all its tokens would it put into the pot, as a number from 0 "
            "(nothing) to 1 (everything)? {response_options}",
            var_type="float",
            response_options="(0.0, 1.0)",
            validate_response=1,
            generate_speculation_score=1,
        ),
    ]


def _quiz() -> Rows:
    """Three questions about the rules, in a drawn order; all hear the answers of those before."""
    asked: dict[str, Any] = {"randomize_response_order": 1, "validate_response": 1, "generate_speculation_score": 1}
    return [
        _task(
            *("quiz_pot", "public_question", 1),
            "Suppose each of the four puts 5 tokens into the pot. How many tokens does each of you earn in this round? "
            "{response_options}",
            var_type="integer",
            response_options="[10, 15, 20, 25]",
            **asked,
            format_response=0,
        ),
        _task(
            *("quiz_share", "public_question", 1),
            "How is the doubled pot divided? {response_options}",
            var_type="category",
            response_options="['equally', 'by what each put in', 'by lot', 'not at all']",
            **asked,
            format_response=1,
        ),
        _task(
            *("quiz_keep", "public_question", 1),
            "Suppose you put in nothing and the others put in something. What happens? {response_options}",
            var_type="category",
            response_options="['you get no share', 'the others get more than you', 'you earn more than the others', "
            "'nobody gets a share']",
            **asked,
            format_response=1,
        ),
    ]


def _rounds() -> Rows:
    """Five rounds; their options are written in every form there is, and in the last two the others begin."""
    forms = [
        "(0, 10)",
        "a whole number of tokens from 0 to 10",
        str(list(range(11))),
        str(
            {
                PLAYERS[0]: "any number from 0 to 10",
                PLAYERS[1]: (0, 10),
                PLAYERS[2]: list(range(11)),
                PLAYERS[3]: (0, 10),
            }
        ),
        str(dict.fromkeys(PLAYERS, (0, 10))),
    ]
    return [
        _task(
            *(f"round_{number}", "private_question", 3 + number),
            str({**dict.fromkeys(PLAYERS if number <= 3 else PLAYERS[::-1], ROUND), SUMMARIZER: ACCOUNTS}),
            var_name=f"contribution_{number}",
            var_type="integer",
            response_options=options,
            validate_response=1,
            generate_speculation_score=1,
            format_response=1,
        )
        for number, options in enumerate(forms, start=1)
    ]


def _task(task_id: str, kind: str, order: int, text: str, **fields: Any) -> list[Any]:
    values = {
        "task_id": task_id,
        "type": kind,
        "task_order": order,
        "is_adapted": 1,
        "human_text": None,
        "llm_text": text,
        "var_name": task_id,
        "var_type": None,
        "response_options": None,
        "randomize_response_order": 0,
        "validate_response": 0,
        "generate_speculation_score": 0,
        "format_response": 0,
        **fields,
    }
    return [values[column] for column in HEADER]


QUESTIONS: Final = (
    ("age", "How old are you?"),
    ("gender", "What is your gender?"),
    ("region", "Where do you live?"),
    ("education", "What is the highest school or degree that you finished?"),
    ("work", "What do you do for a living?"),
    ("income", "How does your household get by with its income?"),
    ("household", "With how many people do you live together?"),
    ("children", "How many children do you have?"),
    ("religion", "How important is religion in your life, from 1 (not at all) to 7 (very)?"),
    ("volunteer", "Have you done unpaid work for others in the last year?"),
    ("donation", "Have you given money to a good cause in the last year?"),
    ("outgoing", "I am outgoing and like company. From 1 (not at all) to 7 (fully)."),
    ("warm", "I trust others and forgive easily. From 1 (not at all) to 7 (fully)."),
    ("orderly", "I plan ahead and finish what I begin. From 1 (not at all) to 7 (fully)."),
    ("calm", "I stay calm when things go wrong. From 1 (not at all) to 7 (fully)."),
    ("curious", "I like new ideas and art. From 1 (not at all) to 7 (fully)."),
    ("risk", "How willing are you to take risks, from 1 (not at all) to 7 (very)?"),
    ("trust", "Can most people be trusted, or can one not be too careful?"),
    ("politics", "In politics people speak of left and right. Where do you stand, from 1 (left) to 7 (right)?"),
    ("redistribution", "Should the state reduce differences of income? From 1 (not at all) to 7 (by all means)."),
)

CARE, MOST = "One cannot be too careful.", "Most people can be trusted."

# Made up for this demo: these people do not exist.
PEOPLE: Final = (
    (
        (27, "woman", "a harbour town", "vocational training", "ship electrician", "just about", 2, 0, 1, True, False),
        (5, 4, 6, 5, 3, 5, MOST, 3, 5),
    ),
    (
        (61, "man", "a village in the hills", "primary school", "bee keeper", "well enough", 1, 3, 6, True, True),
        (2, 6, 5, 6, 4, 2, MOST, 5, 3),
    ),
    (
        (34, "woman", "near a large city", "a university degree", "tax adviser", "comfortably", 4, 2, 2, False, True),
        (4, 3, 7, 4, 4, 3, CARE, 5, 2),
    ),
    (
        (19, "man", "a university town", "secondary school", "student", "with difficulty", 5, 0, 1, False, False),
        (6, 5, 2, 3, 7, 6, MOST, 2, 6),
    ),
    (
        (48, "man", "an industrial town", "vocational training", "bus driver", "just about", 3, 2, 4, False, True),
        (3, 4, 5, 3, 2, 3, CARE, 4, 5),
    ),
    (
        (72, "woman", "a town by a lake", "secondary school", "retired librarian", "well enough", 1, 1, 5, True, True),
        (3, 6, 6, 5, 6, 1, MOST, 3, 6),
    ),
    (
        (39, "man", "a large city", "a doctorate", "software tester", "comfortably", 2, None, 1, False, True),
        (1, 3, 6, 4, 6, 4, CARE, 4, 4),
    ),
    (
        (55, "woman", "a farm", "vocational training", "vet's assistant", "just about", 2, 4, 3, True, False),
        (5, 5, 4, 6, 3, 4, CARE, 6, 2),
    ),
)


def _profiles() -> Rows:
    names = [name for name, _ in QUESTIONS]
    questions = [question for _, question in QUESTIONS]
    assigned = ["treatment", "session", "role"]
    return [
        ["ID", *names, *assigned],
        ["ID", *questions, *assigned],
        *([101 + number, *facts, *traits, *_place(number)] for number, (facts, traits) in enumerate(PEOPLE)),
    ]


def _place(number: int) -> tuple[str, int, str]:
    session, seat = divmod(number, len(PLAYERS))
    return ("plain", "garden")[session], session + 1, PLAYERS[seat]


def content() -> bytes:
    """The file."""
    return write_xlsx(sheets())


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("public_goods.xlsx")
    target.write_bytes(content())
