"""A page of questions, each shown always or only when earlier answers call for it."""

from shared.stages.survey.rules import KIND as KIND
