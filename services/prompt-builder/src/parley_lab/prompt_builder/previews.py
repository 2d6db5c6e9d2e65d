"""Prompts for people to read, made by the same code as those that are sent."""

from dataclasses import replace
from random import Random
from uuid import UUID

from parley_lab.base.errors import Conflict
from parley_lab.contracts.models import ChatMessage
from parley_lab.contracts.prompts import (
    DraftPreview,
    MemberPreview,
    Preview,
    PreviewQuestion,
    StagePreview,
    fingerprint,
)
from parley_lab.design import Experiment
from parley_lab.drafts.context import PromptContext, member_context, prompt_context, sent_messages
from parley_lab.experiments import experiments
from parley_lab.kinds import Ask
from parley_lab.kinds.parts import Talk
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.view import TALK, Speaker, Thread
from parley_lab.prompt_builder.examples import as_guest, example_context
from parley_lab.prompt_builder.rendering import render
from parley_lab.store.session import Database, ReadSession
from parley_lab.views.builder import own_view
from parley_lab.views.playing import alone


async def preview(database: Database, question: PreviewQuestion) -> Preview:
    """The prompt that is asked for.

    Raises:
        NotFound: there is no such member, stage or draft, or it asks nothing of a model.
        Conflict: nothing is asked any more, since all has been answered.
        Unavailable: Postgres cannot be reached.
    """
    async with database.read() as session:
        if isinstance(question, DraftPreview):
            return await _of_draft(session, question.draft_id)
        if isinstance(question, MemberPreview):
            return await _of_member(session, question)
        return await _of_stage(session, question)


async def _of_draft(session: ReadSession, draft_id: UUID) -> Preview:
    prompt = render(await prompt_context(session, draft_id))
    sent = await sent_messages(session, draft_id)
    if sent is None:
        return Preview(prompt=prompt, draft_id=draft_id)
    messages = tuple(ChatMessage.model_validate(message) for message in sent)
    shown = prompt.model_copy(update={"messages": messages, "fingerprint": fingerprint(messages)})
    return Preview(prompt=shown, draft_id=draft_id, was_sent=True)


async def _of_member(session: ReadSession, question: MemberPreview) -> Preview:
    context, draft_id = await member_context(session, question.member_id, question.stage_id)
    if draft_id is not None:
        return await _of_draft(session, draft_id)
    return Preview(prompt=render(as_asked(context)))


async def _of_stage(session: ReadSession, question: StagePreview) -> Preview:
    row = await experiments.find(session, question.experiment_id)
    experiment = Experiment.model_validate(row.document)
    if question.persona is not None:
        experiment = as_guest(experiment, question.persona)
    context = example_context(
        experiment,
        question.experiment_id,
        seed=row.seed,
        persona_id=question.persona_id,
        stage_id=question.stage_id,
        treatment_id=question.treatment_id,
        is_guest=question.persona is not None,
    )
    return Preview(prompt=render(as_asked(context)))


def as_asked(context: PromptContext) -> PromptContext:
    """The context with the author's next ask on its stage, even if others are asked before.

    Raises:
        Conflict: it has answered all that is asked there.
    """
    parts, stage = parts_of(context.stage), context.stage
    if parts.talk is not None:
        return replace(context, ask=replace(context.ask, purpose=_purpose(context, parts.talk)))
    if parts.questions is None:
        return context
    me = context.author.id
    view, then = context.view(stage), alone(context.facts, stage, me)
    wanted = (*parts.questions.due(view), *parts.questions.due(own_view(then, stage, me)))
    # Without any ask the page is empty, or written by the lab.
    was_asked = parts.questions.most_replies() != 0 and any(answer != {} for answer in view.own.values())
    if not wanted and was_asked:
        raise Conflict(
            f"{context.author.name} has answered all that was asked on {stage.id!r}; nothing is asked there any more. "
            "Its drafts say what it was asked.",
            reason="ask_closed",
        )
    return replace(context, ask=next(iter(wanted), Ask(me, "", TALK)))


def _purpose(context: PromptContext, talk: Talk) -> str:
    """The purpose of an ask in an empty room: to talk if one likes, or to speak."""
    thread = Thread(
        pace="live",
        trigger_key="start",
        message_count=0,
        agent_run=0,
        speakers=tuple(Speaker(member) for member in context.facts.people.on(context.stage.id)),
    )
    wave = talk.next_wave(thread, Random(0))
    return wave.purpose if wave.speakers else TALK
