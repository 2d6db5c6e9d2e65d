"""What a persona's script says about this game: the policy it follows, or the type of persona that it plays like."""

from pydantic import Field, ValidationError, model_validator

from shared.contracts.experiment import Document
from shared.errors import Problem
from shared.stage import Json, Member
from shared.stages.matrix_game.config import MatrixGameStage
from shared.stages.matrix_game.payoffs import Payoffs
from shared.stages.matrix_game.policies import PersonaType, Policy, PolicyName, Rule, persona_rule, rule_of


class Script(Document):
    """One of the two: `policy` with its parameter, or `persona`."""

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

    def rule(self, payoffs: Payoffs) -> Rule:
        """How to play with one's own points first in `payoffs`.

        Raises:
            ValueError: GTFT without a generosity of its own in a game that gives it none.
        """
        if self.policy is None:
            assert self.persona is not None
            return persona_rule(self.persona)
        return rule_of(Policy(policy=self.policy, alpha=self.alpha, generosity=self.generosity), payoffs)


def script_of(stage: MatrixGameStage, member: Member) -> Script | None:
    """The member's script for this stage; None without one."""
    found = member.script.get(stage.id) or member.script.get(stage.kind)
    return None if found is None else Script.model_validate(found)


def problems(stage: MatrixGameStage, script: Json) -> list[Problem]:
    """What is wrong with a script for this stage; `where` is relative to the script."""
    try:
        parsed = Script.model_validate(script)
        for payoffs in (stage.payoffs, stage.payoffs.mirrored()):
            parsed.rule(payoffs)
    except ValidationError as error:
        return [_problem(each["loc"], each["input"], each["msg"]) for each in error.errors()]
    except ValueError as error:
        return [Problem("generosity", "nothing", str(error))]
    return []


def _problem(where: tuple[int | str, ...], found: object, message: str) -> Problem:
    expected = message.removeprefix("Value error, ").removeprefix("Input should be ")
    return Problem(".".join(map(str, where)), repr(found)[:80], expected)
