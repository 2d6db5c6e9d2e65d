"""Makes what the rules of a stage read, from facts that were read elsewhere: members, draws, and the views. Pure.

Nothing else makes a `Member` of a row, or a view. Settling, steps, the check of an answer, prompts, pages, previews and
data files read `Facts` in their own ways and come here, so that all of them see the same: a preview shows what a run
draws, the data what was settled, and a page the people whom a prompt lists.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from shared import seeds
from shared.audience import OUT, may_read
from shared.contracts.experiment import ChatSettings, Profile, StageConfig
from shared.stage import PAGE, Json, LabView, Member, Message, OwnView, Thread, View
from shared.stages import kind_of

Answers = Mapping[UUID, Mapping[str, Json]]
"""What was answered on one stage, by member and key."""

_ON_THE_WAY: Final = ("expected", "in_progress", "paused")


@dataclass(frozen=True, slots=True)
class Attendee:
    """A participant or mediator as a row tells of them; `position` counts the stages that lie behind them."""

    id: UUID
    path: str
    kind: str
    player: str
    status: str
    stage_ids: tuple[str, ...]
    position: int
    profile: Mapping[str, Any]
    provider: str | None = None
    script: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """How it acts without a model, by stage or kind of stage."""
    chat: Mapping[str, Any] = field(default_factory=dict)
    """How an agent talks: its chat settings."""
    persona: str = ""

    @property
    def stage_id(self) -> str | None:
        return self.stage_ids[self.position] if self.position < len(self.stage_ids) else None

    def has_come_to(self, stage_id: str) -> bool:
        """Whether the member is on this stage or beyond it, or was when it left."""
        return self.kind == "mediator" or stage_id in self.stage_ids[: self.position + 1]

    def may_still_come_to(self, stage_id: str) -> bool:
        """Whether the stage lies before the participant, who is on the way to it."""
        is_on_the_way = self.kind != "mediator" and self.status in _ON_THE_WAY and stage_id in self.stage_ids
        return is_on_the_way and self.position < self.stage_ids.index(stage_id)


def attendee(fields: Mapping[str, Any]) -> Attendee:
    """The member that a row tells of; a statement leaves out what its reader does not need."""
    found = fields["id"]
    return Attendee(
        id=found if isinstance(found, UUID) else UUID(str(found)),
        path=fields["path"],
        kind=fields["kind"],
        player=fields["player"],
        status=fields["status"],
        stage_ids=tuple(fields["stage_ids"]),
        position=fields["position"],
        profile=fields["profile"],
        provider=fields.get("provider"),
        script=fields.get("script") or {},
        chat=fields.get("chat") or {},
        persona=fields.get("persona") or "",
    )


def member_of(one: Attendee, stage_id: str) -> Member:
    """The member as the rules of this stage see it; a mediator is where the cohort is.

    Nothing is checked again: what is stored was checked before.
    """
    is_here = one.kind == "mediator" or one.stage_id == stage_id
    return Member(
        id=one.id,
        path=one.path,
        kind="mediator" if one.kind == "mediator" else "participant",
        player="person" if one.player == "person" else "agent" if one.player == "agent" else "script",
        profile=Profile.model_construct(**one.profile),
        present=is_here and one.status == "in_progress",
        awaited=one.may_still_come_to(stage_id),
        chat=ChatSettings.model_construct(**one.chat),
        script=one.script,
        persona=one.persona,
    )


@dataclass(frozen=True, slots=True)
class People:
    """The members of a cohort that were read, in the order in which views list them."""

    rows: tuple[Attendee, ...]
    _on: dict[str, tuple[Member, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _seen: dict[str, tuple[Member, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def on(self, stage_id: str) -> tuple[Member, ...]:
        """As the lab sees them on this stage."""
        if stage_id not in self._on:
            self._on[stage_id] = tuple(member_of(one, stage_id) for one in self.rows)
        return self._on[stage_id]

    def seen(self, stage_id: str) -> tuple[Member, ...]:
        """As others see them on this stage: no page or prompt can tell what they are not to know."""
        if stage_id not in self._seen:
            self._seen[stage_id] = tuple(
                replace(one, player="hidden", persona="", script={}) for one in self.on(stage_id)
            )
        return self._seen[stage_id]

    def place_of(self, member_id: UUID) -> int:
        return next(place for place, one in enumerate(self.rows) if one.id == member_id)

    def row(self, member_id: UUID) -> Attendee:
        return self.rows[self.place_of(member_id)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was read of a cohort, by stage: for settling all of it, for one member's step, page or prompt only a part.

    `whole` names the stages of which everybody's answers are there. `counted_at` has the number of the cohort's event
    at which each answer was first counted, where somebody looks back; `told` says who may read the page of another.
    `at` is the stage on which the reader is asked, where its row does not say so: a mediator goes through no
    stages. `partner` is the participant with whom a mediator is alone.
    """

    people: People
    draws: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    states: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """What everybody's answers came to when the cohort was last settled; of stages with shared asks."""
    answers: Mapping[str, Answers] = field(default_factory=dict)
    variables: Mapping[str, Json] = field(default_factory=dict)
    messages: Mapping[str, tuple[Message, ...]] = field(default_factory=dict)
    whole: Container[str] = ()
    counted_at: Mapping[str, Mapping[tuple[UUID, str], int | None]] = field(default_factory=dict)
    told: Mapping[str, Mapping[UUID, Sequence[str]]] = field(default_factory=dict)
    at: str | None = None
    partner: UUID | None = None

    def own(self, stage_id: str, member_id: UUID) -> Mapping[str, Json]:
        """What the member has answered on this stage, by key."""
        return self.answers.get(stage_id, {}).get(member_id, {})

    def with_answers(self, stage_id: str, answers: Answers) -> "Facts":
        """The same with these answers on the stage, instead of those that were read."""
        return replace(self, answers={**self.answers, stage_id: answers})

    def with_state(self, stage_id: str, state: Mapping[str, Json]) -> "Facts":
        return replace(self, states={**self.states, stage_id: state})


