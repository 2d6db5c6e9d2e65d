"""Prompts for people to look at, made by the same lines as those that are sent."""

from dataclasses import replace
from random import Random
from uuid import UUID

from prompt_builder.examples import example_context
from prompt_builder.rendering import render
from shared.contracts.models import ChatMessage
from shared.contracts.prompts import DraftPreview, MemberPreview, Preview, PreviewQuestion, StagePreview, fingerprint
from shared.db import experiments
from shared.db.context import PromptContext, member_context, prompt_context, sent_messages
from shared.db.session import Database, Session
from shared.errors import Conflict
from shared.experiment import Experiment
from shared.stage import TALK, Ask, Speaker, Thread
from shared.stages import kind_of
from shared.views import alone, own_view


async def preview(database: Database, question: PreviewQuestion) -> Preview:
    """The prompt that is asked for.

    Raises:
        NotFound: there is nobody or nothing of that name, or nothing is asked of a model there.
        Conflict: nothing is asked any more, since all has been answered.
        Unavailable: Postgres cannot be reached.
    """
    async with database.looking() as session:
        if isinstance(question, DraftPreview):
            return await _of_draft(session, question.draft_id)
        if isinstance(question, MemberPreview):
            return await _of_member(session, question)
        return await _of_stage(session, question)


async def _of_draft(session: Session, draft_id: UUID) -> Preview:
    prompt = render(await prompt_context(session, draft_id))
    sent = await sent_messages(session, draft_id)
    if sent is None:
        return Preview(prompt=prompt, draft_id=draft_id)
    messages = tuple(ChatMessage.model_validate(message) for message in sent)
    shown = prompt.model_copy(update={"messages": messages, "fingerprint": fingerprint(messages)})
    return Preview(prompt=shown, draft_id=draft_id, was_sent=True)


async def _of_member(session: Session, question: MemberPreview) -> Preview:
    context, draft_id = await member_context(session, question.member_id, question.stage_id)
    if draft_id is not None:
        return await _of_draft(session, draft_id)
    return Preview(prompt=render(as_asked(context)))


async def _of_stage(session: Session, question: StagePreview) -> Preview:
    row = await experiments.find(session, question.experiment_id)
    experiment = Experiment.model_validate(row.document)
    context = example_context(
        experiment,
        question.experiment_id,
        seed=row.seed,
        persona_id=question.persona_id,
        stage_id=question.stage_id,
        treatment_id=question.treatment_id,
    )
    return Preview(prompt=render(as_asked(context)))


def as_asked(context: PromptContext) -> PromptContext:
    """The context with what the author would be asked next on its stage, be it after others.

    Raises:
        Conflict: it has answered all that is asked there.
    """
    kind, stage = kind_of(context.stage), context.stage
    if kind.thread == "conversation":
        return replace(context, ask=replace(context.ask, purpose=_purpose(context)))
    me = context.author.id
    view, then = context.view(stage), alone(context.facts, stage, me)
    wanted = (*kind.next_asks(stage, view), *kind.next_asks(stage, own_view(then, stage, me)))
    # Of whom nothing was ever asked there is an empty page.
    if not wanted and any(answer != {} for answer in view.own.values()):
        raise Conflict(
            f"{context.author.name} has answered all that was asked on {stage.id!r}; nothing is asked there any more. "
            "What it was asked stands in its drafts.",
            reason="ask_closed",
        )
    return replace(context, ask=next(iter(wanted), Ask(me, "", TALK)))


def _purpose(context: PromptContext) -> str:
    """What somebody who is asked to speak in an empty room is asked for: to talk if they like, or to speak."""
    thread = Thread(
        path=f"{context.cohort_path}/{context.stage.id}/group",
        pace="live",
        trigger_key="start",
        last_author_id=None,
        message_count=0,
        agent_run=0,
        speakers=tuple(Speaker(member) for member in context.facts.people.on(context.stage.id)),
    )
    wave = kind_of(context.stage).next_wave(context.stage, thread, Random(0))
    return wave.purpose if wave.speakers else TALK
