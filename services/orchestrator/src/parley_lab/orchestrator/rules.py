"""When a stage opens, who is there, and when a cohort is over: pure rules over who is where."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.lives import ARRIVED, COUNTED, ON_THE_WAY, OUTCOMES, TAKING_PART
from parley_lab.design.own_arms import why_shared
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.reads import of_everybody
from parley_lab.kinds.stages import parts_of
from parley_lab.members.cohort_state import CohortState


def participants(members: Iterable[Attendee]) -> list[Attendee]:
    return [member for member in members if member.kind == "participant"]


def awaited(members: Iterable[Attendee]) -> list[Attendee]:
    """The participants without the seats that are free again, for which no one waits."""
    return [member for member in participants(members) if not member.is_free_again]


def on_stage(members: Iterable[Attendee], stage_id: str) -> list[Attendee]:
    """The participants who are on this stage now."""
    return [member for member in participants(members) if member.status in TAKING_PART and member.stage_id == stage_id]


def has_arrived(member: Attendee, stage_id: str) -> bool:
    """Whether the member is on this stage or beyond it."""
    return member.status in ARRIVED and member.stage_ids.index(stage_id) <= member.position


def more_are_to_come(cohort: CohortState, stage_id: str) -> bool:
    """Whether a participant who is not on this stage now may still get to it, or come back to it."""
    return any(
        member.status in ON_THE_WAY
        and stage_id in member.stage_ids
        and member.position <= member.stage_ids.index(stage_id)
        and (member.status not in TAKING_PART or member.stage_id != stage_id)
        for member in awaited(cohort.members)
    )


def is_behind_all(members: Iterable[Attendee], stage_id: str) -> bool:
    """Whether the stage is over for all who are still there: no member is on it or on the way to it.

    Members who are not waited for do not hold it up.
    """
    return not any(
        member.status in COUNTED
        and stage_id in member.stage_ids
        and member.position <= member.stage_ids.index(stage_id)
        for member in awaited(members)
    )


def is_result_due(stage: StageConfig, cohort: CohortState) -> bool:
    """Whether all are through with the stage and its result is not made yet; one that never opened has none."""
    return (
        stage.id in cohort.draws
        and stage.id not in cohort.results
        and parts_of(stage).result is not None
        and is_behind_all(cohort.members, stage.id)
    )


def may_open(stage: StageConfig, cohort: CohortState) -> bool:
    """Whether a locked stage opens now.

    A stage that waits for no member is open from the start. Open seats are waited for, and so are those who are offered
    a place in the cohort. One that reads everybody's part of others opens when those are over. For people who are on
    the way to a group, neither the stage where groups are made nor one after it opens; in a later group, nothing does
    that its people shared with others. In pace `fast` a stage with a thread also waits for every agent, so that who is
    there when it begins does not depend on how long calls took; and so does the stage after one whose answers are for
    the cohort, so that all are read or none.
    """
    if cohort.meets_at is not None and _is_from(cohort.meets_at, stage, cohort):
        return False
    if cohort.begins_at is not None and not _is_from(cohort.begins_at, stage, cohort):
        return why_shared(stage, cohort.design.stages) is None
    if not all(is_behind_all(cohort.members, read) for read in of_everybody(parts_of(stage).reads)):
        return False
    counted = [
        member for member in awaited(cohort.members) if member.status in COUNTED and stage.id in member.stage_ids
    ]
    arrived = [member for member in counted if has_arrived(member, stage.id)]
    if len(arrived) < stage.progress.min_participants:
        return False
    if cohort.waits.get(stage.id) == "released":
        return False
    still_awaited = _awaited(stage, cohort, counted)
    if _awaited(stage, cohort, [member for member in cohort.incoming if _may_come_to(stage, cohort, member)]):
        return False
    if not still_awaited:
        return bool(arrived) or not _waits(stage, cohort)
    return all(has_arrived(member, stage.id) for member in still_awaited)


def waits_in_vain(stage: StageConfig, cohort: CohortState) -> bool:
    """Whether agents alone are left before this locked stage, too few for it: no person can come to it any more."""
    if cohort.incoming or (cohort.meets_at is not None and _is_from(cohort.meets_at, stage, cohort)):
        return False
    counted = [
        member
        for member in participants(cohort.members)
        if member.status in (*COUNTED, *ON_THE_WAY) and stage.id in member.stage_ids
    ]
    if any(member.player == "person" and not member.is_beyond(stage.id) for member in counted):
        return False
    return len(counted) < stage.progress.min_participants


def _is_from(first: str, stage: StageConfig, cohort: CohortState) -> bool:
    """Whether this stage is the first one or comes after it."""
    ids = cohort.design.stage_ids
    return ids.index(stage.id) >= ids.index(first)


def opens_for_some(stage: StageConfig) -> bool:
    """Whether the stage may open while others are on their way, and nothing but their own step brings them into it.

    An agent that comes while it is being opened may still have found it locked. A stage that reads everybody's part of
    others opens when those are over, wherever between them and itself the members are.
    """
    parts, progress = parts_of(stage), stage.progress
    is_early = progress.min_participants > 0 or progress.at_most_seconds is not None or bool(of_everybody(parts.reads))
    return is_early and parts.talk is None and parts.state is None


def _may_come_to(stage: StageConfig, cohort: CohortState, member: Attendee) -> bool:
    """Whether a member who is offered a place in the cohort would come to this stage with it: they keep theirs."""
    ids, here = cohort.design.stage_ids, member.stage_id
    return here is not None and here in ids and ids.index(here) <= ids.index(stage.id)


def fewest(stage: StageConfig, cohort: CohortState) -> int:
    """With how many participants at least a cohort goes on that has waited at this stage as long as it may."""
    ahead = cohort.design.stage_ids.index(stage.id)
    players = (parts_of(one).players[0] for one in cohort.design.stages[ahead:])
    return max(stage.progress.min_participants, *players)


def _waits(stage: StageConfig, cohort: CohortState) -> bool:
    return stage.progress.wait_for_all or _waits_for_agents(stage, cohort)


def _awaited(stage: StageConfig, cohort: CohortState, counted: Sequence[Attendee]) -> list[Attendee]:
    """Who has to come before the stage opens; of those for whom it has waited as long as it may, only agents."""
    has_waited = cohort.waits.get(stage.id)
    if stage.progress.wait_for_all and not has_waited:
        return list(counted)
    if has_waited == "filled" or _waits_for_agents(stage, cohort):
        return [member for member in counted if member.player != "person"]
    return []


def _waits_for_agents(stage: StageConfig, cohort: CohortState) -> bool:
    if cohort.pace != "fast":
        return False
    follows = any(one.audience == "cohort" and later.id == stage.id for one, later in pairwise(cohort.design.stages))
    return follows or parts_of(stage).has_thread


def place_of_thread(cohort: CohortState, stage: StageConfig, scope: str) -> tuple[UUID, str]:
    """The id and the path of a thread of this stage."""
    owner = scope.removeprefix("private:")
    is_of_cohort = owner == scope or owner.startswith(f"{cohort.path}/")
    # A member from another cohort must not get the place of a member of this one.
    path = f"{cohort.path}/{stage.id}/{owner.rpartition('/')[2] if is_of_cohort else owner.replace('/', '-')}"
    return seeds.row_id(cohort.experiment_id, path), path


def scopes_with_news(cohort: CohortState, stage: StageConfig) -> frozenset[str] | None:
    """The private threads to whose participants something has happened; None: look into all of them.

    A transaction that acts in a thread does all that is due there. A cohort in which hundreds talk in private would
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
    return all(member.status in OUTCOMES for member in participants(cohort.members))