def public_view(facts: Facts, stage: StageConfig) -> View:
    """The stage for somebody who looks on: with the kept state, and nobody's answers."""
    return View(
        members=facts.people.on(stage.id),
        draws=facts.draws.get(stage.id, {}),
        state=facts.states.get(stage.id, {}),
        variables=facts.variables,
    )


def lab_view(facts: Facts, stage: StageConfig, *, as_of: int | None = None) -> LabView:
    """The stage with nobody's eyes: all answers and the kept state; as of a number, the state is made anew.

    Raises:
        ValueError: not everybody's answers were read.
    """
    if stage.id not in facts.whole:
        raise ValueError(f"the answers of everybody on {stage.id!r} were not read")
    view = LabView(
        members=facts.people.on(stage.id),
        draws=facts.draws.get(stage.id, {}),
        state=facts.states.get(stage.id, {}),
        variables=facts.variables,
        answers=_as_of(facts, stage.id, as_of),
    )
    return view if as_of is None else stated(stage, view)


def stated(stage: StageConfig, view: LabView) -> LabView:
    """The view with what its answers come to."""
    return replace(view, state=kind_of(stage).public_state(stage, view))


def with_moves(view: LabView, moves: Mapping[tuple[UUID, str], Json]) -> LabView:
    """The view once this was answered, too; its state is as it was."""
    answers = {owner: dict(entries) for owner, entries in view.answers.items()}
    for (owner, key), value in moves.items():
        answers.setdefault(owner, {})[key] = value
    return replace(view, answers=answers)


def own_view(
    facts: Facts, stage: StageConfig, reader: UUID, *, as_of: int | None = None, thread: Thread | None = None
) -> OwnView:
    """The stage with the eyes of one member; for a prompt as of the opening of its ask.

    As of a number, the answers are those that had been counted by then, and so is the state, if any were since.
    """
    row = facts.people.row(reader)
    me = member_of(row, stage.id)
    answers = _as_of(facts, stage.id, as_of)
    state = facts.states.get(stage.id, {})
    if as_of is not None and stage.id in facts.whole and answers != facts.answers.get(stage.id, {}):
        state = lab_view(facts, stage, as_of=as_of).state
    return OwnView(
        me=me,
        members=tuple(_met(facts, stage, row, me)),
        draws=facts.draws.get(stage.id, {}),
        state=state,
        variables=facts.variables,
        own=answers.get(reader, {}),
        shown=_shown(facts, stage.id, reader, answers),
        earlier=_earlier(facts, stage.id, row),
        thread=thread,
        messages=facts.messages.get(stage.id, ()),
    )


def _as_of(facts: Facts, stage_id: str, as_of: int | None) -> Answers:
    given = facts.answers.get(stage_id, {})
    if as_of is None:
        return given
    counted = facts.counted_at.get(stage_id, {})
    return {
        owner: known
        for owner, entries in given.items()
        if (known := {key: value for key, value in entries.items() if _is_known(counted.get((owner, key)), as_of)})
    }


def _is_known(counted_at: int | None, as_of: int) -> bool:
    return counted_at is not None and counted_at <= as_of


def _met(facts: Facts, stage: StageConfig, row: Attendee, me: Member) -> Iterator[Member]:
    """Whom the member meets: who has come to the stage and, if it is not over for it, who may still come.

    Talk in private is between the mediators and one participant, and a mediator has met nobody else there.
    """
    rows = facts.people.rows
    if len(rows) == 1:
        yield me
        return
    is_over = stage.id != facts.at if facts.at is not None else stage.id in row.stage_ids[: row.position]
    is_private = kind_of(stage).has_private_threads
    partner = facts.partner if row.kind == "mediator" else row.id
    for one, seen in zip(rows, facts.people.seen(stage.id), strict=True):
        if is_private and one.kind != "mediator" and one.id != partner:
            continue
        if one.id == row.id:
            yield me
        elif one.has_come_to(stage.id) or (not is_over and one.status not in OUT):
            yield seen


def _shown(facts: Facts, stage_id: str, reader: UUID, answers: Answers) -> dict[UUID, Json]:
    told = facts.told.get(stage_id, {})
    return {
        owner: answers[owner][PAGE]
        for owner, audience in told.items()
        if owner != reader and PAGE in answers.get(owner, {}) and may_read(str(reader), author=owner, audience=audience)
    }


def _earlier(facts: Facts, stage_id: str, row: Attendee) -> dict[str, Json]:
    """The member's pages of the stages that come before on its way."""
    before = row.stage_ids[: row.stage_ids.index(stage_id)] if stage_id in row.stage_ids else ()
    pages = ((one, facts.own(one, row.id)) for one in before)
    return {one: answers[PAGE] for one, answers in pages if PAGE in answers}


def alone(facts: Facts, stage: StageConfig, member_id: UUID) -> Facts:
    """The facts as if the member were on the stage and nobody else could answer there.

    Then the member is asked what it is asked next in any case, be it after others.
    """
    here = [
        replace(one, status="in_progress", position=one.stage_ids.index(stage.id))
        if one.id == member_id
        else replace(one, status="left")
        for one in facts.people.rows
    ]
    left = replace(facts, people=People(tuple(here)))
    if not kind_of(stage).has_shared_asks:
        return left
    return left.with_state(stage.id, stated(stage, lab_view(left, stage)).state)


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
