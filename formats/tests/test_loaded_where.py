"""Services that read no files start without the libraries of file formats."""

import subprocess
import sys

import pytest

_IMPORTED_WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("parley_lab.formats", "openpyxl")))
import importlib
importlib.import_module(f"parley_lab.{sys.argv[1]}.__main__")
"""


@pytest.mark.parametrize("package", ["agent_worker", "orchestrator", "prompt_builder"])
def test_a_service_that_reads_no_files_starts_without_formats(package: str) -> None:
    command = [sys.executable, "-c", _IMPORTED_WITHOUT, package]

    assert subprocess.run(command, check=False, capture_output=True, text=True).stderr == ""
