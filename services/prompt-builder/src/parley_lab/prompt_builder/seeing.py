"""A stage of an experiment as one seat is shown it, as a person and as an agent, before any run. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from parley_lab.base.errors import Conflict, NotFound
from parley_lab.base.meant_names import what_is_known
from parley_lab.contracts.prompts import (
    Prompt,
    SeatChoice,
    SeatQuestion,
    Seen,
    SeenForm,
    SeenMember,
    SeenText,
    StageChoice,
)
from parley_lab.design import (
    OF_PARTICIPANTS,
    CohortAssignment,
    Experiment,
    MediatorAssignment,
    Resolved,
    SeatAssignment,
    allocate,
    resolve,
)
from parley_lab.design.treatments import treatment_named
from parley_lab.drafts.context import PromptContext
from parley_lab.kinds import PAGE, Ask, OwnView
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.kinds.view import Speaker, Thread
from parley_lab.prompt_builder.examples import ACTS_BY_SCRIPT, Seat, seat_context
from parley_lab.prompt_builder.made_up import stage_over
from parley_lab.prompt_builder.previews import as_asked
from parley_lab.prompt_builder.rendering import render
from parley_lab.views.builder import People, own_view

_MOST_SEATS: Final = 200
_MOST_TEXTS: Final = 400
_OF_A_PERSONA: Final = ("text", "role", "goal", "backstory")


def seen(question: SeatQuestion) -> Seen:
    """What the seat is shown when the stage has just opened, after the mock has answered for all in earlier stages.

    Raises:
        NotFound: the document has no such stage, arm or seat.
    """
    experiment = Experiment.model_validate(question.document)
    seed = experiment.seed or 0
    cohorts = allocate(experiment, seed)
    arm = question.treatment_id or _arm_of(cohorts[0])
    if arm is not None:
        treatment_named(experiment, arm)
    choices = list(_choices(experiment, cohorts, arm))
    cohort, seat = _seat(cohorts, choices, question.seat)
    if cohort.treatment_id != OF_PARTICIPANTS:
        cohort = replace(cohort, treatment_id=arm)
    resolved = resolve(experiment, arm)
    stage_id = question.stage_id or resolved.stage_ids[0]
    before = partial(stage_over, seed=seed)
    context = seat_context(
        experiment,
        question.experiment_id,
        cohort,
        seat,
        seed=seed,
        stage_id=stage_id,
        treatment_id=arm,
        before=before,
    )
    view = _view_of_a_person(context)
    page = kind_of(context.stage).page(context.stage, view).model_dump(mode="json", by_alias=True)
    prompt, why = _prompt(context, resolved, seat)
    return Seen(
        stage_id=stage_id,
        kind=context.stage.kind,
        treatment_id=arm,
        seat=seat.path,
        stages=tuple(StageChoice(id=one.id, title=one.title, kind=one.kind) for one in resolved.stages),
        treatments=tuple(one.id for one in experiment.treatments),
        seats=tuple(choices),
        me=SeenMember(id=view.me.id, profile=view.me.profile.model_dump()),
        others=tuple(
            SeenMember(id=one.id, profile=one.profile.model_dump()) for one in view.members if one.id != view.me.id
        ),
        links=context.stage.links,
        view=page,
        forms=tuple(_forms(context, view)),
        has_thread=parts_of(context.stage).has_thread,
        prompt=prompt,
        why_no_prompt=why,
        texts=tuple(_texts(context, page, prompt)),
        made_up=tuple(one.id for one in context.stages[:-1]),
    )


def _arm_of(cohort: CohortAssignment) -> str | None:
    """The arm of the cohort; where each participant has an own arm, that of the first who has one."""
    if cohort.treatment_id != OF_PARTICIPANTS:
        return cohort.treatment_id
    return next((seat.treatment_id for seat in cohort.seats if seat.treatment_id is not None), None)


def _in_arm(cohorts: Sequence[CohortAssignment], arm: str | None) -> Sequence[CohortAssignment]:
    """The cohorts of the arm; all of them where it was drawn for none."""
    return [one for one in cohorts if one.treatment_id in (arm, OF_PARTICIPANTS)] or cohorts


def _seats_of(cohort: CohortAssignment, arm: str | None) -> Iterator[Seat]:
    yield from (one for one in cohort.seats if one.treatment_id in (None, arm))
    yield from cohort.mediators


def _choices(experiment: Experiment, cohorts: Sequence[CohortAssignment], arm: str | None) -> Iterator[SeatChoice]:
    """The seats of an arm, of each number and persona the first."""
    players = {one.id: one.player for one in experiment.personas}
    known: set[tuple[str, str | None]] = set()
    for cohort in _in_arm(cohorts, arm):
        for seat in _seats_of(cohort, arm):
            same = (seat.path.partition("/")[2], seat.persona_id)
            if same in known or len(known) == _MOST_SEATS:
                continue
            known.add(same)
            yield SeatChoice(
                path=seat.path,
                kind="mediator" if isinstance(seat, MediatorAssignment) else "participant",
                player="person" if seat.persona_id is None else players.get(seat.persona_id, "agent"),
                persona=seat.persona_id,
            )


def _seat(
    cohorts: Sequence[CohortAssignment], choices: Sequence[SeatChoice], wanted: str | None
) -> tuple[CohortAssignment, Seat]:
    path = wanted or (choices[0].path if choices else "")
    for cohort in cohorts:
        seats: list[SeatAssignment | MediatorAssignment] = [*cohort.seats, *cohort.mediators]
        for seat in seats:
            if seat.path == path:
                return cohort, seat
    raise NotFound(f"There is no seat {path!r}. {what_is_known(path, [one.path for one in choices], 'seat')}")


def _view_of_a_person(context: PromptContext) -> OwnView:
    """The stage as the page of a person in the seat shows it."""
    stage, me = context.stage, context.author.id
    rows = tuple(replace(one, player="person") if one.id == me else one for one in context.facts.people.rows)
    facts = replace(context.facts, people=People(rows))
    if not parts_of(stage).has_thread:
        return own_view(facts, stage, me)
    speakers = tuple(Speaker(one) for one in facts.people.on(stage.id))
    thread = Thread(pace="live", trigger_key="start", message_count=0, agent_run=0, speakers=speakers)
    return own_view(facts, stage, me, thread=thread)


def _forms(context: PromptContext, view: OwnView) -> Iterator[SeenForm]:
    questions = parts_of(context.stage).questions
    if questions is None:
        return
    for ask in (Ask(view.me.id, PAGE, "page"), *questions.due(view)):
        question = questions.question(view, ask)
        if question is not None:
            yield SeenForm(key=ask.key, purpose=ask.purpose, form=question.form().json_schema())


def _prompt(context: PromptContext, resolved: Resolved, seat: Seat) -> tuple[Prompt | None, str | None]:
    if seat.persona_id is not None and resolved.personas[seat.persona_id].player == "script":
        return None, ACTS_BY_SCRIPT.format(persona=seat.persona_id)
    try:
        return render(as_asked(_as_an_agent(context))), None
    except (NotFound, Conflict) as error:
        return None, error.message


def _as_an_agent(context: PromptContext) -> PromptContext:
    """The same with an agent in the seat: one for people has an agent without a persona."""
    facts, me = context.facts, context.author.id
    rows = tuple(replace(one, player="agent") if one.id == me else one for one in facts.people.rows)
    author = replace(context.author, player="agent")
    return replace(context, author=author, facts=replace(facts, people=People(rows)))


def _texts(context: PromptContext, page: Any, prompt: Prompt | None) -> Iterator[SeenText]:
    """The texts of the stage and of the persona, with two words or more, and who reads them."""
    shown = _plain("\n".join(text for _, text in _strings(page, "")))
    told = "" if prompt is None else _plain("\n".join(one.content for one in prompt.messages))
    agent = context.agent.model_dump(mode="json")
    of_persona = ((f"persona.{name}", agent.get(name)) for name in _OF_A_PERSONA)
    found = [
        *_strings(context.stage.model_dump(mode="json", exclude_unset=True), f"stages.{context.stage.id}"),
        *((where, text) for where, text in of_persona if isinstance(text, str)),
    ]
    for where, text in [one for one in found if len(one[1].split()) > 1][:_MOST_TEXTS]:
        lines = [plain for line in text.splitlines() if (plain := _plain(line))]
        yield SeenText(
            where=where,
            text=text,
            in_page=all(line in shown for line in lines),
            in_prompt=all(line in told for line in lines),
        )


def _strings(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner, f"{where}.{name}" if where else str(name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _strings(inner, f"{where}[{number}]")


def _plain(text: str) -> str:
    """The words alone: marks of Markdown and white space differ between a page and a prompt."""
    return " ".join(text.replace("*", " ").replace("#", " ").replace("`", " ").replace(">", " ").split())
