"""Kinds whose asks depend on what others answered: neither data nor prompts depend on who answers first."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from uuid import UUID, uuid5

import pytest

from shared.contracts.experiment import Profile, StageConfig
from shared.schema_filler import fill
from shared.stage import Ask, StageKind
from shared.stages import kind_of, kinds
from shared.testing.rounds import Rounds
from shared.views import Attendee, Facts, People, drawn, lab_view, own_view, stated

SPACE = UUID(int=7)
SHARED = {name: kind for name, kind in kinds().items() if kind.has_shared_asks}


def row(path: str, name: str, stage_id: str, **changes: Any) -> Attendee:
    fields: dict[str, Any] = {
        "id": uuid5(SPACE, path),
        "path": path,
        "kind": "mediator" if "/med" in path else "participant",
        "player": "agent",
        "status": "in_progress",
        "stage_ids": (stage_id,),
        "position": 0,
        "profile": Profile(name=name).model_dump(),
    }
    return Attendee(**{**fields, **changes})


@dataclass
class Course:
    """A stage that its members go through; `opened` has the number of answers at which each ask was opened."""

    kind: StageKind[Any]
    stage: StageConfig
    facts: Facts
    opened: dict[tuple[UUID, str], int]

    @property
    def asks(self) -> list[Ask]:
        """What is asked now of everybody; each ask is opened when it is named first."""
        asks = [ask for one in self.facts.people.rows for ask in self.kind.next_asks(self.stage, self.own(one.id))]
        for ask in asks:
            self.opened.setdefault((ask.member_id, ask.key), self.count)
        return asks

    @property
    def count(self) -> int:
        return sum(map(len, self.facts.answers[self.stage.id].values()))

    def own(self, member_id: UUID, as_of: int | None = None) -> Any:
        return own_view(self.facts, self.stage, member_id, as_of=as_of)

    def answer(self, ask: Ask) -> None:
        """The same answer to the same question in every order."""
        view = self.own(ask.member_id)
        model = self.kind.reply_model(self.stage, ask, view)
        assert model is not None
        path = self.facts.people.row(ask.member_id).path
        reply = model.model_validate(fill(model.model_json_schema(), Random(f"{path}/{ask.key}")))
        value = self.kind.check_answer(self.stage, ask, self.kind.answer_from_reply(self.stage, ask, reply), view)
        given = dict(self.facts.answers[self.stage.id])
        given[ask.member_id] = {**given.get(ask.member_id, {}), ask.key: value}
        counted = {**self.facts.counted_at[self.stage.id], (ask.member_id, ask.key): self.count + 1}
        facts = replace(self.facts.with_answers(self.stage.id, given), counted_at={self.stage.id: counted})
        self.facts = settled(facts, self.stage)

    def shown(self, ask: Ask, as_of: int | None = None) -> object:
        """What a prompt shows of the stage, and what is wanted."""
        view = self.own(ask.member_id, as_of)
        model = self.kind.reply_model(self.stage, ask, view)
        return (
            self.kind.texts(self.stage, view),
            self.kind.describe(self.stage, view, with_answers=False, ask=ask),
            self.kind.task(self.stage, ask, view),
            model and model.model_json_schema(),
        )

    def data(self) -> Mapping[str, Any]:
        view = lab_view(self.facts, self.stage)
        pages = {
            one.path: self.kind.page_answer(self.stage, self.own(one.id))
            for one in self.facts.people.rows
            if one.kind == "participant"
        }
        minutes = self.kind.minutes(self.stage, view) if self.kind.thread == "minutes" else None
        answers = {
            (self.facts.people.row(owner).path, key): value
            for owner, entries in view.answers.items()
            for key, value in entries.items()
        }
        return {
            "answers": answers,
            "pages": pages,
            "rows": self.kind.table_rows(self.stage, view),
            "minutes": minutes,
            "steps": self.kind.steps(self.stage, view),
            "outcome": self.kind.outcome(self.stage, view),
            "state": view.state,
        }


def settled(facts: Facts, stage: StageConfig) -> Facts:
    return facts.with_state(stage.id, stated(stage, lab_view(facts, stage)).state)


def course(kind: StageKind[Any]) -> Course:
    stage = kind.example()
    rows = [row(f"c1/m{number}", f"P{number}", stage.id) for number in range(1, 1 + (kind.players or 3))]
    people = People((row("c1/med1", "Accountant", stage.id), *rows))
    arrived = [one for one in people.on(stage.id) if one.kind == "participant"]
    facts = Facts(
        people=people,
        draws={stage.id: drawn(stage, seed=1, cohort_name="c1", arrived=arrived)},
        answers={stage.id: {}},
        whole=(stage.id,),
        counted_at={stage.id: {}},
    )
    return Course(kind, stage, settled(facts, stage), {})


@pytest.fixture(params=sorted(SHARED))
def kind(request: pytest.FixtureRequest) -> StageKind[Any]:
    return SHARED[request.param]


def in_order(kind: StageKind[Any], seed: int | None) -> Mapping[str, Any]:
    """The data when whoever is drawn answers next; None: whoever is named first."""
    going, rng = course(kind), Random(seed)
    while asks := going.asks:
        going.answer(asks[0] if seed is None else rng.choice(asks))
    return going.data()


def test_the_data_are_the_same_in_every_order_of_answers(kind: StageKind[Any]) -> None:
    straight = in_order(kind, None)

    assert straight["answers"]
    assert all(in_order(kind, seed) == straight for seed in range(20))


@pytest.mark.parametrize("seed", range(10))
def test_a_prompt_that_is_made_late_is_the_one_that_is_made_at_once(kind: StageKind[Any], seed: int) -> None:
    going, rng = course(kind), Random(seed)
    at_once: dict[tuple[UUID, str], object] = {}
    while asks := going.asks:
        for ask in asks:
            at = ask.member_id, ask.key
            shown = going.shown(ask, going.opened[at])
            assert at_once.setdefault(at, shown) == shown
            if going.opened[at] == going.count:
                assert going.shown(ask) == shown
        going.answer(rng.choice(asks))

    purposes = {(one, key): ask for one, key in at_once for ask in [Ask(one, key, key.rpartition("/")[2])]}
    assert all(going.shown(ask, going.opened[at]) == at_once[at] for at, ask in purposes.items())


@pytest.mark.parametrize("seed", range(10))
def test_while_a_question_is_open_no_answer_of_another_changes_the_page_of_who_is_asked(
    kind: StageKind[Any], seed: int
) -> None:
    going, rng = course(kind), Random(seed)
    pages: dict[tuple[UUID, str], object] = {}
    while asks := [ask for ask in going.asks if "/med" not in going.facts.people.row(ask.member_id).path] or going.asks:
        for ask in asks:
            page = going.kind.public_view(going.stage, going.own(ask.member_id))
            assert pages.setdefault((ask.member_id, ask.key), page) == page
        going.answer(rng.choice(asks))


def test_the_smallest_game_holds_to_it_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    game = Rounds()
    monkeypatch.setattr("shared.views.kind_of", lambda stage: game if stage.kind == "info" else kind_of(stage))

    straight = in_order(game, None)

    assert len(straight["answers"]) == 9
    assert all(in_order(game, seed) == straight for seed in range(10))
