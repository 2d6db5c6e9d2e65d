"""How the others know a participant: chosen by the participant, or drawn from a set of anonymous names."""

from parley_lab.kinds.stages.profile.rules import KIND as KIND
