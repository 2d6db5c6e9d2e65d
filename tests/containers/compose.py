"""The distributed lab of docker-compose.yml, brought up under a name of its own and taken away again."""

import io
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parents[2]

SERVICES = ("postgres", "rabbitmq", "gateway", "orchestrator", "agent-worker", "prompt-builder")
WORKER = "agent-worker"

_PUBLISHED = re.compile(r"(\S+):\d+->")
_LOOK_SECONDS = 0.5
_STOP_SECONDS = "10"


class ComposeLab:
    """One lab; `api` is its REST API, with the key that it was started with."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], port: int) -> None:
        self._command = command
        self._environment = environment
        self._project = environment["COMPOSE_PROJECT_NAME"]
        self.url = f"http://127.0.0.1:{port}"
        key = environment["PARLEY_BOOTSTRAP_API_KEY"]
        self.api = httpx2.Client(base_url=self.url, headers={"authorization": f"Bearer {key}"}, timeout=60)

    def compose(self, *arguments: str) -> str:
        """The output of docker compose with these arguments, which must succeed."""
        return _run([*self._command, *arguments], self._environment)

    def up(self, workers: int) -> None:
        """Start what is not running and wait until everything is healthy."""
        self.compose("up", "--detach", "--scale", f"{WORKER}={workers}")
        expected = Counter(SERVICES) + Counter({WORKER: workers - 1})
        until(lambda: self.healthy() == expected, seconds=180, otherwise=self.told)

    def down(self) -> None:
        self.api.close()
        self.compose("down", "--volumes", "--timeout", _STOP_SECONDS)

    def healthy(self) -> Counter[str]:
        """How many containers of each service run and say that they are healthy."""
        lines = self._ps('{{.Label "com.docker.compose.service"}} {{.Status}}').splitlines()
        return Counter(line.split()[0] for line in lines if line.endswith("(healthy)"))

    def published(self) -> dict[str, set[str]]:
        """The addresses of this machine at which each service listens."""
        lines = self._ps('{{.Label "com.docker.compose.service"}} {{.Ports}}').splitlines()
        found = {line.split()[0]: set(_PUBLISHED.findall(line)) for line in lines}
        return {service: addresses for service, addresses in found.items() if addresses}

    def kill(self, service: str) -> None:
        """SIGKILL one container of a service."""
        name = self._ps("{{.ID}}", "--filter", f"label=com.docker.compose.service={service}").split()[0]
        _run(["docker", "kill", "--signal", "KILL", name], self._environment)

    def told(self) -> str:
        """How the containers are and what they said last, for a person who looks into a failure."""
        return f"{self.compose('ps')}\n{self.compose('logs', '--no-color', '--tail', '40')}"

    def _ps(self, form: str, *filters: str) -> str:
        label = f"label=com.docker.compose.project={self._project}"
        return _run(["docker", "ps", "--no-trunc", "--filter", label, *filters, "--format", form], self._environment)

    def start(self, experiment_file: str) -> str:
        """Create and start an experiment; gives its id."""
        created = self.api.post(
            "/v1/experiments", content=experiment_file.encode(), headers={"content-type": "application/yaml"}
        )
        assert created.status_code == 201, created.text
        experiment_id = str(created.json()["id"])
        self._start(experiment_id)
        return experiment_id

    def start_workbook(self, workbook: Path) -> list[str]:
        """Import a workbook and start every experiment in it; gives their ids."""
        imported = self.api.post("/v1/experiments/import", files={"file": (workbook.name, workbook.read_bytes())})
        assert imported.status_code == 201, imported.text
        experiment_ids = [str(experiment["id"]) for experiment in imported.json()["experiments"]]
        for experiment_id in experiment_ids:
            self._start(experiment_id)
        return experiment_ids

    def _start(self, experiment_id: str) -> None:
        started = self.api.post(f"/v1/experiments/{experiment_id}/start")
        assert started.status_code == 200, started.text

    def progress(self, experiment_id: str) -> dict[str, Any]:
        """The experiment as the API shows it; a lab whose database restarts may ask to come back."""
        while True:
            answer = self.api.get(f"/v1/experiments/{experiment_id}")
            if answer.status_code != 503:
                assert answer.status_code == 200, answer.text
                shown: dict[str, Any] = answer.json()
                return shown
            time.sleep(_LOOK_SECONDS)

    def wait_for_messages(self, experiment_id: str, count: int) -> None:
        until(lambda: self.progress(experiment_id)["progress"]["messages"] >= count, seconds=120, otherwise=self.told)

    def wait_for_end(self, experiment_id: str, *, seconds: float) -> None:
        until(lambda: self.progress(experiment_id)["status"] == "ended", seconds=seconds, otherwise=self.told)

    def export(self, experiment_id: str) -> dict[str, bytes]:
        """Every data file, by name."""
        answer = self.api.get(f"/v1/experiments/{experiment_id}/export")
        assert answer.status_code == 200, answer.text
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def until(condition: Callable[[], bool], *, seconds: float, otherwise: Callable[[], str]) -> None:
    """Look again and again, since containers tell nobody when they are ready; `otherwise` explains a failure."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s\n{otherwise()}"
        time.sleep(_LOOK_SECONDS)


def compose_command() -> list[str] | None:
    """`docker compose`, or the older program of its own; None when there is neither."""
    if shutil.which("docker") is None:
        return None
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0:
        return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else None


def engine_answers() -> bool:
    return subprocess.run(["docker", "version"], capture_output=True, check=False).returncode == 0


@contextmanager
def built_lab(command: Sequence[str]) -> Iterator[ComposeLab]:
    """A lab whose image is built and that is not started, with secrets made up; nothing of it is left."""
    port = _free_port()
    name = f"parley-test-{secrets.token_hex(4)}"
    environment = {
        **os.environ,
        "COMPOSE_PROJECT_NAME": name,
        "PARLEY_IMAGE": f"{name}:latest",
        "PARLEY_PORT": str(port),
        "POSTGRES_PASSWORD": secrets.token_hex(16),
        "RABBITMQ_DEFAULT_PASS": secrets.token_hex(16),
        "PARLEY_BOOTSTRAP_API_KEY": secrets.token_hex(16),
        "LLM_USE_MOCK": "true",
    }
    lab = ComposeLab(command, environment, port)
    try:
        lab.compose("build")
        yield lab
    finally:
        lab.down()
        _run(["docker", "image", "rm", "--force", environment["PARLEY_IMAGE"]], environment)


def _run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
