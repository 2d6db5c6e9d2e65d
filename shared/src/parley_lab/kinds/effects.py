"""Effects of a member's move to the next stage, in the transaction of the move."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.lives import Outcome
from parley_lab.kinds.view import Json


@dataclass(frozen=True, slots=True)
class SetProfile:
    """Set the profile under which the others know the member."""

    profile: Profile
    is_drawn: bool = False
    """Whether the stage draws names, so that those whom it gives to members of a cohort differ."""


@dataclass(frozen=True, slots=True)
class Pay:
    """Pay the member this amount, once for each stage; `parts` explains it."""

    currency: str
    amount: Decimal
    parts: Mapping[str, Json] = field(hash=False)


@dataclass(frozen=True, slots=True)
class End:
    """End the member's part with this outcome.

    `forgets`: delete what was stored of the member.
    """

    outcome: Outcome
    forgets: bool = False


Effect = SetProfile | Pay | End
