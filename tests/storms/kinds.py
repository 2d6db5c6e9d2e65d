"""Which services a lab of the suite has, and how many of each."""

from collections.abc import Mapping
from typing import Final

SEVERAL: Final[Mapping[str, int]] = {"prompt_builder": 2, "gateway": 2, "orchestrator": 2, "agent_worker": 3}
