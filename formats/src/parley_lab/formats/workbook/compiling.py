"""Compiles a design and its sessions to an experiment: sessions to cohorts, roles to seats, tasks to one interview.

Facilitator and Summarizer become mediators. The prompts of personas hold the texts in the order of the format:
context, treatment, profile, role.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, Final

from parley_lab.design import Experiment, validate
from parley_lab.formats.workbook.assigned import check_drawn
from parley_lab.formats.workbook.assignment import Assignment, SeatDraw, WorkbookSession, assign
from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.design import SUMMARIZER, Design, Role, Workbook, WorkbookTask
from parley_lab.formats.workbook.draws import Draws
from parley_lab.formats.workbook.facts import FORMAT, facts_of
from parley_lab.formats.workbook.messages import profile_text
from parley_lab.formats.workbook.open_seats import OpenSeat, open_seats, special_seats
from parley_lab.formats.workbook.settings import HUGGING_FACE, takes_temperature
from parley_lab.kinds.stages.group_interview.options import ListOptions, Options, TextOptions

Json = Any

STAGE: Final = "interview"
MAX_ATTEMPTS: Final = 5
"""The number of attempts at an answer that the format sets."""
_MODELS_WITHOUT_SCHEMAS: Final = ("gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", HUGGING_FACE)
"""OpenAI's older models refuse calls with a schema, and inference endpoints handle them in different ways. The prompt
describes the shape of the reply to all of them."""
_HUGGING_FACE_MODEL: Final = "tgi"
"""The name under which servers of such endpoints serve their only model."""
_BRACES: Final = "{{"
_BRACES_NAME: Final = "open_braces"
_VARIABLES: Final = {_BRACES_NAME: _BRACES}
_NO_SLUG: Final = re.compile(r"[^a-z0-9_]+")
_LONGEST_SLUG: Final = 40


def compile_workbook(
    workbook: Workbook, *, draws: Draws = "reference", people: Collection[str] = (), sessions: int | None = None
) -> list[Experiment]:
    """The experiments of all permutations, named as their files are.

    people: the seats for people: `Role` in every session, `session/Role` in one. sessions: how many, from the first;
    the draws stay the same.

    Raises:
        InvalidInput: the workbook makes no valid experiment.
    """
    return [one.experiment for one in compile_designs(workbook, draws=draws, people=people, sessions=sessions)]


def _check_drawn(design: Design, assignment: Assignment, name: str) -> None:
    """Check roles by hand against drawn sessions.

    Raises:
        InvalidInput: a session lacks a role, or has it twice.
    """
    settings, complaints = design.settings, Complaints()
    if settings.role_column is not None and (settings.role_strategy, settings.session_strategy) == ("manual", "random"):
        people = {session.id: [seat.profile for seat in session.seats] for session in assignment.sessions}
        check_drawn(people, settings.role_column, design.user_roles, complaints)
    complaints.raise_if_any(name)


@dataclass(frozen=True, slots=True)
class Compiled:
    """The experiment of one permutation, with its sessions and the seats for people."""

    design: Design
    experiment: Experiment
    sessions: tuple[WorkbookSession, ...]
    seats: frozenset[OpenSeat]


def compile_designs(
    workbook: Workbook, *, draws: Draws = "reference", people: Collection[str] = (), sessions: int | None = None
) -> list[Compiled]:
    """Like `compile_workbook`, with the source of each experiment."""
    found: list[Compiled] = []
    for name, design in zip(workbook.names(), workbook.designs, strict=True):
        everything = assign(design, draws)
        _check_drawn(design, everything, name)
        chosen = replace(everything, sessions=everything.sessions[:sessions])
        seats = open_seats(design, chosen.sessions, people)
        found.append(Compiled(design, compile_design(design, name, chosen, seats), chosen.sessions, seats))
    return found


def compile_design(
    design: Design, name: str, assignment: Assignment, seats: frozenset[OpenSeat] = frozenset()
) -> Experiment:
    """The experiment of one permutation with these sessions; see `compile_workbook`."""
    chosen = assignment.sessions
    arms = _arm_ids(design)
    value = {
        "parley": 1,
        "name": name,
        "study": design.settings.experiment_id,
        "seed": design.settings.random_seed,
        "model_mode": "mock",
        "variables": {**_VARIABLES, "context": design.context.text.strip()},
        "source": {"format": FORMAT, "facts": facts_of(design, assignment, _task_ids(design), _cohort_ids(chosen))},
        "stages": [_stage(design)],
        "personas": [*_mediators(design), *_players(design, chosen, seats)],
        "cohorts": [_cohort(design, one, cohort_id, seats) for cohort_id, one in _cohort_ids(chosen).items()],
        "treatments": [
            {
                "id": arms[arm.label],
                "name": arm.label,
                "variables": {"treatment": arm.description.strip(), "treatment_label": arm.label},
            }
            for arm in design.arms
        ],
    }
    return validate(value, name)


def _cohort_ids(sessions: Sequence[WorkbookSession]) -> dict[str, WorkbookSession]:
    """What each session is called as a cohort."""
    return {f"session-{number}": session for number, session in enumerate(sessions, start=1)}


def _stage(design: Design) -> Json:
    ids = _task_ids(design)
    return {
        "id": STAGE,
        "kind": "group_interview",
        "progress": {"wait_for_all": True},
        "context": "{{context}}",
        "treatment": "{{treatment}}",
        "roles": [_role(role) for role in design.user_roles],
        "special_roles": [_role(role) for role in design.roles if role.label == SUMMARIZER],
        "tasks": [_task(task, ids[task.task_id]) for task in design.tasks],
        "max_replies": design.settings.max_conversation_length,
    }


def _role(role: Role) -> Json:
    return {"label": role.label, "description": _verbatim(role.description)}


def _task(task: WorkbookTask, task_id: str) -> Json:
    return {
        "id": task_id,
        "type": task.type,
        "text": "" if task.questions else _verbatim(task.text),
        "questions": [
            {
                "role": question.role,
                "text": _verbatim(question.text),
                "options": _options(question.options),
            }
            for question in task.questions
        ],
        "options": _options(task.options),
        "role_options": [{"role": role, "options": _options(options)} for role, options in task.role_options.items()],
        "variable": task.var_name,
        "variable_type": task.var_type,
        "randomize_options": task.randomize_options,
        "check": task.validate,
        "ask_score": task.wants_score,
        "ask_reasoning": task.as_json,
        "plain_text": not task.as_json,
    }


def _options(options: Options | None) -> Json:
    """What is filled in later has its braces escaped, in a text and in each value of a list."""
    if options is None:
        return None
    fields = options.model_dump(mode="json")
    if isinstance(options, TextOptions):
        return {**fields, "text": _verbatim(options.text)}
    if isinstance(options, ListOptions):
        values = [_verbatim(value) if isinstance(value, str) else value for value in options.values]
        return {**fields, "values": values}
    return fields


def _task_ids(design: Design) -> dict[str, str]:
    names = [task.task_id for task in design.tasks]
    return dict(zip(names, _slugs(names), strict=True))


def _arm_ids(design: Design) -> dict[str, str]:
    labels = [arm.label for arm in design.arms]
    return dict(zip(labels, _slugs(labels), strict=True))


def _cohort(design: Design, session: WorkbookSession, cohort_id: str, seats: frozenset[OpenSeat]) -> Json:
    special, ids = special_seats(design, session, seats), _task_ids(design)
    return {
        "id": cohort_id,
        "treatment": _arm_ids(design)[session.arm.label],
        "seats": [
            *(
                {"open": True} if (session.id, seat.role.label) in seats else {"persona": _persona_id(seat)}
                for seat in session.seats
            ),
            *({"open": True} for _ in special),
        ],
        "mediators": [_mediator_id(role) for role in design.roles if role.is_special and role.label not in special],
        "draws": {
            STAGE: {
                "speakers": [*(seat.role.label for seat in session.seats), *special],
                "tasks": [ids[task.task_id] for task in session.tasks],
            }
        },
    }


def _mediators(design: Design) -> Iterator[Json]:
    for role in design.roles:
        if role.is_special:
            yield _persona(design, _mediator_id(role), role, "", {})


def _players(design: Design, sessions: Sequence[WorkbookSession], seats: frozenset[OpenSeat]) -> Iterator[Json]:
    for session in sessions:
        for seat in session.seats:
            if (session.id, seat.role.label) not in seats:
                answers = {column.name: _verbatim(answer) for column, answer in design.answers(seat.profile)}
                profile = profile_text(design, seat)
                person_id = _verbatim(seat.profile.id)
                yield _persona(design, _persona_id(seat), seat.role, profile, {"ID": person_id, **answers})


def _persona(design: Design, persona_id: str, role: Role, profile: str, attributes: Json) -> Json:
    texts = ["{{context}}", "{{treatment}}", _verbatim(profile), _verbatim(role.description.strip())]
    items = [{"type": "text", "text": text} for text in texts if text]
    return {
        "id": persona_id,
        "profile": {"name": role.label},
        "text": _verbatim(profile),
        "attributes": attributes,
        "model": _model(design),
        "prompts": {STAGE: [*items, {"type": "stage_context", "text": False}, {"type": "task"}]},
    }


def _mediator_id(role: Role) -> str:
    return role.label.lower()


def _persona_id(seat: SeatDraw) -> str:
    """Made of the row of the sheet, which is unique."""
    return f"profile-{seat.profile.row}"


def _model(design: Design) -> Json:
    settings = design.settings
    if settings.model_info == HUGGING_FACE:
        where = {"provider": HUGGING_FACE, "model": _HUGGING_FACE_MODEL, "base_url": settings.api_endpoint}
    else:
        where = {"provider": "openai", "model": settings.model_info}
    temperature = {"temperature": settings.temperature} if takes_temperature(settings.model_info) else {}
    shape = {"structured_output": "text"} if settings.model_info in _MODELS_WITHOUT_SCHEMAS else {}
    return {**where, **temperature, **shape, "max_attempts": MAX_ATTEMPTS}


def _verbatim(text: str) -> str:
    """The text unchanged: its braces are escaped against a second filling."""
    return text.replace(_BRACES, f"{{{{{_BRACES_NAME}}}}}")


def _slugs(names: Sequence[str]) -> list[str]:
    """A unique id for each name, similar to it."""
    made: list[str] = []
    for name in names:
        plain = _NO_SLUG.sub("-", name.lower()).strip("-_")[:_LONGEST_SLUG] or "unnamed"
        numbered = (f"{plain}-{number}" for number in count(2))
        made.append(next(slug for slug in chain([plain], numbered) if slug not in made))
    return made
