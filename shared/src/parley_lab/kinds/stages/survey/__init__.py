"""A page of questions, each shown always or by a show-if rule."""

from parley_lab.kinds.stages.survey.rules import KIND as KIND
