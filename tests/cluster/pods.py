"""A pod of the manifests as a process of this machine, and the results of its probes, as the kubelet would get them."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx2

from parley_lab.testing.network import WITHOUT_TLS, free_port
from tests.cluster.manifests import Manifest, named
from tests.operators.forked_service import begin

_PORTS = {"gateway": "GATEWAY_PORT", "prompt-builder": "PROMPT_BUILDER_PORT"}
"""The variable with the port named http."""

# Blocks the event loop on a signal, as a bug would.
_BLOCKABLE = """
import runpy, signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3600))
signal.signal(signal.SIGUSR2, signal.SIG_DFL)
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def _let_signals_block() -> None:
    """Do as `_BLOCKABLE` before the service runs."""
    signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3600))
    signal.signal(signal.SIGUSR2, signal.SIG_DFL)


class Process(Protocol):
    """A process in a pod."""

    def poll(self) -> int | None:
        """The exit code; None while it runs."""

    def send_signal(self, sig: int, /) -> None: ...

    def wait(self) -> int: ...


class Pod:
    """The first container of a deployment, with the manifest's command and environment, at ports of its own."""

    def __init__(self, name: str, process: Process, container: Manifest, ports: Mapping[str, int]) -> None:
        self.name = name
        self._process = process
        self._container = container
        self._ports = ports

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def block_loop(self) -> None:
        self._process.send_signal(signal.SIGUSR1)

    async def passes(self, what: str) -> bool:
        """Whether its `liveness`, `readiness` or `startup` probe succeeds once, within the probe's time."""
        probe = self._container[f"{what}Probe"]
        url = f"http://127.0.0.1:{self._ports[probe['httpGet']['port']]}{probe['httpGet']['path']}"
        try:
            async with (
                asyncio.timeout(probe.get("timeoutSeconds", 1)),
                httpx2.AsyncClient(timeout=None, verify=WITHOUT_TLS) as client,
            ):
                return 200 <= (await client.get(url)).status_code < 400
        except (httpx2.TransportError, TimeoutError):
            return False

    async def comes_to(self, what: str, passes: bool, *, seconds: float = 90.0) -> None:
        """Wait until the probe says so, as long as the kubelet would be patient."""
        async with asyncio.timeout(seconds):
            while await self.passes(what) is not passes:
                assert not self.ended, f"{self.name} has ended"
                await asyncio.sleep(0.1)


Box = Callable[[Manifest, Sequence[str], Sequence[str]], list[str]]
"""The command that runs another one in a box made for this pod, handing on the variables with these names."""


def as_process(_: Manifest, command: Sequence[str], __: Sequence[str]) -> list[str]:
    """On this machine, with the interpreter of the tests."""
    return [sys.executable, *command[1:]]


def in_container_of(image: str) -> Box:
    """In a container of this image with the pod's user, rights, limits and file systems, at this machine's network."""

    def boxed(pod: Manifest, command: Sequence[str], variables: Sequence[str]) -> list[str]:
        container, context = pod["containers"][0], pod["securityContext"]
        limits, own = container["resources"]["limits"], container["securityContext"]
        volumes = {one["name"]: one["emptyDir"] for one in pod["volumes"]} if "volumes" in pod else {}
        return [
            *("docker", "run", "--rm", "--init", "--network", "host"),
            *("--user", f"{context['runAsUser']}:{context['runAsGroup']}"),
            *(f"--cap-drop={right}" for right in own["capabilities"]["drop"]),
            *(["--security-opt", "no-new-privileges"] if not own["allowPrivilegeEscalation"] else []),
            *(["--read-only"] if own["readOnlyRootFilesystem"] else []),
            *("--cpus", limits["cpu"], "--memory", limits["memory"].removesuffix("i").lower()),
            *(
                f"--tmpfs={one['mountPath']}:size={volumes[one['name']]['sizeLimit'].removesuffix('i').lower()}"
                for one in container.get("volumeMounts", ())
            ),
            *(part for name in variables for part in ("--env", name)),
            image,
            *command,
        ]

    return boxed


@contextmanager
def running(
    found: list[Manifest], name: str, folder: Path, secrets: Mapping[str, str], box: Box | None = as_process
) -> Iterator[Pod]:
    """The pod of a deployment; `secrets` are the values of the secret `parley`, by key.

    Without a box it is forked from a process that has its modules loaded.
    """
    pod = named(found, "Deployment", name)["spec"]["template"]["spec"]
    container = pod["containers"][0]
    ports = {one["name"]: free_port() for one in container["ports"]}
    environment = dict(_environment(found, container, secrets))
    environment["PARLEY_HEALTH_PORT"] = str(ports.get("health", 8080))
    if "http" in ports:
        environment[_PORTS[name]] = str(ports["http"])
    python, dash_m, module = container["command"]
    assert (python, dash_m) == ("python", "-m")
    environment["PATH"] = os.environ["PATH"]
    log = folder / f"{name}.log"
    if box is None:
        process: Process = begin(module, environment, log, first=_let_signals_block)
    else:
        command = box(pod, [python, "-c", _BLOCKABLE, module], [one for one in environment if one != "PATH"])
        with log.open("wb") as out:
            process = subprocess.Popen(command, env=environment, cwd=folder, stdout=out, stderr=out)
    try:
        yield Pod(name, process, container, ports)
    finally:
        _end(process)


def _end(process: Process) -> None:
    """With a signal that the engine hands on to a container; one whose loop is blocked hears nothing of it."""
    process.send_signal(signal.SIGUSR2)
    process.wait()


def _environment(found: list[Manifest], container: Manifest, secrets: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for source in container["envFrom"]:
        if "configMapRef" in source:
            yield from named(found, "ConfigMap", source["configMapRef"]["name"])["data"].items()
    for one in container["env"]:
        yield one["name"], one["value"] if "value" in one else secrets[_secret_key(one)]


def _secret_key(variable: Mapping[str, Any]) -> str:
    key: str = variable["valueFrom"]["secretKeyRef"]["key"]
    return key
