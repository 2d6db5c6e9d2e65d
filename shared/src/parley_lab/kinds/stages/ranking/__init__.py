"""An order of participants or items by each participant, and an election by all orders."""

from parley_lab.kinds.stages.ranking.rules import KIND as KIND
