"""A lock of a process is held by one at a time, and ends with its process."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from parley_lab.base.process_lock import HeldElsewhere, ProcessLock

HOLD: Final = """
import sys
from pathlib import Path
from parley_lab.base.process_lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_that_another_process_holds_names_it_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"

        assert ProcessLock(path).is_held_elsewhere()
        with pytest.raises(HeldElsewhere, match=f"process {other.pid}"):
            ProcessLock(path).acquire()

        other.kill()
        other.wait()

    lock = ProcessLock(path)
    lock.acquire()
    assert lock.is_acquired


def test_processes_that_only_look_take_each_other_for_no_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: ProcessLock(path).is_held_elsewhere(), range(200)))

    assert not any(found)


def test_a_lock_is_released_once_and_by_any_thread(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "lock")
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lock.acquire).result()

    lock.release()
    lock.release()

    assert not lock.is_acquired
    assert not ProcessLock(tmp_path / "lock").is_held_elsewhere()
