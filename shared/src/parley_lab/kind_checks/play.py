"""Plays one stage of one cohort in memory: arrivals, draws, questions and answers.

It does the work of settling, steps and going on, without rows and locks; the caller decides who acts next.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, Final
from uuid import UUID, uuid5

from parley_lab.contracts.experiment import Profile, StageConfig
from parley_lab.kind_checks.answering import made_answer
from parley_lab.kind_checks.promises import Unkept, expect, is_json, shortened
from parley_lab.kinds import (
    PAGE,
    Ask,
    Blocked,
    Completion,
    Done,
    End,
    LabView,
    OwnView,
    Parts,
    Question,
    StageKind,
    Substitute,
    UnusableReply,
)
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.effects import SetProfile
from parley_lab.kinds.view import Message, Speaker, Thread
from parley_lab.views.builder import Facts, People, lab_view, own_view
from parley_lab.views.playing import drawn, play_on, seated

Watch = Callable[["Play"], None]

At = tuple[UUID, str]
"""A member and the key of an ask."""

_SPACE: Final = UUID(int=7)
_BEFORE: Final = "before-it"
_AFTER: Final = "after-it"
_MEDIATOR: Final = "Accountant"
"""A name that is a role in the example of an interview."""
_MOST_ACTS: Final = 2000
_SHOWN_ACTS: Final = 40


def thread(*speakers: Speaker, **changes: Any) -> Thread:
    fields: dict[str, Any] = {"message_count": 1, "speakers": speakers, **changes}
    return Thread(pace="live", trigger_key="start", agent_run=0, **fields)


@dataclass(frozen=True)
class Asked:
    """An ask, what its owner saw when it was opened, and the stored answer."""

    view: OwnView
    ask: Ask
    question: Question
    stored: Any


class Play:
    """A stage with its members. `seed` decides answers and draws, never who is first.

    It begins with `settle`. It has as many participants as the stage allows, three where any number may come; `people`
    says which of them are people, and `come` which are there from the beginning. With `goes_on` members leave the stage
    when they may.
    """

    def __init__(
        self,
        kind: StageKind[Any],
        stage: StageConfig,
        *,
        seed: int = 1,
        people: Callable[[int, int], bool] = lambda number, count: number == count,
        come: Callable[[int], bool] = lambda number: True,
        goes_on: bool = False,
    ) -> None:
        self.kind, self.stage, self.seed, self.goes_on = kind, stage, seed, goes_on
        self.parts: Parts = kind.parts(stage)
        self.log: list[str] = []
        self.asked: list[Asked] = []
        self.opened: dict[At, int] = {}
        self.talk_has_ended = self.parts.talk is None
        self._check_here: Watch = lambda play: None
        least, most = self.parts.players
        count = max(least, 3) if most is None else min(most, max(least, 3))
        rows = [
            _row(f"c1/m{number}", f"P{number}", stage.id, is_person=people(number, count), has_come=come(number))
            for number in range(1, 1 + count)
        ]
        self.facts = Facts(
            people=People((_row("c1/med1", _MEDIATOR, stage.id, is_person=False, has_come=True), *rows)),
            answers={stage.id: {}},
            draws={stage.id: {}},
            whole=(stage.id,),
            counted_at={stage.id: {}},
        )
        said = Message(1, rows[0].id, rows[0].profile["name"], "Good evening", 1000)
        if self.parts.talk is not None:
            self.facts = replace(self.facts, messages={stage.id: (said,)})

    # The present state.

    @property
    def participants(self) -> list[Attendee]:
        return [row for row in self.facts.people.rows if row.kind == "participant"]

    @property
    def who(self) -> str:
        """All participants, in words."""
        return ", ".join(f"{_name(row)} ({row.player})" for row in self.facts.people.rows)

    @property
    def told(self) -> list[str]:
        """The last acts, in words."""
        left_out = len(self.log) - _SHOWN_ACTS
        return [*([f"({left_out} acts before)"] if left_out > 0 else []), *self.log[-_SHOWN_ACTS:]]

    @property
    def answers(self) -> Mapping[UUID, Mapping[str, Any]]:
        return self.facts.answers[self.stage.id]

    @property
    def given(self) -> dict[At, Any]:
        return {(owner, key): value for owner, entries in self.answers.items() for key, value in entries.items()}

    @property
    def count(self) -> int:
        return sum(map(len, self.answers.values()))

    def lab(self) -> LabView:
        return lab_view(self.facts, self.stage)

    def own(self, member_id: UUID, as_of: int | None = None) -> OwnView:
        speakers = [Speaker(one) for one in self.facts.people.on(self.stage.id)]
        talk = thread(*speakers, ended=self.talk_has_ended) if self.parts.talk is not None else None
        return own_view(self.facts, self.stage, member_id, as_of=as_of, thread=talk)

    def views(self) -> list[OwnView]:
        """The views of all members who have come to the stage."""
        return [self.own(row.id) for row in self.facts.people.rows if row.has_come_to(self.stage.id)]

    def completion(self, view: OwnView) -> Completion:
        return self.kind.completion(self.stage, view)

    def question(self, ask: Ask, as_of: int | None = None) -> Question | None:
        questions = self.parts.questions
        return None if questions is None else questions.question(self.own(ask.member_id, as_of), ask)

    def asks(self) -> list[Ask]:
        """The open asks of all members who are there, with a person's page where that is a question."""
        if self.parts.questions is None:
            return []
        found = []
        for view in self.views():
            if not view.me.present:
                continue
            page = Ask(view.me.id, PAGE, "page")
            if view.me.player == "person" and PAGE not in view.own and self.question(page) is not None:
                found.append(page)
            if self.parts.state is not None or view.me.player == "agent":
                found += self.parts.questions.due(view)
        for ask in found:
            self.opened.setdefault((ask.member_id, ask.key), self.count)
            if (ask.member_id, ask.key) in self.given:
                raise Unkept("a question to be asked once", f"{self._who(ask.member_id)} is asked {ask.key!r} again")
        return found

    # Acts.

    def answer(self, ask: Ask) -> None:
        """Give an answer that depends on the question only, not on the order; a person's is made of the form."""
        view, question = self.own(ask.member_id), self._asked(ask)
        rng = Random(f"{self.seed}/{view.me.path}/{ask.key}")
        stored = made_answer(question, rng, key=ask.key, is_person=view.me.player == "person")
        self.asked.append(Asked(view, ask, question, stored))
        self._store(ask, stored, f"{self._who(ask.member_id)} answers {ask.key or 'the page'}: {shortened(stored)}")

    def fail(self, ask: Ask, *, is_silent: bool) -> None:
        """Let a model fail: the question decides what is stored."""
        replies = [] if is_silent else [UnusableReply("Well.", None, "the reply is not a JSON object")]
        instead = self._asked(ask).without_answer(replies)
        who = self._who(ask.member_id)
        if isinstance(instead, Substitute):
            self._store(ask, instead.value, f"{who} fails at {ask.key or 'the page'}: {shortened(instead.value)}")
        else:
            self.move(ask.member_id, f"{who} fails at {ask.key or 'the page'} and is out", status="failed")

    def advance(self, member_id: UUID) -> None:
        """Let the member go on, and store the page."""
        done = self.completion(self.own(member_id))
        assert isinstance(done, Done)
        if done.page is not None and PAGE not in self.answers.get(member_id, {}):
            expect(is_json(done.page), "the page of a member who is done to be plain JSON", done.page)
            self._write(member_id, PAGE, done.page)
        who = self._who(member_id)
        end = next((one for one in done.effects if isinstance(one, End)), None)
        if end is not None:
            self.move(member_id, f"{who} is out: {end.outcome}", status=end.outcome)
            return
        profiles = [one.profile.model_dump() for one in done.effects if isinstance(one, SetProfile)]
        self.move(member_id, f"{who} goes on", position=2, **({"profile": profiles[-1]} if profiles else {}))

    def end_talk(self) -> None:
        self.talk_has_ended = True
        self.log.append("the conversation ends")
        self.settle()

    def move(self, member_id: UUID, what: str, **changes: Any) -> None:
        """Change the row of a member, and record it in these words."""
        rows = (replace(row, **changes) if row.id == member_id else row for row in self.facts.people.rows)
        self.facts = replace(self.facts, people=People(tuple(rows)))
        self.log.append(what)
        self.settle()

    def is_here(self, member_id: UUID) -> bool:
        """Whether the member is in progress and on this stage."""
        row = self.facts.people.row(member_id)
        return row.status == "in_progress" and row.stage_id == self.stage.id

    def leave(self, member_id: UUID) -> None:
        self.move(member_id, f"{self._who(member_id)} leaves", status="left")

    def settle(self) -> None:
        """Draw for members who have come, make the state, and let agents go on."""
        before = self.facts.draws[self.stage.id]
        draws = self._drawn(before)
        changed = {name: (value, draws.get(name)) for name, value in before.items() if draws.get(name) != value}
        expect(not changed, "what was drawn to stay when a member comes", changed)
        expect(is_json(draws), "what is drawn to be plain JSON", draws)
        self.facts = replace(self.facts, draws={self.stage.id: draws})
        played = play_on(self.facts, self.stage)
        expect(is_json(played.view.state), "the state to be plain JSON", played.view.state)
        for (member_id, key), value in played.passed.items():
            expect(is_json(value), f"what counts for who has gone to be plain JSON at {key!r}", value)
            self._write(member_id, key, value)
            self.log.append(f"{self._who(member_id)} is gone and passes {key}: {shortened(value)}")
        self.facts = self.facts.with_state(self.stage.id, played.view.state)
        self._check_here(self)
        if not self.goes_on:
            return
        asked = {ask.member_id for ask in self.asks()}
        for row in self.participants:
            if row.player == "agent" and row.id not in asked and self._may_go_on(row):
                self.advance(row.id)
                return

    def _drawn(self, before: Mapping[str, Any]) -> Mapping[str, Any]:
        there = [row for row in self.participants if row.has_come_to(self.stage.id) and row.status == "in_progress"]
        members = {one.id: one for one in self.facts.people.on(self.stage.id)}
        arrived = [members[row.id] for row in seated(self.participants, self.stage, there)]
        if not arrived:
            return before
        return drawn(self.stage, seed=self.seed, cohort_name="c1", arrived=arrived, before=before)

    def acts(self) -> Iterator[Callable[[], None]]:
        """All possible acts."""
        yield from (partial(self.answer, ask) for ask in self.asks())
        if not self.talk_has_ended:
            yield self.end_talk
        if self.goes_on:
            people = [row for row in self.participants if row.player == "person" and self._may_go_on(row)]
            yield from (partial(self.advance, row.id) for row in people)

    def run(
        self,
        rng: Random | None,
        *,
        accidents: float = 0.0,
        watch: "Watch | None" = None,
        most: int | None = None,
    ) -> "Play":
        """Act until nothing is left to do, or `most` times; without `rng` in the order of names.

        `watch` is called before each act.
        """
        for number in range(_MOST_ACTS):
            if number == most:
                return self
            if rng is not None and rng.random() < accidents:
                self._accident(rng)
            if watch is not None:
                watch(self)
            acts = list(self.acts())
            if acts:
                (acts[0] if rng is None else rng.choice(acts))()
            elif not self._another_comes(rng):
                return self
        raise Unkept("the stage to come to its end", f"something can still be done after {_MOST_ACTS} acts")

    def check_after_each_act(self, check: Watch) -> "Play":
        self._check_here = check
        return self

    def stuck(self) -> list[str]:
        """The members who are asked nothing and may not go on, each with the reasons that they are told."""
        asked = {ask.member_id for ask in self.asks()}
        found = []
        for row in self.participants:
            if row.status != "in_progress" or row.stage_id != self.stage.id or row.id in asked:
                continue
            completion = self.completion(self.own(row.id))
            if isinstance(completion, Blocked):
                found.append(f"{_name(row)} ({' '.join(completion.reasons)})")
        return found

    def _asked(self, ask: Ask) -> Question:
        question = self.question(ask)
        if question is None:
            raise Unkept(f"`question` to know what is asked with the key {ask.key!r}, which `due` names", None)
        return question

    def _may_go_on(self, row: Attendee) -> bool:
        return self.is_here(row.id) and isinstance(self.completion(self.own(row.id)), Done)

    def _store(self, ask: Ask, value: Any, what: str) -> None:
        expect(is_json(value), f"what is stored for {ask.key or 'the page'!r} to be plain JSON", value)
        self._write(ask.member_id, ask.key, value)
        self.log.append(what)
        self.settle()

    def _write(self, member_id: UUID, key: str, value: Any) -> None:
        given = dict(self.answers)
        given[member_id] = {**given.get(member_id, {}), key: value}
        counted = {**self.facts.counted_at[self.stage.id], (member_id, key): self.count + 1}
        self.facts = replace(self.facts.with_answers(self.stage.id, given), counted_at={self.stage.id: counted})

    def _accident(self, rng: Random) -> None:
        """Let a member leave, return, come late or fail, if one can."""
        row, is_silent = rng.choice(self.participants), rng.random() < 0.5
        is_here = self.is_here(row.id)
        asks = [ask for ask in self.asks() if ask.member_id == row.id]
        if row.status in ("left", "failed") and row.stage_id is not None:
            self.move(row.id, f"{_name(row)} comes back", status="in_progress")
        elif row.position == 0:
            self._comes(row)
        elif is_here and asks and row.player == "agent" and rng.random() < 0.5:
            self.fail(rng.choice(asks), is_silent=is_silent)
        elif is_here:
            self.leave(row.id)

    def _another_comes(self, rng: Random | None) -> bool:
        """Let an awaited member come, or never come."""
        awaited = [row for row in self.participants if row.position == 0 and row.status == "in_progress"]
        for row in awaited[:1]:
            if rng is not None and rng.random() < 0.3:
                self.move(row.id, f"{_name(row)} will not come", status="left")
            else:
                self._comes(row)
        return bool(awaited)

    def _comes(self, row: Attendee) -> None:
        self.move(row.id, f"{_name(row)} comes", position=1, status="in_progress")

    def _who(self, member_id: UUID) -> str:
        return _name(self.facts.people.row(member_id))


def _row(path: str, name: str, stage_id: str, *, is_person: bool, has_come: bool) -> Attendee:
    return Attendee(
        id=uuid5(_SPACE, path),
        path=path,
        kind="mediator" if "/med" in path else "participant",
        player="person" if is_person else "agent",
        status="in_progress",
        stage_ids=(_BEFORE, stage_id, _AFTER),
        position=int(has_come),
        profile=Profile(name=name).model_dump(),
    )


def _name(row: Attendee) -> str:
    return row.path.removeprefix("c1/")
