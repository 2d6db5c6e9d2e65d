"""Roles that are drawn: the fewest that are needed first, then by chance among those with room."""

from parley_lab.kinds.stages.role.rules import KIND as KIND
