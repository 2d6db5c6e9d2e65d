"""A persona's script for this game, and the mock's phrases for each type of persona. Pure."""

from collections.abc import Mapping
from typing import Final

from pydantic import Field, ValidationError, model_validator

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import Document
from parley_lab.kinds import Json, Member, form
from parley_lab.kinds.stages.matrix_game.config import MatrixGameStage
from parley_lab.kinds.stages.matrix_game.payoffs import Payoffs
from parley_lab.kinds.stages.matrix_game.policies import (
    ALPHA,
    PersonaType,
    Policy,
    PolicyName,
    Rule,
    persona_rule,
    rule_of,
)


class Script(Document):
    """Either `policy` with its parameter, or `persona`."""

    policy: PolicyName | None = None
    alpha: float | None = Field(default=None, ge=0, le=1)
    generosity: float | None = Field(default=None, ge=0, le=1)
    persona: PersonaType | None = None

    @model_validator(mode="after")
    def _one_of_the_two(self) -> "Script":
        if (self.policy is None) == (self.persona is None):
            raise ValueError("either a policy or a persona is needed")
        if self.policy is None and (self.alpha, self.generosity) != (None, None):
            raise ValueError("alpha and generosity belong to policies")
        if self.policy is not None:
            Policy(policy=self.policy, alpha=self.alpha, generosity=self.generosity)
        return self

    @property
    def alpha_of_chance(self) -> float | None:
        """The probability of cooperation in every round, whatever the opponent does; None: the rule is another one."""
        if self.policy == "RANDOM":
            return ALPHA if self.alpha is None else self.alpha
        return ALPHA if self.persona == "random" else None

    def rule(self, payoffs: Payoffs) -> Rule:
        """The rule for a player whose own points come first in `payoffs`.

        Raises:
            ValueError: GTFT has no generosity, and the payoffs of the game give none.
        """
        if self.policy is None:
            assert self.persona is not None
            return persona_rule(self.persona)
        return rule_of(Policy(policy=self.policy, alpha=self.alpha, generosity=self.generosity), payoffs)


def script_of(stage: MatrixGameStage, member: Member) -> Script | None:
    """The member's script for this stage; None without one."""
    found = member.script_for(stage)
    return None if found is None else Script.model_validate(found)


def problems(stage: MatrixGameStage, script: Json) -> list[Problem]:
    """The problems of a script for this stage; `where` is relative to the script."""
    try:
        parsed = Script.model_validate(script)
        for payoffs in (stage.payoffs, stage.payoffs.mirrored()):
            parsed.rule(payoffs)
    except ValidationError as error:
        return form.problems_of(error)
    except ValueError as error:
        return [Problem("generosity", "nothing", str(error))]
    return []


_BEFORE_A_MOVE: Final[Mapping[PersonaType, str]] = {
    "cooperative": "I want both of us to do well, and for now I choose {}.",
    "tit_for_tat": "I answer in kind, and this time I choose {}.",
    "selfish": "I look after myself, and so should you.",
    "forgiving": "I forget a single mistake, and I choose {}.",
    "random": "I do not plan, so do not try to see through me.",
}

_IN_CONVERSATIONS: Final[Mapping[PersonaType, tuple[str, ...]]] = {
    "cooperative": (
        "I would rather start with trust and see it returned.",
        "Both of us can do well if neither of us spoils it.",
        "I put up with a lot before I stop helping somebody.",
    ),
    "tit_for_tat": (
        "Treat me well, and I treat you well; it is as simple as that.",
        "I begin friendly, and then I do what is done to me.",
        "You always know where you are with me.",
    ),
    "selfish": (
        "In the end I ask what is in it for me.",
        "What others get out of it is their own business.",
        "Promises are cheap, so I make up my mind without them.",
    ),
    "forgiving": (
        "Everybody deserves a second chance.",
        "One bad turn may be a mistake; I only mind the second.",
        "I would rather mend a quarrel than win it.",
    ),
    "random": (
        "I do what comes to mind, and it may be something else tomorrow.",
        "Ask me again, and I might say the opposite.",
        "Plans bore me.",
    ),
}


def before_a_move(persona: PersonaType, letter: str) -> str | None:
    """What a persona says to the opponent before choosing this letter; None: nothing in particular.

    Types of personas that keep their choice secret name no letter, so that they promise nothing.
    """
    line = _BEFORE_A_MOVE.get(persona)
    return None if line is None else line.format(letter)


def in_conversations(persona: object) -> tuple[str, ...]:
    """Sentences that fit any conversation; none for a free persona, which has no phrases.

    `persona` comes from a script, which is unchecked where no game is played.
    """
    return next((said for name, said in _IN_CONVERSATIONS.items() if name == persona), ())
