"""How a persona of the mock answers questions: by stable traits, drawn from the seed and the persona's text. Pure.

Related questions share a trait; a repeated question uses the same one.
"""

import re
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import Final

from parley_lab.base.seeds import rng as seeded

# Parts of the variance of an answer: the trait that related questions share, the question's own, and the moment.
_SHARED: Final = 0.5
_OWN: Final = 0.35
_MOMENT: Final = 0.15

# Half of a trait is the persona's, half the member's: two members with one persona are alike but not the same.
_OF_PERSONA: Final = 0.5

_WHEN: Final = frozenset({"before", "after", "pre", "post", "baseline", "followup", "then", "now", "t1", "t2"})


@dataclass(frozen=True, slots=True)
class Identity:
    """The author of the answers: the id of the persona (empty for none), its text, and the member."""

    seed: int
    persona: str
    member: str
    text: str = ""


def position(identity: Identity, question: str, moment: Random) -> float:
    """The position of the answer between the bounds, 0 to 1; uniform over many personas.

    question: its group, if any, and its own name, such as `attitude/support`.
    """
    shared, _, own = question.rpartition("/")
    of_shared = _SHARED if shared else 0.0
    standing = (
        sqrt(of_shared) * _trait(identity, f"shared:{shared}")
        + sqrt(_OWN + _SHARED - of_shared) * _trait(identity, f"own:{at_any_time(own)}")
        + sqrt(_MOMENT) * moment.gauss()
    )
    return NormalDist().cdf(standing)


def at_any_time(question: str) -> str:
    """The question's id without words for its time: `support_before` and `post-support` are `support`."""
    parts = [part for part in re.split(r"[^a-z0-9]+", question.casefold()) if part]
    return "-".join([part for part in parts if part not in _WHEN] or parts)


def _trait(identity: Identity, name: str) -> float:
    """A draw from the standard normal distribution."""
    of_member = seeded(identity.seed, f"trait/{name}/member:{identity.member}").gauss()
    if not identity.persona:
        return of_member
    persona = f"{identity.persona}\n{identity.text}" if identity.text else identity.persona
    of_persona = seeded(identity.seed, f"trait/{name}/persona:{persona}").gauss()
    return sqrt(_OF_PERSONA) * of_persona + sqrt(1 - _OF_PERSONA) * of_member
