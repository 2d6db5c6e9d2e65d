"""What a stage comes to by itself: what is drawn, moves of scripts, what counts for those who have gone, and the state.

Pure; settling, cohorts of scripts, previews, data and the checks of kinds come here.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.languages import language_of_names
from parley_lab.kinds import Json, LabView, Member, Question, Substitute
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.stages import parts_of
from parley_lab.views.builder import Facts, People, lab_view, own_view, stated, with_moves

Moves = Mapping[tuple[UUID, str], Json]
"""Answers by member and key."""

_MOST_PASSES: Final = 10_000
"""A kind that names more questions to those who have gone names them without end."""


@dataclass(frozen=True, slots=True)
class Played:
    """`view` has everything; `scripted` and `passed` are what of its answers is new."""

    view: LabView
    scripted: Moves
    passed: Moves
    """What counts instead of answers of those who have gone."""

    def facts(self, facts: Facts, stage: StageConfig) -> Facts:
        """The same facts with all of it."""
        return facts.with_answers(stage.id, self.view.answers).with_state(stage.id, self.view.state)


def play_on(facts: Facts, stage: StageConfig, rng_of: Callable[[str], Random] | None = None) -> Played:
    """The stage once scripts have made their moves, one thing after another, and nothing is due of those who have gone,
    nor of paused members for whom alone the others would wait.

    Without `rng_of` scripts make no moves.
    """
    scripts = parts_of(stage).scripts if rng_of is not None else None
    view = stated(stage, lab_view(facts, stage))
    scripted: dict[tuple[UUID, str], Json] = {}
    passed: dict[tuple[UUID, str], Json] = {}
    while True:
        moves: Moves = {} if scripts is None or rng_of is None else scripts.play(view, rng_of)
        new = {at: value for at, value in moves.items() if at[1] not in view.answers.get(at[0], {})}
        scripted |= new
        if not new:
            new = dict(_passes(facts, stage, view, _gone(facts, stage), lambda question: question.passed()))
            paused = [] if new else _waited_for_in_a_pause(facts, stage, view)
            new |= _passes(facts, stage, view, paused, lambda question: question.paused())
            passed |= new
        if not new:
            return Played(view, scripted, passed)
        if len(passed) > _MOST_PASSES:
            raise RuntimeError(f"stage {stage.id!r} ({stage.kind}) asks those who have gone without end")
        view = stated(stage, with_moves(view, new))


def _gone(facts: Facts, stage: StageConfig) -> list[UUID]:
    return [one.id for one in facts.people.rows if _will_not_answer(one, stage)]


def _waited_for_in_a_pause(facts: Facts, stage: StageConfig, view: LabView) -> list[UUID]:
    """Members who are paused, once nothing is due of those who are there: then nothing else holds the stage up.

    While no participant is there, there is no one who waits.
    """
    paused = [one.id for one in facts.people.rows if one.status == "paused" and not one.is_beyond(stage.id)]
    questions, here = parts_of(stage).questions, [one for one in facts.people.on(stage.id) if one.present]
    if not paused or questions is None or not plays_together(parts_of(stage)):
        return []
    if not any(one.kind == "participant" for one in here):
        return []
    known = facts.with_answers(stage.id, view.answers).with_state(stage.id, view.state)
    is_asked = any(questions.due(own_view(known, stage, one.id)) for one in here if one.player != "script")
    return [] if is_asked else paused


def _passes(
    facts: Facts,
    stage: StageConfig,
    view: LabView,
    gone: Collection[UUID],
    instead_of: Callable[[Question], Substitute | None],
) -> Iterator[tuple[tuple[UUID, str], Json]]:
    """What counts for those who will not answer what is due of them: each by their own view."""
    parts = parts_of(stage)
    if parts.state is None or parts.questions is None:
        return
    known = facts.with_answers(stage.id, view.answers).with_state(stage.id, view.state) if gone else facts
    for member_id in gone:
        own = own_view(known, stage, member_id)
        for ask in parts.questions.due(own):
            question = parts.questions.question(own, ask)
            instead = None if question is None else instead_of(question)
            if instead is not None:
                yield (member_id, ask.key), instead.value


def _will_not_answer(one: Attendee, stage: StageConfig) -> bool:
    """A member who has gone, or a script on a stage that plays no scripts."""
    has_no_script = one.player == "script" and parts_of(stage).scripts is None and one.stage_id == stage.id
    return has_no_script or one.has_gone_from(stage.id)


def drawn(
    stage: StageConfig,
    *,
    seed: int,
    cohort_name: str,
    arrived: Sequence[Member],
    before: Mapping[str, Json] | None = None,
    brought: Mapping[str, Json] | None = None,
    given: Mapping[str, Json] | None = None,
    levels: Mapping[str, str] | None = None,
    language: str | None = None,
) -> dict[str, Json]:
    """What is drawn on a stage for the participants who have arrived.

    `before` is what was drawn for earlier ones; before the first draw it is what the file has `given` for the cohort.
    `brought` is what counts as drawn for members who came with the stage behind them.

    The chance belongs to the cohort's name and not to its position: a cohort that the file names keeps its draws when
    others are added or moved. What the arms of a design share belongs to the name without the `levels` of an arm.
    `language` is that of the experiment.
    """
    draws = parts_of(stage).draws
    if draws is None:
        return dict(before or {})
    if not before:
        name = _without_levels(cohort_name, levels or {})
        shared = seeds.rng(seed, f"{name}/{stage.id}/draw")
        before = {**draws.beginning(shared, language_of_names(language)), **(given or {})}
    return draws.draw(arrived, {**before, **(brought or {})}, seeds.rng(seed, f"{cohort_name}/{stage.id}/draw"))


def _without_levels(cohort_name: str, levels: Mapping[str, str]) -> str:
    """`tft-vs-alld-3` for `tft-vs-alld-neutral-3`, as pairings name their cohorts; any other name as it is."""
    arm, _, replicate = cohort_name.rpartition("-")
    pair = _without_ends(arm, [*levels.values()])
    return cohort_name if not levels or pair is None else f"{pair}-{replicate}"


def _without_ends(name: str, levels: Sequence[str]) -> str | None:
    """The name without all of these levels at its end, whatever their order; None: it has not all of them. Keys of
    stored objects keep no order."""
    if not levels:
        return name
    shorter = (
        _without_ends(name.removesuffix(f"-{level}"), [*levels[:place], *levels[place + 1 :]])
        for place, level in enumerate(levels)
        if name.endswith(f"-{level}") and level not in levels[:place]
    )
    return next((found for found in shorter if found is not None), None)


def seated(rows: Sequence[Attendee], stage: StageConfig, arrived: Sequence[Attendee]) -> list[Attendee]:
    """For whom a stage draws: who has arrived; with too few of them, when no more come, who has gone or is paused, too.

    Then what is due of those counts as passed, and no member waits for a seat that stays empty.
    """
    least, _ = parts_of(stage).players
    if plays_together(parts_of(stage)):
        # Who has played in another cohort does not play again.
        rows = [one for one in rows if not one.came_past(stage.id)]
        arrived = [one for one in arrived if not one.came_past(stage.id)]
    takers = [one for one in rows if one.kind == "participant" and stage.id in one.stage_ids]
    is_awaited = any(one.may_still_come_to(stage.id) and one.status != "paused" for one in takers)
    if len(arrived) >= least or is_awaited:
        return list(arrived)
    absent = (one for one in takers if one.has_gone_from(stage.id) or one.status == "paused")
    return [*arrived, *(one for one in absent if one not in arrived)]


def alone(facts: Facts, stage: StageConfig, member_id: UUID) -> Facts:
    """The facts as if the member were on the stage and no other member would answer there any more.

    Then the member is asked what it is asked next in any case, be it after others.
    """
    here = [
        replace(one, status="in_progress", position=one.stage_ids.index(stage.id))
        if one.id == member_id
        else replace(one, status="left")
        for one in facts.people.rows
    ]
    left = replace(facts, people=People(tuple(here)))
    return left if parts_of(stage).state is None else play_on(left, stage).facts(left, stage)
