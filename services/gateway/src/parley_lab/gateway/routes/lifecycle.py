"""Pausing, resuming, ending and deleting experiments."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query

from parley_lab.design import Experiment
from parley_lab.drafts import limits
from parley_lab.experiments import ending, pausing, reviving
from parley_lab.gateway.context import ApiKey, Context, InContext, UrgentKey
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.acts import ReasonRequest
from parley_lab.gateway.resources.experiments import (
    CallLimitRequest,
    CallLimitResource,
    ExperimentResource,
    LimitResource,
    LimitsResource,
    RetryOfFailed,
)
from parley_lab.gateway.routes.experiments import owned, require_models, resource_of
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Session

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@router.post("/experiments/{experiment_id}/pause", summary="Pause an experiment")
async def pause(
    experiment_id: UUID, context: InContext, key: UrgentKey, body: ReasonRequest | None = None
) -> ExperimentResource:
    """From the answer on nothing is published, asked, timed or paid in it. Calls in flight are stored when they come
    back, and used after the pause. What people send is refused with the reason `paused`. Idempotent.
    """

    return await _changed(
        context, key, experiment_id, lambda session, row: pausing.pause(session, row.id, context.clock.now()), body
    )


@router.post("/experiments/{experiment_id}/resume", summary="Go on with a paused experiment")
async def resume(
    experiment_id: UUID, context: InContext, key: UrgentKey, body: ReasonRequest | None = None
) -> ExperimentResource:
    """It goes on where it was: timers have as long to go as they had. Idempotent. Real models are
    refused unless everything that they need says so."""

    async def go_on(session: Session, row: Any) -> None:
        if row.status == "paused":
            await require_models(session, context, Experiment.model_validate(row.document), row.model_mode)
        await pausing.resume(session, row.id, context.clock.now())

    return await _changed(context, key, experiment_id, go_on, body)


@router.post("/experiments/{experiment_id}/end", summary="End an experiment with the data that there are")
async def end(
    experiment_id: UUID, context: InContext, key: UrgentKey, body: ReasonRequest | None = None
) -> ExperimentResource:
    """Conversations are closed, members who have not finished are removed, and nothing more happens.
    Idempotent."""

    return await _changed(
        context, key, experiment_id, lambda session, row: ending.end(session, row.id, context.clock.now()), body
    )


async def _changed(
    context: Context,
    key: str,
    experiment_id: UUID,
    change: Callable[[Session, Any], Awaitable[object]],
    body: ReasonRequest | None,
) -> ExperimentResource:
    """The experiment after `change`, which is given its row."""

    async def work(session: Session) -> ExperimentResource:
        reason = (body or ReasonRequest()).reason
        await change(session, await owned(session, context, key, experiment_id, "write", reason=reason))
        return await resource_of(session, experiment_id)

    return await context.database.transact(work, statement_seconds=WHOLE_EXPERIMENT_SECONDS)


@router.post("/experiments/{experiment_id}/retry-failed", summary="Ask those again who failed")
async def retry_failed(
    experiment_id: UUID, context: InContext, key: ApiKey, body: ReasonRequest | None = None
) -> RetryOfFailed:
    """Agents who failed for good go on where they were, and what they were asked there is asked again. An experiment
    that has ended goes on with them; real models are refused unless everything that they need says so. A conversation
    that they missed stays missed. Idempotent, until a member fails again."""
    reason = (body or ReasonRequest()).reason

    async def work(session: Session) -> RetryOfFailed:
        row = await owned(session, context, key, experiment_id, "write", reason=reason)
        if row.status == "ended":
            await require_models(session, context, Experiment.model_validate(row.document), row.model_mode)
        found = await reviving.retry_failed(session, experiment_id, context.clock.now())
        return RetryOfFailed(members=found.members, asks=found.asks)

    return await context.database.transact(work, statement_seconds=WHOLE_EXPERIMENT_SECONDS)


@router.get("/experiments/{experiment_id}/limits", summary="What an experiment may do at most, and has done")
async def read_limits(experiment_id: UUID, context: InContext, key: ApiKey) -> LimitsResource:
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
        limit = await limits.call_limit(session, experiment_id)
        made = await limits.calls_made(session, experiment_id)
    return LimitsResource(calls=LimitResource(most=None if limit is None else limit.most, made=made))


@router.put("/experiments/{experiment_id}/max-calls", summary="Limit the calls of models of an experiment")
async def limit_calls(
    experiment_id: UUID, body: CallLimitRequest, context: InContext, key: ApiKey
) -> CallLimitResource:
    """It is paused when one more call is wanted than there may be, those included that it has made. Where that has
    happened, raise the limit and resume it."""

    async def work(session: Session) -> CallLimitResource:
        await owned(session, context, key, experiment_id, "write", reason=body.reason)
        await limits.set_most_calls(session, experiment_id, body.calls)
        found = await limits.call_limit(session, experiment_id)
        return CallLimitResource(calls=body.calls, made=found.taken if found is not None else 0)

    return await context.database.transact(work)


@router.delete("/experiments/{experiment_id:uuid}", status_code=204, summary="Delete an experiment and all its data")
async def delete(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    reason: Annotated[str, Query(max_length=500, pattern=NO_NUL, description="Why; it is kept.")] = "",
) -> None:
    """A running one is ended first. Nothing of it can be had back; export what you need before."""
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "write", reason=reason)
    await ending.delete(context.database, experiment_id, context.clock.now())
