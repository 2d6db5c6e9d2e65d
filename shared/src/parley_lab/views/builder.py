"""Makes what the rules of a stage read, from facts that were read elsewhere: members, draws, and the views. Pure.

Nothing else makes a `Member` of a row, or a view. Settling, steps, the check of an answer, prompts, pages, previews and
data files read `Facts` in their own ways and come here, so that all of them see the same: a preview shows what a run
draws, the data what was settled, and a page the people whom a prompt lists.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, overload
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.contracts.audience import may_read_answers
from parley_lab.contracts.experiment import ChatSettings, Profile, StageConfig
from parley_lab.contracts.lives import OUT, TAKING_PART
from parley_lab.kinds import PAGE, Json, LabView, Member, OwnView
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.reads import Part, StageRead, of_everybody
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.view import Message, Thread, View

Answers = Mapping[UUID, Mapping[str, Json]]
"""What was answered on one stage, by member and key."""


def member_of(one: Attendee, stage_id: str, *, seat: int | None = None) -> Member:
    """The member as the rules of this stage see it; a mediator is where the cohort is.

    seat: of a view of the lab. Nothing is checked again: what is stored was checked before.
    """
    is_here = one.kind == "mediator" or one.stage_id == stage_id
    return Member(
        id=one.id,
        path=one.path,
        kind="mediator" if one.kind == "mediator" else "participant",
        player="person" if one.player == "person" else "agent" if one.player == "agent" else "script",
        profile=_profile(tuple(one.profile.items())),
        present=is_here and one.status in TAKING_PART,
        awaited=one.may_still_come_to(stage_id),
        chat=_chat_in(stage_id, one.chat),
        script=one.script,
        persona=one.persona,
        seat=seat,
    )


# Members are made anew for each look at a cohort, with the same profiles and settings.
@lru_cache(maxsize=4096)
def _profile(fields: tuple[tuple[str, Any], ...]) -> Profile:
    return Profile.model_construct(**dict(fields))


def _chat_in(stage_id: str, chat: Mapping[str, Any]) -> ChatSettings:
    fields = {name: value for name, value in chat.items() if name != "by_stage"}
    return _chat(tuple({**fields, **chat.get("by_stage", {}).get(stage_id, {})}.items()))


@lru_cache(maxsize=4096)
def _chat(fields: tuple[tuple[str, Any], ...]) -> ChatSettings:
    return ChatSettings.model_construct(**dict(fields))


def by_tag(seed: int, rows: Iterable[Attendee]) -> "People":
    """The members in the order in which others are shown them: by tags, drawn from seed and path.

    In the order of paths a list with oneself in it would tell where one sits. The same seed gives the same order.
    """
    return People(tuple(sorted(rows, key=lambda one: seeds.tag(seed, one.path))))


@dataclass(frozen=True, slots=True)
class People:
    """The members of a cohort that were read, in the order in which views list them."""

    rows: tuple[Attendee, ...]
    _on: dict[str, tuple[Member, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _seen: dict[str, tuple[Member, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def on(self, stage_id: str) -> tuple[Member, ...]:
        """As the lab sees them on this stage."""
        if stage_id not in self._on:
            self._on[stage_id] = tuple(member_of(one, stage_id, seat=one.seat) for one in self.rows)
        return self._on[stage_id]

    def seen(self, stage_id: str) -> tuple[Member, ...]:
        """As others see them on this stage: no page or prompt can tell what they are not to know."""
        if stage_id not in self._seen:
            self._seen[stage_id] = tuple(
                replace(one, player="hidden", persona="", script={}, seat=None) for one in self.on(stage_id)
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
    at which each answer was first counted, where a reader looks back. `over` names the stages that no participant is on
    or on the way to any more, of those whose answers are for all.
    `at` is the stage on which the reader is asked, where its row does not say so: a mediator goes through no
    stages. `partner` is the participant with whom a mediator is alone.
    """

    people: People
    draws: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    states: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """What everybody's answers came to when the cohort was last settled; of stages with shared asks."""
    results: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """What stages came to when all were through."""
    stages: Mapping[str, StageConfig] = field(default_factory=dict)
    """The stages of the arm: what others may read of them. Empty where no view of a stage that reads is made."""
    answers: Mapping[str, Answers] = field(default_factory=dict)
    variables: Mapping[str, Json] = field(default_factory=dict)
    messages: Mapping[str, tuple[Message, ...]] = field(default_factory=dict)
    whole: Container[str] = ()
    counted_at: Mapping[str, Mapping[tuple[UUID, str], int | None]] = field(default_factory=dict)
    over: Container[str] = ()
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


