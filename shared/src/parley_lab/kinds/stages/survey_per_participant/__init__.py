"""Questions about each of the others: whom one trusts, likes, would lead by."""

from parley_lab.kinds.stages.survey_per_participant.rules import KIND as KIND
