"""Services that read no files start without the libraries of file formats."""

import subprocess
import sys

_IMPORTED_WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("parley_lab.formats", "openpyxl")))
import importlib
for package in sys.argv[1:]:
    importlib.import_module(f"parley_lab.{package}.__main__")
"""


def test_services_that_read_no_files_start_without_formats() -> None:
    """All in one process: what one has loaded another one may take, but none of them can load these."""
    command = [sys.executable, "-c", _IMPORTED_WITHOUT, "agent_worker", "orchestrator", "prompt_builder"]

    assert subprocess.run(command, check=False, capture_output=True, text=True).stderr == ""
