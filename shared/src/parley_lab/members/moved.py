"""Where a member is after it has gone on: most of it is known, and only the rest is read."""

from dataclasses import replace

from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Done, End
from parley_lab.kinds.effects import SetProfile
from parley_lab.kinds.reads import of_everybody
from parley_lab.kinds.stages import parts_of
from parley_lab.members.standing import Standing
from parley_lab.members.standings import Ahead, looking_ahead, read_by_round, standing_of
from parley_lab.store.session import ReadSession
from parley_lab.views.builder import People, member_of


async def after_step(session: ReadSession, standing: Standing, done: Done, ahead: Ahead) -> Standing:
    """The standing of a member whose lock is held, after a step has moved it on from the stage in this way.

    A locked stage may have been opened meanwhile, and what is drawn and known on a stage is of the whole cohort: that
    is looked up, and kept in `ahead`. A thread, parts of others and texts that are made for their reader have the
    member read anew.
    """
    moved = _moved(standing, done)
    if moved is None:
        return await standing_of(session, standing.member.id, drawn_on=())
    moved = replace(moved, stepped_version=moved.version)
    found = moved.stage
    if found is None or not (moved.is_locked or _is_of_all(found)):
        return moved
    return await looking_ahead(session, moved, found.id, ahead)


async def after_going_on(session: ReadSession, standing: Standing, done: Done) -> Standing:
    """The standing of a person after going on from where `standing` says, with all that their page shows.

    Where they wait or are through they are read anew, too.
    """
    moved = _moved(standing, done)
    if moved is None or moved.stage is None or moved.is_locked:
        return await standing_of(session, standing.member.id)
    # The times of the stage before go on, and matter no more.
    return replace(moved, timers=tuple(one for one in moved.timers if one.stage_id is None), begun={})


def _moved(standing: Standing, done: Done) -> Standing | None:
    """The standing at the next place; None where it has to be read anew."""
    here, position = standing.stage, standing.position + 1
    if here is None or any(isinstance(effect, End) for effect in done.effects):
        return None
    moved = replace(standing, position=position, version=standing.version + 1)
    found = moved.stage
    if found is None:
        return replace(moved, status="completed")
    if standing.design.unfilled or standing.design.orders or _has_more(here) or _has_more(found):
        return None
    row = replace(standing.facts.people.row(standing.member.id), position=position)
    for effect in done.effects:
        if isinstance(effect, SetProfile) and effect.profile.model_dump(mode="json") != row.profile:
            # Another in the cohort may have the name.
            return None
    return replace(
        moved,
        member=member_of(row, found.id),
        facts=replace(standing.facts, people=People((row,))),
        asks=() if any(ask.stage_id == here.id for ask in standing.asks) else standing.asks,
    )


def _has_more(stage: StageConfig) -> bool:
    """Whether more decides on the stage than the member's own answers, and what is drawn and known there."""
    parts = parts_of(stage)
    return parts.has_thread or bool(of_everybody(parts.reads)) or bool(read_by_round(stage))


def _is_of_all(stage: StageConfig) -> bool:
    parts = parts_of(stage)
    return parts.state is not None or parts.draws is not None
