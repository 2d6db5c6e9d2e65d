"""The alert rules are rules, fire at what they name and at nothing else, and name numbers that the lab tells."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY

from parley_lab.base import metrics

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy" / "alerts.yaml"
CASES = Path(__file__).parent / "alerts.yaml"


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = shutil.which("promtool")
    if command is None:
        pytest.skip("no promtool, which is in Debian's package prometheus")
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=False)


def scraping() -> list[str]:
    """The configurations of Prometheus that the manual shows: for Compose, and for a cluster."""
    return re.findall(r"```yml\n(rule_files:.*?)```", (ROOT / "docs" / "operating.md").read_text(), re.DOTALL)


def told() -> set[str]:
    """The names of our samples, without those that only some label has."""
    assert metrics.STREAMS is not None
    names = {name for name in REGISTRY._names_to_collectors if name.startswith("parley_")}
    return {name for name in names if not name.endswith("_created")}


def test_promtool_takes_the_rules() -> None:
    checked = promtool("check", "rules", str(RULES))

    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("number", [0, 1], ids=["compose", "cluster"])
def test_promtool_takes_the_configurations_of_the_manual(number: int, tmp_path: Path) -> None:
    found = yaml.safe_load(scraping()[number])
    for job in found["scrape_configs"]:
        # Debian builds its promtool without Kubernetes.
        if job.pop("kubernetes_sd_configs", None):
            job["static_configs"] = [{"targets": ["127.0.0.1:8080"]}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(found))
    shutil.copy(RULES, tmp_path)

    checked = promtool("check", "config", str(tmp_path / "prometheus.yml"))

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_service_that_has_not_looked_at_the_lab_tells_no_number_of_it() -> None:
    told = "from parley_lab.base.metrics import in_words_of_prometheus as told; print(told().decode())"
    lines = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.splitlines()

    for name in ("parley_asks_open", "parley_outbox_oldest_seconds", "parley_cohorts_stuck"):
        assert f"{name} NaN" in lines


def test_each_alert_fires_at_what_it_names() -> None:
    tested = promtool("test", "rules", str(CASES))

    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_each_alert_has_a_case_and_names_numbers_that_there_are() -> None:
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    cases = {one["name"] for one in yaml.safe_load(CASES.read_text())["tests"]}

    assert {rule["alert"] for rule in rules} <= cases
    assert {name for rule in rules for name in re.findall(r"parley_\w+", rule["expr"])} <= told()


def test_the_manual_names_every_number() -> None:
    page = (ROOT / "docs" / "operating.md").read_text()
    table = page[page.index("### Numbers and alerts") :]

    documented = set(re.findall(r"`(parley_\w+)`", table))

    assert documented <= told()
    assert {name for name in told() if re.sub(r"_(bucket|count|sum|total)$", "", name) == name} <= documented | {
        name.removesuffix("_total") for name in documented
    }
