"""What a cohort is asked on a stage whose asks depend on what others answered: the state, scripted moves, new asks."""

from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from functools import partial
from random import Random
from uuid import UUID

from parley_lab.answers import asking
from parley_lab.base import seeds
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Ask, Done, Json, LabView
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.members.cohort_state import CohortState
from parley_lab.members.parts import with_parts
from parley_lab.members.standings import standing_of
from parley_lab.settle import playing
from parley_lab.store.session import ReadSession, Session
from parley_lab.views.builder import Facts, own_view
from parley_lab.views.playing import Played, play_on


async def settle_asks(
    session: Session, cohort: CohortState, stage: StageConfig, draws: Mapping[str, Json], now: datetime
) -> tuple[LabView, list[UUID]]:
    """Open what is due on this stage. Safe to repeat.

    Returns the stage as it is now, and the agents and scripts who have nothing left to do there. The caller holds the
    cohort's lock. Members' locks are taken.

    Raises:
        MemberIsBack: a member who had gone is back; the transaction must be rolled back.
    """
    counted = cohort.counted
    assert counted is not None
    facts = await with_parts(session, cohort.facts({stage.id: draws}), cohort.id, [stage])
    played = played_out(cohort, facts, stage)
    # What counts for those who have moved is made anew each time: their answers are those of the cohort where they are,
    # or where they have played.
    elsewhere = {one.id for one in cohort.members if one.has_moved or one.came_past(stage.id)}
    passed = {at: value for at, value in played.passed.items() if at[0] not in elsewhere}
    if passed:
        await playing.write_passed(session, cohort.id, stage.id, passed, as_of=cohort.as_of, now=now)
    if played.scripted:
        await playing.write_scripted(session, cohort.id, stage.id, played.scripted, as_of=cohort.as_of, now=now)
    view, facts = played.view, played.facts(facts, stage)
    wanted = wanted_of_all(facts, stage)
    new = [ask for ask in wanted if (stage.id, ask.member_id, ask.key) not in counted.open]
    through = await _through(session, cohort, stage, new, now)
    new = [ask for ask in new if ask.member_id not in through]
    await asking.open_shared_asks(session, cohort, stage.id, new, view.state, as_of=cohort.as_of, now=now)
    agents = [one.id for one in cohort.members if one.id in through and one.player != "person"]
    return view, [*_done(facts, stage, {ask.member_id for ask in wanted}), *agents]


async def _through(
    session: ReadSession, cohort: CohortState, stage: StageConfig, asks: Sequence[Ask], now: datetime
) -> set[UUID]:
    """Those of the members asked who have answered rightly as they read the stage: what is right differs for each."""
    questions = parts_of(stage).questions
    if questions is None or not questions.must_be_own or stage.id not in cohort.design.unfilled:
        return set()
    through = set()
    for member_id in {ask.member_id for ask in asks}:
        standing = await standing_of(session, member_id, drawn_on=(stage.id,))
        own = standing.design.stage(stage.id)
        of_reader = parts_of(own).questions
        if of_reader is not None and not of_reader.due(standing.view(own, now)):
            through.add(member_id)
    return through


def wanted_of_all(facts: Facts, stage: StageConfig) -> list[Ask]:
    """What everybody who is there is asked now, each by their own view."""
    here = (one.id for one in facts.people.on(stage.id) if one.present and one.player != "script")
    questions = parts_of(stage).questions
    if questions is None:
        return []
    return [ask for member_id in here for ask in questions.due(own_view(facts, stage, member_id))]


def played_out(cohort: CohortState, facts: Facts, stage: StageConfig) -> Played:
    """What the stage comes to by itself: moves of scripts, what counts for those who have gone, and the state."""
    return play_on(facts, stage, partial(_rng_of, cohort, stage))


def _rng_of(cohort: CohortState, stage: StageConfig, path: str) -> Random:
    return seeds.rng(cohort.seed, f"{cohort.name}/{stage.id}/{path}")


def _done(facts: Facts, stage: StageConfig, asked: Container[UUID]) -> list[UUID]:
    kind = kind_of(stage)
    agents = [
        own_view(facts, stage, member.id)
        for member in facts.people.on(stage.id)
        if member.kind == "participant" and member.player != "person" and member.present and member.id not in asked
    ]
    return [own.me.id for own in agents if isinstance(kind.completion(stage, own), Done)]
