"""A lab prints what happens in its experiments; commands watch a run, give its link and write to its people."""

import json
import signal
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from parley_lab.base.clock import SystemClock
from parley_lab.cli.directory import DataDirectory
from parley_lab.cli.doctor import Bounds, embedded_faults
from parley_lab.cli.testing import BeginParley, Parley, line_with

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(400)]

STUDY = {
    "parley": 1,
    "name": "Two talk",
    "pace": "live",
    "stages": [{"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}}],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


def ask(url: str, token: str, method: str, path: str, body: Any = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(f"{url}{path}", content, headers, method=method), timeout=30) as answer:
        found = answer.read()
    return json.loads(found) if found else None


def test_a_lab_tells_what_happens_in_experiments_that_others_start(
    begin_parley: BeginParley, parley: Parley, embedded_dir: Path
) -> None:
    lab = begin_parley("up", "--port", "0", "--data-dir", embedded_dir)
    url = line_with(lab, "The REST API stays at ").split("stays at ")[1].split("/docs")[0]
    key = (embedded_dir / "api-key").read_text().strip()
    made = ask(url, key, "POST", "/v1/experiments", STUDY)
    ask(url, key, "POST", f"/v1/experiments/{made['id']}/start")
    ana = ask(url, key, "POST", f"/v1/experiments/{made['id']}/join", {})

    assert "Two talk c1" in line_with(lab, "c1/m1 has joined")
    ask(url, ana["token"], "POST", "/v1/me/help", {"text": "I see nothing."})
    assert "Two talk c1" in line_with(lab, "I see nothing.")

    short = made["id"].replace("-", "")[:8]
    link = parley("link", short, "--data-dir", embedded_dir)
    assert link.stdout.strip().startswith(f"{url}/join/")
    ids = embedded_dir / "ids.txt"
    ids.write_text("ada\n\n ben \n", encoding="utf-8")
    set_list = parley("guests", short, str(ids), "--data-dir", embedded_dir)
    guests = parley("guests", short, "--data-dir", embedded_dir)
    parley("guests", short, "--nobody", "--data-dir", embedded_dir)
    empty = parley("guests", short, "--data-dir", embedded_dir)
    everybody = parley("guests", short, "--everybody", "--data-dir", embedded_dir)
    assert "2 people may join 'Two talk'" in set_list.stdout
    assert guests.stdout.splitlines() == ["ada\t-", "ben\t-", "0 of 2 have joined."]
    assert empty.stdout.splitlines() == ["The guest list of 'Two talk' is empty: no one may join."]
    assert "Everybody who has the link" in everybody.stdout
    sent = parley("message", short, "c1/m1", "We begin soon.", "--data-dir", embedded_dir)
    assert sent.returncode == 0, sent.stderr
    assert [one["text"] for one in ask(url, ana["token"], "GET", "/v1/me")["notices"]] == ["We begin soon."]

    seeded = parley("arena", "seed", "--data-dir", embedded_dir)
    assert (seeded.returncode, "created" in seeded.stdout) == (0, True), seeded.stderr

    watching = begin_parley("watch", short, "--data-dir", embedded_dir)
    line_with(watching, "Watching 'Two talk'")
    ask(url, key, "POST", f"/v1/experiments/{made['id']}/join", {})
    assert line_with(watching, "c1/m2 has joined")
    assert line_with(lab, "c1/m2 has joined")
    ask(url, key, "POST", f"/v1/experiments/{made['id']}/end")
    assert f"parley export {short}" in line_with(watching, "'Two talk' has ended.")
    assert watching.wait() == 0
    lab.send_signal(signal.SIGINT)
    assert "c1/m2 has joined" not in lab.communicate()[0]


async def test_the_doctor_says_that_no_embedded_lab_runs(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)

    found = await embedded_faults(SystemClock(), directory, Bounds(free_bytes=0, open_files=0))

    assert found == [f"No lab runs in {tmp_path}. Start it: parley up"]
