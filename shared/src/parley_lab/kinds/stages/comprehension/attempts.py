"""The attempts of a participant at a check, and their result. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from parley_lab.kinds import Json, LabView, Member, OwnView
from parley_lab.kinds.questions.drawn_rows import asked_of
from parley_lab.kinds.questions.own_order import without_order
from parley_lab.kinds.stages.comprehension.config import ComprehensionStage

AGENT_ATTEMPTS: Final = 5
"""How often an agent or a script tries where the stage sets no bound: every attempt of an agent is a call."""
_KEY: Final = "attempt:"


def key_of(number: int) -> str:
    """The key of an attempt, counted from 1."""
    return f"{_KEY}{number}"


def number_of(key: str) -> int | None:
    """The number of the attempt with this key; None for another key."""
    number = key.removeprefix(_KEY)
    return int(number) if key.startswith(_KEY) and number.isdigit() else None


@dataclass(frozen=True, slots=True)
class Attempts:
    """The answers of one participant so far, attempt by attempt; `stage` has the questions that the participant is
    asked. `most`: how many attempts there may be."""

    stage: ComprehensionStage
    given: tuple[Mapping[str, Json], ...]
    most: int | None

    @property
    def answers(self) -> dict[str, Json]:
        """The last answers, by question; empty before the first attempt."""
        return dict(without_order(self.given[-1])) if self.given else {}

    @property
    def wrong(self) -> list[str]:
        """The questions that the last attempt did not answer rightly; empty before the first."""
        if not self.given:
            return []
        return [one.id for one in self.stage.questions if not one.is_correct(self.given[-1].get(one.id))]

    @property
    def is_passed(self) -> bool:
        return not self.wrong and (bool(self.given) or not self.stage.questions)

    @property
    def is_over(self) -> bool:
        return self.is_passed or (self.most is not None and len(self.given) >= self.most)

    @property
    def page(self) -> dict[str, Json]:
        """The page that is stored in the end: the last answers, and their result."""
        last = self.given[-1] if self.given else {}
        return {**last, "attempts": len(self.given), "passed": self.is_passed}


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a view of all from which the attempts of one member follow."""

    me: Member
    draws: Mapping[str, Json]
    own: Mapping[str, Json]


def attempts_of(stage: ComprehensionStage, view: OwnView | Part) -> Attempts:
    numbered = sorted(number for key in view.own if (number := number_of(key)) is not None)
    is_bounded = stage.most_attempts is not None or view.me.player == "person"
    most = stage.most_attempts if is_bounded else AGENT_ATTEMPTS
    given = tuple(view.own[key_of(number)] or {} for number in numbered)
    return Attempts(asked_of(stage, view).without_hidden(), given, most)


def part_of(view: LabView, member: Member) -> Part:
    """The part of this member."""
    return Part(member, view.draws, view.answers.get(member.id, {}))
