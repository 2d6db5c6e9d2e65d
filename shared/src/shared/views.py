"""Makes what the rules of a stage read: members, draws, and the stage with the lab's eyes. Pure.

Settling, prompts, previews and data files come here, so that a preview shows what a run draws, and the data what was
settled.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from shared import seeds
from shared.contracts.experiment import ChatSettings, Profile, StageConfig
from shared.stage import Json, Member, StageView
from shared.stages import kind_of


def member_of(
    *,
    id: UUID | str,
    path: str,
    kind: str,
    player: str,
    profile: Mapping[str, Any],
    present: bool,
    awaited: bool = False,
    chat: Mapping[str, Any] | None = None,
    script: Mapping[str, Mapping[str, Json]] | None = None,
    persona: str | None = None,
) -> Member:
    """The member that a row tells of. Nothing is checked again: what is stored was checked before."""
    return Member(
        id=id if isinstance(id, UUID) else UUID(id),
        path=path,
        kind="mediator" if kind == "mediator" else "participant",
        player="person" if player == "person" else "agent" if player == "agent" else "script",
        profile=Profile.model_construct(**profile),
        present=present,
        awaited=awaited,
        chat=ChatSettings.model_construct(**(chat or {})),
        script=script or {},
        persona=persona or "",
    )


def drawn(
    stage: StageConfig,
    *,
    seed: int,
    cohort_name: str,
    arrived: Sequence[Member],
    before: Mapping[str, Json] | None = None,
    levels: Mapping[str, str] | None = None,
) -> dict[str, Json]:
    """What is drawn on a stage for the participants who have arrived; `before` is what was drawn for earlier ones.

    The chance belongs to the cohort's name and not to its position: a cohort that the file names keeps its draws when
    others are added or moved. What is matched across the arms of a design belongs to the name without the `levels`
    of its arm.
    """
    kind = kind_of(stage)
    if not before:
        name = _without_levels(cohort_name, levels or {})
        before = kind.matched(stage, seeds.rng(seed, f"{name}/{stage.id}/draw"))
    return kind.draw(stage, arrived, before, seeds.rng(seed, f"{cohort_name}/{stage.id}/draw"))


def _without_levels(cohort_name: str, levels: Mapping[str, str]) -> str:
    """`tft-vs-alld-3` for `tft-vs-alld-neutral-3`, as pairings name their cohorts; any other name as it is."""
    arm, _, replicate = cohort_name.rpartition("-")
    cell = "".join(f"-{level}" for level in levels.values())
    return f"{arm.removesuffix(cell)}-{replicate}" if cell and arm.endswith(cell) else cohort_name


def lab_view(
    stage: StageConfig,
    *,
    members: Iterable[Member],
    draws: Mapping[str, Json],
    answers: Mapping[tuple[UUID, str], Json],
    variables: Mapping[str, Json],
) -> StageView:
    """The stage with the lab's eyes: all answers, and what they come to."""
    return with_state(stage, StageView(members=tuple(members), draws=draws, answers=answers, variables=variables))


def alone(view: StageView, member_id: UUID) -> StageView:
    """The stage as if nobody else could answer: then this member is asked what it is asked next in any case."""
    there = (replace(one, present=one.id == member_id, awaited=False) for one in view.members)
    return replace(view, members=tuple(there), reader=None)


def with_state(stage: StageConfig, view: StageView) -> StageView:
    """The view, which has all answers, with what they come to."""
    return replace(view, state=kind_of(stage).public_state(stage, view))
