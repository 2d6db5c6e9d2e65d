"""Prompt previews: what an agent was shown, would be shown now, or would be shown in an experiment not started yet."""

import asyncio
from typing import Any
from uuid import UUID

from fastapi import APIRouter

from parley_lab.base.errors import Unavailable
from parley_lab.contracts.experiment import Persona, PersonaId, Slug
from parley_lab.contracts.prompts import DraftPreview, MemberPreview, PreviewQuestion, StagePreview
from parley_lab.design import Experiment, with_persona
from parley_lab.design.personas import as_written
from parley_lab.experiments import personas
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.members import PromptMessage, PromptRequest, PromptResource
from parley_lab.gateway.routes.experiments import owned
from parley_lab.store import keys, ownership

router = APIRouter(prefix="/v1", tags=["prompts"], route_class=Route)


@router.get("/members/{member_id}/prompt", summary="What an agent would be shown now")
async def of_member(member_id: UUID, context: InContext, key: ApiKey, stage: Slug | None = None) -> PromptResource:
    """On the stage where it is, or on another one of its way. With an open draft it is that draft's prompt."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_member(session, member_id, owner.id)
    return await _preview(context, MemberPreview(member_id=member_id, stage_id=stage))


@router.get("/drafts/{draft_id}/prompt", summary="What the author of a draft was or will be shown")
async def of_draft(draft_id: UUID, context: InContext, key: ApiKey) -> PromptResource:
    """Once a model was called it is what was really sent."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_draft(session, draft_id, owner.id)
    return await _preview(context, DraftPreview(draft_id=draft_id))


@router.get("/experiments/{experiment_id}/prompt", summary="What a persona would be shown on a stage")
async def of_stage(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    persona: PersonaId,
    stage: Slug,
    treatment: Slug | None = None,
) -> PromptResource:
    """As when the stage has just opened: all members are there, without any messages or answers."""
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
    return await _preview(
        context,
        StagePreview(experiment_id=experiment_id, persona_id=persona, stage_id=stage, treatment_id=treatment),
    )


@router.post("/experiments/{experiment_id}/prompt", summary="What any persona would be shown on a stage")
async def of_persona(experiment_id: UUID, body: PromptRequest, context: InContext, key: ApiKey) -> PromptResource:
    """The same for a persona of the library, or one that is only written here. One that has no seat is shown the stage
    on the first seat of an agent, without agents on the first open one. Nothing is stored."""
    async with context.database.transaction() as session:
        row = await owned(session, context, key, experiment_id, "read")
        experiment = Experiment.model_validate(row.document)
        fields = body.persona
        if isinstance(fields, str) and fields not in {one.id for one in experiment.personas}:
            fields = as_written((await personas.find(session, row.owner_id, fields)).persona)
    guest = None if isinstance(fields, str) else await asyncio.to_thread(_guest, experiment, fields)
    return await _preview(
        context,
        StagePreview(
            experiment_id=experiment_id,
            persona_id=str(fields) if guest is None else guest.id,
            stage_id=body.stage,
            treatment_id=body.treatment,
            persona=guest,
        ),
    )


def _guest(experiment: Experiment, fields: dict[str, Any]) -> Persona:
    """The persona, checked as if the file had it."""
    others = tuple(one for one in experiment.personas if one.id != fields.get("id"))
    return with_persona(experiment.model_copy(update={"personas": others}), fields).personas[-1]


async def _preview(context: Context, question: PreviewQuestion) -> PromptResource:
    if context.prompt_builder is None:
        raise Unavailable("This gateway does not know where the prompt builder is.")
    found = await context.prompt_builder.preview(question)
    prompt = found.prompt
    return PromptResource(
        draft_id=found.draft_id,
        was_sent=found.was_sent,
        messages=[PromptMessage(role=message.role, content=message.content) for message in prompt.messages],
        reply_schema=prompt.reply_schema,
        purpose=prompt.purpose,
        fingerprint=prompt.fingerprint,
        left_out=prompt.left_out,
    )
