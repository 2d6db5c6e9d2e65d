"""The rendered manifests of deploy/kubernetes, and checks of them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate

from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.bus.contract import dead_queue, urgent_lane
from parley_lab.contracts.hints import AGENT_STEPS, provider_queue
from parley_lab.contracts.providers import CREWAI_PROVIDER, PROVIDERS
from tests.cluster.kustomize import render

Manifest = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
OVERLAYS = ("development", "production")
VERSIONS = tuple(f"1.{minor}" for minor in range(30, 38))
"""The versions of Kubernetes that take the manifests."""
NEWEST = VERSIONS[-1]

SERVICES = ("gateway", "orchestrator", "agent-worker", "prompt-builder")
CREDENTIALS = {
    "gateway": {"database_url", "amqp_url", "bootstrap_api_key"},
    "orchestrator": {"database_url", "amqp_url"},
    "agent-worker": {"database_url", "amqp_url"},
    "prompt-builder": {"database_url"},
}
MODEL_KEYS = "parley-model-keys"
WITH_MODEL_KEYS = {"gateway", "agent-worker"}

PROMETHEUS = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
}
"""Where Prometheus runs, as its usual charts have it."""

_KEDA = json.loads((Path(__file__).parent / "keda.schema.json").read_text())
_SPREAD = {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}


@cache
def _rendered(overlay: str) -> list[Manifest]:
    return render(FOLDER / "overlays" / overlay)


def manifests(overlay: str) -> list[Manifest]:
    """What comes of an overlay, or of a folder outside; its reader may change it."""
    return deepcopy(_rendered(overlay))


def named(found: Sequence[Manifest], kind: str, name: str) -> Manifest:
    return next(one for one in found if (one["kind"], one["metadata"]["name"]) == (kind, name))


def schema_complaints(found: Sequence[Manifest], version: str) -> list[str]:
    """What the API of this version of Kubernetes, or KEDA, would refuse."""
    return [f"{_called(one)}: {wrong}" for one in found for wrong in _refused(one, version)]


def _refused(manifest: Manifest, version: str) -> Iterator[str]:
    try:
        if manifest["apiVersion"].startswith("keda.sh/"):
            jsonschema.validate(manifest, _KEDA)
        else:
            kubernetes_validate.validate(manifest, version, strict=True)
    except jsonschema.ValidationError as error:
        yield f"{'.'.join(map(str, error.path))}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError as error:
        yield error.message


def rule_complaints(found: Sequence[Manifest]) -> list[str]:
    """What Kubernetes would accept and we would not."""
    rules = (_pods, _deployments, _credentials, _networks, _numbers, _scaling)
    return [wrong for rule in rules for wrong in rule(found)]


def pods(found: Sequence[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """The pods that are made, by the names of their makers: labels and spec."""
    for one in found:
        if one["kind"] in ("Deployment", "StatefulSet", "Job"):
            yield _called(one), one["spec"]["template"]


def _called(manifest: Manifest) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"


def _pods(found: Sequence[Manifest]) -> Iterator[str]:
    for name, pod in pods(found):
        spec = pod["spec"]
        if spec.get("automountServiceAccountToken") is not False:
            yield f"{name} mounts the token of its service account"
        if spec.get("enableServiceLinks") is not False:
            yield f"{name} lets services set variables such as GATEWAY_PORT"
        context = spec.get("securityContext", {})
        if not context.get("runAsNonRoot") or not context.get("runAsUser"):
            yield f"{name} may run as root"
        if context.get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield f"{name} may make every call to the kernel"
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            yield from (f"{name}, {container['name']}: {wrong}" for wrong in _container(container))


def _container(container: Manifest) -> Iterator[str]:
    context = container.get("securityContext", {})
    if not context.get("readOnlyRootFilesystem"):
        yield "writes to its own file system"
    if context.get("allowPrivilegeEscalation") is not False or context.get("capabilities") != {"drop": ["ALL"]}:
        yield "has rights that it does not need"
    for bound, what in product(("requests", "limits"), ("cpu", "memory")):
        if what not in container.get("resources", {}).get(bound, {}):
            yield f"says nothing of {what} in its {bound}"
    _, _, tag = container["image"].rpartition(":")
    if tag in ("", "latest", container["image"]) or "/" in tag:
        yield "its image is not pinned"


def _deployments(found: Sequence[Manifest]) -> Iterator[str]:
    budgets = [one["spec"]["selector"]["matchLabels"] for one in found if one["kind"] == "PodDisruptionBudget"]
    for service in SERVICES:
        deployment = named(found, "Deployment", service)
        template = deployment["spec"]["template"]
        labels, spec = template["metadata"]["labels"], template["spec"]
        probes = {what: spec["containers"][0].get(f"{what}Probe") for what in ("liveness", "readiness", "startup")}
        for what, probe in probes.items():
            if probe is None:
                yield f"{service} has no {what} probe"
            elif (path := probe["httpGet"]["path"]) != ("/readyz" if what == "readiness" else "/healthz"):
                yield f"{service}: the {what} probe asks {path}"
        if {one["topologyKey"] for one in spec.get("topologySpreadConstraints", ())} != _SPREAD:
            yield f"{service} is not spread over nodes and zones"
        if any(one["labelSelector"]["matchLabels"] != labels for one in spec.get("topologySpreadConstraints", ())):
            yield f"{service} is spread by the labels of others"
        if labels not in budgets:
            yield f"{service} has no disruption budget"
        if "await-migration" not in [one["name"] for one in spec.get("initContainers", ())]:
            yield f"{service} starts on a database that was not migrated"
    grace = named(found, "Deployment", "agent-worker")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    if grace <= longest_call_seconds():
        yield f"agent-worker is killed after {grace} s, and a call may take {longest_call_seconds()} s"


def longest_call_seconds() -> float:
    bounds = WorkerSettings.model_json_schema()["properties"]["timeout_seconds"]
    return float(bounds["maximum"])


def _credentials(found: Sequence[Manifest]) -> Iterator[str]:
    for service in SERVICES:
        container = named(found, "Deployment", service)["spec"]["template"]["spec"]["containers"][0]
        given = {one["valueFrom"]["secretKeyRef"]["key"] for one in container["env"] if "valueFrom" in one}
        if given != CREDENTIALS[service]:
            yield f"{service} has the credentials {sorted(given)} and uses {sorted(CREDENTIALS[service])}"
        whole = {one["secretRef"]["name"] for one in container["envFrom"] if "secretRef" in one}
        if whole != ({MODEL_KEYS} if service in WITH_MODEL_KEYS else set()):
            yield f"{service} has all of {sorted(whole)}"


def _networks(found: Sequence[Manifest]) -> Iterator[str]:
    policies = [one for one in found if one["kind"] == "NetworkPolicy"]
    nothing = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    if nothing not in [one["spec"] for one in policies]:
        yield "what no policy names is not denied"
    labels = [pod["metadata"]["labels"] for _, pod in pods(found)]
    for policy in policies:
        if not any(_selects(policy["spec"]["podSelector"], one) for one in labels):
            yield f"{_called(policy)} is about nobody"
    for one in policies:
        for way in (*one["spec"].get("ingress", ()), *one["spec"].get("egress", ())):
            if not way.get("ports") or not (way.get("from") or way.get("to")):
                yield f"{_called(one)} opens everything"


def _numbers(found: Sequence[Manifest]) -> Iterator[str]:
    """Prometheus, and no other pod from its namespace, reaches the port of each service that has /metrics."""
    for service in SERVICES:
        ports = named(found, "Deployment", service)["spec"]["template"]["spec"]["containers"][0]["ports"]
        port = "health" if "health" in [one["name"] for one in ports] else "http"
        if PROMETHEUS not in _let_in(found, {"app": service}, port):
            yield f"Prometheus does not reach the numbers of {service}"


def _let_in(found: Sequence[Manifest], labels: Mapping[str, str], port: str) -> list[Manifest]:
    """Who may connect to this port of the pods with these labels."""
    policies = [one["spec"] for one in found if one["kind"] == "NetworkPolicy"]
    ways = [way for one in policies if _selects(one["podSelector"], labels) for way in one.get("ingress", ())]
    return [peer for way in ways if port in [one["port"] for one in way["ports"]] for peer in way["from"]]


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    fitting = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return fitting and all(labels.get(one["key"]) in one["values"] for one in selector.get("matchExpressions", ()))


def _scaling(found: Sequence[Manifest]) -> Iterator[str]:
    scaled = [one for one in found if one["kind"] == "ScaledObject"]
    deployments = {one["metadata"]["name"] for one in found if one["kind"] == "Deployment"}
    for one in scaled:
        if one["spec"]["scaleTargetRef"]["name"] not in deployments:
            yield f"{_called(one)} scales nothing"
        if one["spec"]["minReplicaCount"] < 2:
            yield f"{_called(one)} leaves one at most"
    if scaled:
        yield from _unscaled_queues(named(found, "ScaledObject", "agent-worker"))


def _unscaled_queues(scaled: Manifest) -> Iterator[str]:
    patterns = [trigger["metadata"]["queueName"] for trigger in scaled["spec"]["triggers"]]
    for queue in worker_queues():
        for lane in (queue, urgent_lane(queue)):
            if sum(re.search(pattern, lane) is not None for pattern in patterns) != 1:
                yield f"nobody scales by the queue {lane}, or several do"
        if any(re.search(pattern, dead_queue(queue)) for pattern in patterns):
            yield f"what is dead in {dead_queue(queue)} starts workers"


def worker_queues() -> list[str]:
    """The work queues that agent workers take from."""
    providers = dict.fromkeys(CREWAI_PROVIDER if "/" in name else name for name in PROVIDERS)
    return [AGENT_STEPS, *map(provider_queue, providers)]
