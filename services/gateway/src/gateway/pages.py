"""What a participant's page shows, made from where the participant stands. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from gateway.resources.members import ProfileResource
from gateway.resources.participants import AskResource, Lock, Me, Page, StageMark, StagePage, ThreadState
from shared.contracts.experiment import StageConfig
from shared.db.standings import OpenAsk, Standing
from shared.stage import Member
from shared.stages import kind_of
from shared.views import People

State = Literal["done", "current", "locked", "upcoming"]


def state_of(standing: Standing, index: int) -> State:
    """How far the participant is with the stage at this place of their way."""
    if index != standing.position:
        return "done" if index < standing.position else "upcoming"
    return "locked" if standing.is_locked else "current"


def me(standing: Standing, cursor: int) -> Me:
    """The shell of the participant's page."""
    return Me(
        member_id=standing.member.id,
        cohort_id=standing.cohort_id,
        experiment_id=standing.experiment_id,
        profile=ProfileResource(**_profile(standing.member)),
        status=standing.status,
        status_reason=standing.status_reason,
        is_paused=standing.is_paused,
        stages=[_mark(standing, index) for index in range(len(standing.stage_ids))],
        stage_id=standing.stage.id if standing.stage else None,
        asks=[_ask(ask) for ask in standing.asks] if standing.is_in_progress else [],
        cursor=f"{standing.cohort_id}:{cursor}",
    )


def _ask(ask: OpenAsk) -> AskResource:
    return AskResource(id=ask.id, stage_id=ask.stage_id, key=ask.key, purpose=ask.purpose, opened_at=ask.opened_at)


def _profile(member: Member) -> dict[str, str]:
    profile = member.profile
    return {"name": profile.name, "avatar": profile.avatar, "pronouns": profile.pronouns}


def _mark(standing: Standing, index: int) -> StageMark:
    stage = standing.design.stage(standing.stage_ids[index])
    return StageMark(id=stage.id, title=stage.title, kind=stage.kind, state=state_of(standing, index))


def page(standing: Standing, cursor: int, company: People | None, now: datetime) -> Page:
    """Where the participant is now."""
    stage = standing.stage
    is_shown = stage is not None and standing.is_in_progress
    return Page(
        me=me(standing, cursor),
        page=stage_page(standing, stage, company, now) if stage is not None and is_shown else None,
    )


def stage_page(standing: Standing, stage: StageConfig, company: People | None, now: datetime) -> StagePage:
    """What one stage shows that the participant has reached; `company`: who else is in the cohort."""
    state = state_of(standing, standing.stage_ids.index(stage.id))
    assert state != "upcoming"
    is_locked = state == "locked"
    if company is not None:
        standing = replace(standing, facts=replace(standing.facts, people=company))
    view = standing.view(stage, now)
    kind = kind_of(stage)
    return StagePage(
        stage_id=stage.id,
        kind=stage.kind,
        state=state,
        lock=_lock(standing, stage) if is_locked else None,
        view=None if is_locked else kind.public_view(stage, view),
        answer=kind.shown_answer(standing.page(stage.id)),
        blocked_by=kind.blocked_by(stage, view) if state == "current" else [],
        thread=None if is_locked else _thread(standing, stage),
        asks=[_ask(ask) for ask in standing.asks if ask.stage_id == stage.id and standing.is_in_progress],
    )


def _lock(standing: Standing, stage: StageConfig) -> Lock:
    if not stage.progress.show_progress or stage.id not in standing.arrived:
        return Lock(reason="Waiting for others.", arrived=None, expected=None)
    arrived, expected = standing.arrived[stage.id]
    return Lock(reason=f"Waiting for others: {arrived} of {expected} have arrived.", arrived=arrived, expected=expected)


def _thread(standing: Standing, stage: StageConfig) -> ThreadState | None:
    thread: Mapping[str, Any] | None = standing.threads.get(stage.id)
    if thread is None:
        return None
    return ThreadState(id=thread["id"], last_seq=thread["last_seq"], has_ended=thread["ended_at"] is not None)
