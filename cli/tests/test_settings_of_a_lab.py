"""Wrong settings of the services of an embedded lab are named before it starts."""

from pathlib import Path

import pytest

from parley_lab.base.errors import SettingsInvalid
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab


@pytest.mark.parametrize("name", ["AGENT_WORKER_PREFETCH", "ORCHESTRATOR_TIMER_SECONDS"])
def test_a_wrong_variable_of_a_service_is_named_before_the_lab_starts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "many")

    with pytest.raises(SettingsInvalid, match=name):
        EmbeddedLab(tmp_path / "lab", servers=ServerSettings(), environ={}, port=None)
