"""The distributed lab of docker-compose.yml, brought up under a name of its own and taken away again."""

import io
import os
import re
import secrets
import shutil
import subprocess
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx2

from parley_lab.testing.network import free_port

ROOT = Path(__file__).resolve().parents[2]

SERVICES = ("postgres", "rabbitmq", "proxy", "gateway", "gateway-2", "orchestrator", "agent-worker", "prompt-builder")
WORKER = "agent-worker"

_PUBLISHED = re.compile(r"(\S+):\d+->")
_LOOK_SECONDS = 0.5
_STOP_SECONDS = "10"


class ComposeLab:
    """One lab; `api` is its REST API, with the key that it was started with."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], port: int, key: str) -> None:
        self._command = command
        self._environment = environment
        self._project = environment["COMPOSE_PROJECT_NAME"]
        self.image = environment["PARLEY_IMAGE"]
        self._secrets = Path(environment["PARLEY_SECRETS"])
        self.url = f"http://127.0.0.1:{port}"
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

    def restart(self, service: str) -> None:
        """Restart the container of a service, with SIGKILL if it does not stop in time."""
        self.compose("restart", "--timeout", _STOP_SECONDS, service)

    def replace(self, service: str) -> None:
        """Take the container of a service away and start another one, as an upgrade does."""
        self.compose("up", "--detach", "--no-deps", "--force-recreate", service)
        until(lambda: self.healthy()[service] == 1, seconds=60, otherwise=self.told)

    @contextmanager
    def asked_all_the_time(self) -> Iterator[list[int]]:
        """Ask for something over new connections until the block ends; gives the answers' statuses, 0 for none."""
        answers: list[int] = []
        over = Event()

        def ask() -> None:
            while not over.wait(0.05):
                try:
                    answers.append(httpx2.get(f"{self.url}/v1/experiments", headers=self.api.headers).status_code)
                except httpx2.TransportError:
                    answers.append(0)

        asking = Thread(target=ask)
        asking.start()
        try:
            yield answers
        finally:
            over.set()
            asking.join()

    @contextmanager
    def held(self, service: str) -> Iterator[None]:
        """Have a service neither work nor close its connections until the block ends."""
        self.compose("pause", service)
        try:
            yield
        finally:
            self.compose("unpause", service)

    def limit_free_disk(self, free_bytes: str) -> None:
        """Have the broker raise its alarm while less of the disk is free."""
        self.compose("exec", "-T", "rabbitmq", "rabbitmqctl", "set_disk_free_limit", free_bytes)

    def exit_code(self, *arguments: str) -> int:
        """How docker compose with these arguments ends."""
        return subprocess.run([*self._command, *arguments], cwd=ROOT, env=self._environment, check=False).returncode

    def secrets(self) -> list[str]:
        """The values of all secrets that are no addresses."""
        return [path.read_text() for path in self._secrets.iterdir() if path.is_file() and "_url" not in path.name]

    def inspected(self) -> str:
        """What the engine shows about the containers, stopped ones included."""
        containers = _run([*self._command, "ps", "--all", "--quiet"], self._environment).split()
        return _run(["docker", "inspect", *containers], self._environment)

    def told(self) -> str:
        """The state of the containers and their last logs, to explain a failure."""
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
    """Poll, because containers do not announce that they are ready; `otherwise` explains a failure."""
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
def built_lab(command: Sequence[str], folder: Path) -> Iterator[ComposeLab]:
    """A lab whose image is built and that is not started, with new secrets in `folder`; nothing of it is left."""
    port = free_port()
    name = f"parley-test-{secrets.token_hex(4)}"
    environment = {
        **os.environ,
        "COMPOSE_PROJECT_NAME": name,
        "PARLEY_IMAGE": f"{name}:latest",
        "PARLEY_PORT": str(port),
        "PARLEY_SECRETS": str(folder / "secrets"),
        "LLM_USE_MOCK": "true",
        # Beside another lab on this machine.
        "PARLEY_PROXY_NETWORK": f"10.251.{secrets.randbelow(256)}.32/27",
        # The tests look often.
        "GATEWAY_KEY_REQUESTS": "0",
    }
    _run([str(ROOT / "deploy" / "new-secrets"), environment["PARLEY_SECRETS"]], environment)
    key = (folder / "secrets" / "bootstrap_api_key").read_text()
    lab = ComposeLab(command, environment, port, key)
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
