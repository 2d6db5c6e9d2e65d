"""Questions about each of the others: whom one trusts, likes, would lead by."""

from shared.stages.survey_per_participant.rules import KIND as KIND
