"""A page of questions, each shown always or by a show-if rule."""

from shared.stages.survey.rules import KIND as KIND
