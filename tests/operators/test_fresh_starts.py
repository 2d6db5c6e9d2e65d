"""Each service as users start it: by an interpreter that has loaded nothing before, as no forked service has.

The prompt builder is started so, and asked, by its own tests of prompts.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

SERVICES: Final = ("agent_worker", "gateway", "orchestrator")


def test_each_service_loads_all_that_it_imports_and_names_the_settings_that_are_missing(tmp_path: Path) -> None:
    started = {service: _start(service, tmp_path) for service in SERVICES}

    told = {service: process.communicate()[0] for service, process in started.items()}

    for service, process in started.items():
        assert process.returncode == 2, told[service]
        assert "PARLEY_DATABASE_URL: is not set" in told[service]
        assert "Traceback" not in told[service]


def _start(service: str, folder: Path) -> "subprocess.Popen[str]":
    """In an empty folder, without a variable."""
    command = [sys.executable, "-m", f"parley_lab.{service}"]
    return subprocess.Popen(command, cwd=folder, env={}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
