"""The minds of made-up people: their answers are those of the mock, to the questions as they read them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from parley_lab.base.clock import Clock
from parley_lab.cli.made_up_answers import Self, answer_as_mock
from parley_lab.contracts.experiment import Persona
from parley_lab.contracts.lives import OUTCOMES
from parley_lab.kinds import Ask
from parley_lab.kinds.stages import parts_of
from parley_lab.members.standings import standing_of
from parley_lab.store.session import Database

Json = Any


class Minds:
    """Reads in the lab what is asked of a person: a page does not say what is right, or which traits it asks for."""

    def __init__(self, database: Database, clock: Clock, seed: int, personas: Sequence[Persona] = ()) -> None:
        """personas: as whom the people take part, one after another, and anew from the first; none: as themselves."""
        self._database = database
        self._clock = clock
        self._seed = seed
        self._personas = personas

    def persona_of(self, number: int) -> Persona | None:
        """As whom the person with this number takes part."""
        return self._personas[(number - 1) % len(self._personas)] if self._personas else None

    async def is_out(self, member_id: UUID) -> bool:
        """Whether the part of this person is over."""
        async with self._database.read() as session:
            return (await standing_of(session, member_id)).status in OUTCOMES

    async def answer(self, member_id: UUID, number: int, stage_id: str, key: str) -> Json | None:
        """The answer of this person to what is asked of them under this key; None: there is none."""
        async with self._database.read() as session:
            standing = await standing_of(session, member_id)
        stage, persona = standing.stage, self.persona_of(number)
        questions = None if stage is None or stage.id != stage_id else parts_of(stage).questions
        if stage is None or questions is None:
            return None
        view = standing.view(stage, self._clock.now())
        if persona is not None:
            view = replace(view, me=replace(view.me, script=persona.script))
        asked = [
            Ask(view.me.id, one.key, one.purpose) for one in standing.asks if (one.stage_id, one.key) == (stage_id, key)
        ]
        question = questions.question(view, asked[0] if asked else Ask(view.me.id, key, "page"))
        if question is None:
            return None
        return answer_as_mock(question, Self(self._seed, f"person {number}", persona), stage_id, key)
