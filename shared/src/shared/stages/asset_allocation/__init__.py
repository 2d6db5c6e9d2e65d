"""How a hundred percent are divided between two assets."""

from shared.stages.asset_allocation.rules import KIND as KIND
