"""When a stage opens, who is there, and when a cohort is over: pure rules over who is where."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from shared import seeds
from shared.acts.settling import CohortState
from shared.contracts.experiment import StageConfig
from shared.db.tables.studies import MEMBER_END_STATES
from shared.stages import kind_of
from shared.views import Attendee

COUNTED = ("expected", "in_progress", "completed")
"""Who is counted when a stage waits: paused, failed, removed and gone members are not waited for."""


def participants(members: Iterable[Attendee]) -> list[Attendee]:
    return [member for member in members if member.kind == "participant"]


def on_stage(members: Iterable[Attendee], stage_id: str) -> list[Attendee]:
    """The participants who are on this stage now."""
    return [
        member for member in participants(members) if member.status == "in_progress" and member.stage_id == stage_id
    ]


def has_arrived(member: Attendee, stage_id: str) -> bool:
    """Whether the member is on this stage or beyond it."""
    return member.status in ("in_progress", "completed") and member.stage_ids.index(stage_id) <= member.position


def somebody_is_to_come(cohort: CohortState, stage_id: str) -> bool:
    """Whether a participant who is not on this stage now may still get to it, or come back to it."""
    return any(
        member.status in ("expected", "in_progress", "paused")
        and stage_id in member.stage_ids
        and member.position <= member.stage_ids.index(stage_id)
        and (member.status != "in_progress" or member.stage_id != stage_id)
        for member in participants(cohort.members)
    )


def may_open(stage: StageConfig, cohort: CohortState) -> bool:
    """Whether a locked stage opens now.

    A stage that waits for nobody is open from the start. Open seats are waited for. In pace `fast` a stage with
    a thread also waits for every agent, so that who is there when it begins does not depend on how long calls took.
    """
    counted = [
        member for member in participants(cohort.members) if member.status in COUNTED and stage.id in member.stage_ids
    ]
    arrived = [member for member in counted if has_arrived(member, stage.id)]
    if len(arrived) < stage.progress.min_participants:
        return False
    awaited = _awaited(stage, cohort.pace, counted)
    if not awaited:
        return bool(arrived) or not _waits(stage, cohort.pace)
    return all(has_arrived(member, stage.id) for member in awaited)


def _waits(stage: StageConfig, pace: str) -> bool:
    return stage.progress.wait_for_all or (pace == "fast" and kind_of(stage).thread is not None)


def _awaited(stage: StageConfig, pace: str, counted: Sequence[Attendee]) -> list[Attendee]:
    if stage.progress.wait_for_all:
        return list(counted)
    if pace == "fast" and kind_of(stage).thread is not None:
        return [member for member in counted if member.player != "person"]
    return []


def place_of_thread(cohort: CohortState, stage: StageConfig, scope: str) -> tuple[UUID, str]:
    """The id and the path of a thread of this stage."""
    path = f"{cohort.path}/{stage.id}/{scope.rpartition('/')[2]}"
    return seeds.row_id(cohort.experiment_id, path), path


def scopes_with_news(cohort: CohortState, stage: StageConfig) -> frozenset[str] | None:
    """The private threads to whose participants something has happened; None: look into all of them.

    Whoever does something in a thread does all that is due there. A cohort in which hundreds talk in private would
    otherwise go through all of their threads whenever one of them moves.
    """
    stage_ids = {stage.id for stage in cohort.design.stages}
    paths = {member.path for member in participants(cohort.members)}
    scopes = set()
    for subject in cohort.news:
        first, _, rest = subject.removeprefix(f"{cohort.path}/").partition("/")
        path = f"{cohort.path}/{rest.partition('/')[0] if first in stage_ids else first}"
        if path not in paths:
            return None
        scopes.add(f"private:{path}")
    return frozenset(scopes) or None


def is_over(cohort: CohortState) -> bool:
    """Whether every participant has come to an end, one way or another."""
    return all(member.status in MEMBER_END_STATES for member in participants(cohort.members))
