"""How a hundred percent are divided between two assets."""

from parley_lab.kinds.stages.asset_allocation.rules import KIND as KIND
