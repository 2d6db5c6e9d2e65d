"""Where models were called: which key went there, and what the data and the terminal say of it."""

import asyncio
import csv
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from parley_lab.testing.fake_endpoint import FakeEndpoint

pytestmark = pytest.mark.postgres

KEY = "sk-of-openai-0123456789"
TWO_ADDRESSES = """
parley: 1
name: Two addresses
seed: 0
model_mode: real
pace: fast
stages:
  - id: page
    kind: survey
    questions: [{{id: view, kind: text, title: "How is it?"}}]
personas:
  - {{id: ann}}
  - {{id: bob, model: {{model: other, base_url: "{address}"}}}}
cohorts: [{{seats: [{{persona: ann}}, {{persona: bob}}]}}]
"""


async def test_a_file_gets_no_key_for_its_address_and_every_data_file_says_who_answered(
    parley: Callable[..., "CompletedProcess[str]"], tmp_path: Path, data_dir: Path
) -> None:
    async with FakeEndpoint() as named, FakeEndpoint(replies=lambda _: {"view": f"I see {KEY}"}) as elsewhere:
        (tmp_path / "two.yaml").write_text(TWO_ADDRESSES.format(address=elsewhere.base_url))
        ran = await asyncio.to_thread(
            parley,
            *("run", "two.yaml", "--data-dir", data_dir),
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=named.base_url,
        )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {headers.get("authorization") for headers in named.headers} == {f"Bearer {KEY}"}
    assert {headers.get("authorization") for headers in elsewhere.headers} == {None}
    told = " ".join(ran.stdout.split())
    assert f"No key goes to {elsewhere.base_url}" in told
    assert "PARLEY_ENDPOINT_KEYS" in told
    hosts = {"c1/m1": named.base_url.removesuffix("/v1"), "c1/m2": elsewhere.base_url.removesuffix("/v1")}
    assert f"other at {hosts['c1/m2']} (1 call)" in told
    assert "A local host answered for models in this run" in told

    (folder,) = (tmp_path / "results" / "two-addresses").iterdir()
    models = {"c1/m1": "gpt-4.1-mini", "c1/m2": "other"}
    for name, column in (("participants", "path"), ("answers", "path"), ("model_calls", "member_path")):
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
            found = {row[column]: (row["endpoint"], row["model"]) for row in csv.DictReader(lines)}
        assert found == {path: (hosts[path], models[path]) for path in hosts}, name
    manifest, data = (json.loads((folder / name).read_text("utf-8")) for name in ("manifest.json", "data.json"))
    for called in (manifest["models_called"], data["experiment"]["models_called"]):
        assert {(row["endpoint"], row["model"], row["calls"]) for row in called} == {
            (hosts[path], models[path], 1) for path in hosts
        }
    texts = [path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()]
    assert any("[redacted]" in text for text in texts)
    assert not any(KEY in text for text in texts)
