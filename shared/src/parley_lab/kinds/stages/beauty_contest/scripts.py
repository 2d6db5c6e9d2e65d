"""Players without a model: fixed guesses, or a level of reasoning (Nagel 1995). Pure."""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Final, Literal
from uuid import UUID

from pydantic import Field, ValidationError, model_validator

from parley_lab.base.errors import Problem
from parley_lab.base.numbers import write_number
from parley_lab.contracts.experiment import Document
from parley_lab.kinds import Json, LabView, Member, form
from parley_lab.kinds.parts import Scripts
from parley_lab.kinds.stages.beauty_contest.config import BeautyContestStage
from parley_lab.kinds.stages.beauty_contest.contest import GUESS, Contest, contest_of, key_of

Policy = Literal["level_0", "level_1", "level_2", "level_3", "equilibrium"]
_LEVELS: Final[Mapping[Policy, int]] = {"level_1": 1, "level_2": 2, "level_3": 3}
_DECIMALS: Final = 2
"""For the guess of a policy, as a person would type it."""


class Script(Document):
    """Either `guesses` or a `policy`."""

    guesses: tuple[float, ...] | None = Field(default=None, min_length=1)
    """The guess of each round; the last one is repeated in all later rounds."""
    policy: Policy | None = None
    """`level_0` draws any valid number with equal probability. `level_1` assumes that all others are of level 0 and
    guesses the factor times the middle, after the first round the factor times the last mean; each higher level
    multiplies once more. `equilibrium` guesses the limit of ever higher levels.
    """

    @model_validator(mode="after")
    def _one_of_the_two(self) -> "Script":
        if (self.guesses is None) == (self.policy is None):
            raise ValueError("either guesses or a policy is needed")
        return self


def planned_guess(contest: Contest, member: Member) -> float | None:
    """The script's guess in the next round; None without a script, and for level 0, which draws."""
    script = _script_of(contest.stage, member)
    if script is None:
        return None
    if script.guesses is not None:
        return script.guesses[min(contest.next_round, len(script.guesses)) - 1]
    if script.policy == "equilibrium":
        return equilibrium(contest.stage)
    level = None if script.policy is None else _LEVELS.get(script.policy)
    return None if level is None else _of_level(contest, level)


def _of_level(contest: Contest, level: int) -> float:
    thought = contest.stage.factor**level * contest.reference
    return round(min(max(thought, contest.stage.lower), contest.stage.upper), _DECIMALS)


def equilibrium(stage: BeautyContestStage) -> float:
    """The guess that no player gains by changing when all make it: for a factor below 1 the smallest."""
    if stage.factor == 1:
        return stage.middle
    return stage.lower if stage.factor < 1 else stage.upper


def _script_of(stage: BeautyContestStage, member: Member) -> Script | None:
    found = member.script_for(stage)
    return None if found is None else Script.model_validate(found)


class ContestScripts(Scripts):
    def __init__(self, stage: BeautyContestStage) -> None:
        self._stage = stage

    def problems(self, given: Mapping[str, Json] | None) -> list[Problem]:
        if given is None:
            expected = "`guesses` or a `policy`, under the stage's id or its kind"
            return [Problem("", "no script for this contest", expected)]
        try:
            return [*self._out_of_bounds(Script.model_validate(given))]
        except ValidationError as error:
            return form.problems_of(error)

    def _out_of_bounds(self, script: Script) -> Iterator[Problem]:
        lower, upper = self._stage.lower, self._stage.upper
        for index, guess in enumerate(script.guesses or ()):
            if not lower <= guess <= upper:
                yield Problem(
                    f"guesses[{index}]",
                    write_number(guess),
                    f"a number from {write_number(lower)} to {write_number(upper)}",
                )

    def play(self, view: LabView, rng_of: Callable[[str], Random]) -> dict[tuple[UUID, str], Json]:
        """The guesses of the open round; scripts do not wait for messages before it."""
        contest = contest_of(self._stage, view)
        if contest.wants is None:
            return {}
        key = key_of(contest.next_round, GUESS)
        scripted = (one for one in view.members if one.player == "script" and one.id in contest.players)
        return {
            (one.id, key): {GUESS: self._guess(contest, one, rng_of)}
            for one in scripted
            if one.present and view.answer(one.id, key) is None
        }

    def _guess(self, contest: Contest, member: Member, rng_of: Callable[[str], Random]) -> float:
        planned = planned_guess(contest, member)
        if planned is not None:
            return planned
        rng = rng_of(f"{member.path.rpartition('/')[2]}/round:{contest.next_round}")
        return round(rng.uniform(self._stage.lower, self._stage.upper), _DECIMALS)