def draws_for(
    stages: Iterable[StageConfig],
    here: Mapping[str, Mapping[str, Json]],
    elsewhere: Mapping[str, Mapping[str, Json]] | None,
) -> dict[str, Mapping[str, Json]]:
    """What a reader knows of draws: those of the cohort and, of stages done alone in an earlier one, those from there.

    A game that was played in an earlier cohort is not shown any more, so neither are its draws.
    """
    if not elsewhere:
        return dict(here)
    own = {one.id for one in stages if not plays_together(parts_of(one))}
    return {**here, **{stage_id: draws for stage_id, draws in elsewhere.items() if stage_id in own}}


def public_view(facts: Facts, stage: StageConfig) -> View:
    """The stage for onlookers: with the kept state, without answers."""
    return View(
        members=facts.people.on(stage.id),
        draws=facts.draws.get(stage.id, {}),
        state=facts.states.get(stage.id, {}),
        variables=facts.variables,
    )


def lab_view(facts: Facts, stage: StageConfig, *, as_of: int | None = None) -> LabView:
    """The stage as the lab sees it: all answers and the kept state; as of a number, the state is made anew.

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
        reads=_read(facts, stage, None),
        answers=_as_of(facts, stage.id, as_of),
        result=facts.results.get(stage.id, {}),
    )
    return view if as_of is None else stated(stage, view)


def stated(stage: StageConfig, view: LabView) -> LabView:
    """The view with what its answers come to."""
    state = parts_of(stage).state
    return view if state is None else replace(view, state=state(view))


def with_moves(view: LabView, moves: Mapping[tuple[UUID, str], Json]) -> LabView:
    """The view once this was answered, too; its state is as it was."""
    answers = {owner: dict(entries) for owner, entries in view.answers.items()}
    for (owner, key), value in moves.items():
        answers.setdefault(owner, {})[key] = value
    return replace(view, answers=answers)


def own_view(
    facts: Facts, stage: StageConfig, reader: UUID, *, as_of: int | None = None, thread: Thread | None = None
) -> OwnView:
    """The stage as one member sees it; for a prompt as of the opening of its ask.

    As of a number, the answers are those that had been counted by then, and so is the state, if any were since.
    """
    row = facts.people.row(reader)
    me = member_of(row, stage.id)
    answers = _as_of(facts, stage.id, as_of)
    state = facts.states.get(stage.id, {})
    if as_of is not None and stage.id in facts.whole and answers != facts.answers.get(stage.id, {}):
        state = lab_view(facts, stage, as_of=as_of).state
    met = _Met(facts, stage, row, me)
    return OwnView(
        me=me,
        members=met,
        draws=facts.draws.get(stage.id, {}),
        state=state,
        variables=facts.variables,
        reads={} if me.kind == "mediator" else _read(facts, stage, reader),
        own=answers.get(reader, {}),
        shown=_shown(facts, stage, row, met, answers),
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


class _Met(Sequence[Member]):
    """The members whom one meets on a stage, made when a rule first asks: most rules ask for none.

    A prompt looks back at many stages, and to make a cohort's members for each would cost with the cohort's square.
    """

    def __init__(self, facts: Facts, stage: StageConfig, row: Attendee, me: Member) -> None:
        self._asked = (facts, stage, row, me)

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        return tuple(_met(*self._asked))

    @overload
    def __getitem__(self, place: int) -> Member: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Member]: ...
    def __getitem__(self, place: int | slice) -> Member | Sequence[Member]:
        return self._members[place]

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._members == tuple(other)

    def __hash__(self) -> int:
        return hash(self._members)


def _met(facts: Facts, stage: StageConfig, row: Attendee, me: Member) -> Iterator[Member]:
    """Whom the member meets: who has come to the stage and, if it is not over for it, who may still come.

    Talk in private is between the mediators and one participant, and a mediator has met no one else there.
    """
    rows = facts.people.rows
    if len(rows) == 1:
        yield me
        return
    is_over = _is_behind(facts, stage, row)
    parts = parts_of(stage)
    is_private = parts.is_private
    partner = facts.partner if row.kind == "mediator" else row.id
    for one, seen in zip(rows, facts.people.seen(stage.id), strict=True):
        if is_private and one.kind != "mediator" and one.id != partner:
            continue
        if parts.has_thread and one.kind == "mediator" and stage.id not in one.stage_ids:
            # It sits in other stages.
            continue
        if one.id == row.id:
            yield me
        elif one.has_come_to(stage.id) or (not is_over and one.status not in OUT):
            yield seen


def _is_behind(facts: Facts, stage: StageConfig, row: Attendee) -> bool:
    """Whether the reader looks back at the stage."""
    return stage.id != facts.at if facts.at is not None else stage.id in row.stage_ids[: row.position]


def _shown(
    facts: Facts, stage: StageConfig, row: Attendee, met: Sequence[Member], answers: Answers
) -> dict[UUID, Json]:
    """The pages of those whom the reader meets there, by the rule of the stage.

    A mediator who is alone with a participant reads that one's only: what others answered is not for that conversation.
    """
    is_told = may_read_answers(stage.audience, is_mediator=row.kind == "mediator", is_over=stage.id in facts.over)
    if not is_told or row.status in OUT or not _is_behind(facts, stage, row):
        return {}
    partner = facts.partner if row.kind == "mediator" else None
    others = (one.id for one in met if one.id != row.id and partner in (None, one.id))
    return {one: answers[one][PAGE] for one in others if PAGE in answers.get(one, {})}


def _earlier(facts: Facts, stage_id: str, row: Attendee) -> dict[str, Json]:
    """The member's pages of the stages that come before on its way."""
    before = row.stage_ids[: row.stage_ids.index(stage_id)] if stage_id in row.stage_ids else ()
    pages = ((one, facts.own(one, row.id)) for one in before)
    return {one: answers[PAGE] for one, answers in pages if PAGE in answers}


