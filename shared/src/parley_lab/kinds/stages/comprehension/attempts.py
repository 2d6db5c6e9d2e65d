"""The attempts of a participant at a check, and their result. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from parley_lab.kinds import Json, Member
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
    """The answers of one participant so far, attempt by attempt, to the questions of the stage in this arm; `most`: how
    many there may be."""

    stage: ComprehensionStage
    given: tuple[Mapping[str, Json], ...]
    most: int | None

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


def attempts_of(stage: ComprehensionStage, me: Member, own: Mapping[str, Json]) -> Attempts:
    numbered = sorted(number for key in own if (number := number_of(key)) is not None)
    most = stage.most_attempts if stage.most_attempts is not None or me.player == "person" else AGENT_ATTEMPTS
    return Attempts(stage.without_hidden(), tuple(own[key_of(number)] or {} for number in numbered), most)
