"""Which services a lab of the suite has, and how many of each."""

import subprocess
import sys
from collections.abc import Mapping
from typing import Final

SEVERAL: Final[Mapping[str, int]] = {"prompt_builder": 2, "gateway": 2, "orchestrator": 2, "agent_worker": 3}

_OLD_NAMES: Final = {"parley_lab.store.migrate": "shared.db.migrate"}


def module_in(python: str, module: str) -> str:
    """The module of today as the code of this interpreter names it: older code has no package around all."""
    look = [python, "-c", "import parley_lab.base"]
    if python == sys.executable or subprocess.run(look, capture_output=True, check=False).returncode == 0:
        return module
    return _OLD_NAMES.get(module, module.removeprefix("parley_lab."))
