"""A facilitator puts questions to a group, in public or in private, and lets it discuss."""

from parley_lab.kinds.stages.group_interview.rules import KIND as KIND
