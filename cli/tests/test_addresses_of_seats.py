"""What a lab says to those who take open seats alone: an address for each, which to a browser has its own memory."""

import re
import signal
from pathlib import Path

import pytest

from parley_lab.cli.testing import BeginParley, line_with
from parley_lab.testing.quick import quick_first

pytestmark = pytest.mark.postgres

OPEN = """
parley: 1
name: Open seats
seed: 3
pace: live
stages: [{id: read, kind: info, lines: [Hello]}]
cohorts: [{seats: [{open: true, count: SEATS}]}]
"""


@pytest.mark.parametrize(("seats", "addresses"), quick_first([(1, 0), (8, 6), (3, 3)], 2))
def test_a_lab_says_an_address_for_each_open_seat_of_several_and_six_at_most(
    tmp_path: Path,
    begin_parley: BeginParley,
    data_dir: Path,
    seats: int,
    addresses: int,
) -> None:
    file = tmp_path / "open.yaml"
    file.write_text(OPEN.replace("SEATS", str(seats)))

    run = begin_parley("up", "--experiment", file, "--port", "0", "--data-dir", data_dir, "--out", tmp_path / "out")
    link = re.search(r"http://127.0.0.1:(\d+)/join/(\S+)", line_with(run, "to join: "))
    assert link is not None
    run.send_signal(signal.SIGINT)
    told = run.communicate()[0]

    expected = [f"http://p{number}.localhost:{link[1]}/join/{link[2]}" for number in range(1, addresses + 1)]
    assert re.findall(r"http://p\d\S+", told) == expected