def _read(facts: Facts, stage: StageConfig, reader: UUID | None) -> dict[str, StageRead]:
    """The earlier stages that the stage reads, for one of its members, or for the lab."""
    found: dict[str, StageRead] = {}
    parts = parts_of(stage)
    whole = of_everybody(parts.reads)
    for stage_id in dict.fromkeys(one.stage for one in parts.reads):
        earlier = facts.stages.get(stage_id)
        if earlier is not None:
            everybody = reader is None or stage_id in whole
            uses = [use for one in parts.reads if one.stage == stage_id for use in one.uses]
            rounds = [use.column for use in uses if use.needs == "rounds"]
            found[stage_id] = _as_read(facts, earlier, reader, rounds, everybody=everybody)
    return found


def _as_read(
    facts: Facts, stage: StageConfig, reader: UUID | None, rounds: Sequence[str], *, everybody: bool
) -> StageRead:
    data, given = parts_of(stage).data, facts.answers.get(stage.id, {})
    places = {one.id: place for place, one in enumerate(facts.people.rows)}
    owners = sorted(given, key=lambda owner: places.get(owner, len(places))) if everybody else ()
    parts = {owner: part for owner in owners if (part := _part(facts, stage, owner, rounds)) is not None}
    return StageRead(
        title=stage.title,
        columns=tuple(data.columns()),
        own=None if reader is None else _part(facts, stage, reader, rounds),
        is_completed=reader is not None and facts.people.row(reader).is_beyond(stage.id),
        members=parts,
        group_columns=tuple(data.group_columns()),
        group=data.group_cells(facts.results.get(stage.id, {})) if everybody else {},
    )


def _part(facts: Facts, stage: StageConfig, owner: UUID, rounds: Sequence[str]) -> Part | None:
    answers = facts.own(stage.id, owner)
    if PAGE not in answers:
        return None
    data, page = parts_of(stage).data, answers[PAGE]
    cells = {name: cell for name, cell in data.cells(page).items() if cell is not None}
    seen = public_view(facts, stage) if rounds else None
    by_round = {name: data.by_round(name, seen, owner) for name in rounds} if seen is not None else {}
    return Part(cells, tuple(data.answered(PAGE, page)), by_round)


def resulted(stage: StageConfig, view: LabView) -> dict[str, Json] | None:
    """What the stage has come to, now that all are through; None where nothing is made of everybody's answers."""
    result = parts_of(stage).result
    return None if result is None else result(view)


def scripted_page(stage: StageConfig, view: OwnView, seed: int) -> Json | None:
    """What a script answers to the whole page of a stage without a state, once; None: nothing, or not any more."""
    parts = parts_of(stage)
    is_asked = view.me.player == "script" and parts.state is None and parts.scripts is not None
    if not is_asked or parts.scripts is None or PAGE in view.own:
        return None
    return parts.scripts.page(view, seeds.rng(seed, f"{view.me.path}/{stage.id}/script"))
