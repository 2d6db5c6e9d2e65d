"""Every overlay is valid for Kubernetes and KEDA and meets our rules; the checks find broken ones."""

import os
import re
import subprocess
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from parley_lab.base.settings import DatabaseSettings
from parley_lab.gateway.routes.health import LONGEST_CHECK_SECONDS
from parley_lab.testing.quick import quick_first
from tests.cluster.kustomize import render
from tests.cluster.manifests import (
    FOLDER,
    NEWEST,
    OVERLAYS,
    SERVICES,
    VERSIONS,
    Manifest,
    longest_call_seconds,
    manifests,
    named,
    pods,
    rule_complaints,
    schema_complaints,
)
from tests.containers.variables import KEYS, MODELS, READ
from tests.operators.test_alerts import scraping

OF_LIBPQ = {"PGSSLROOTCERT"}
"""Read by the library that connects to Postgres."""

Change = Callable[[list[Manifest]], object]


@pytest.mark.kubectl
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kubectl_renders_the_same(overlay: str) -> None:
    command = ["kubectl", "kustomize", str(FOLDER / "overlays" / overlay)]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    theirs = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(made)}
    assert {(one["kind"], one["metadata"]["name"]): one for one in manifests(overlay)} == theirs


def test_what_the_renderer_does_not_know_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("namePrefix: other-\n")

    with pytest.raises(ValueError, match="namePrefix"):
        render(tmp_path)


@pytest.mark.parametrize(
    ("overlay", "version"),
    quick_first(
        [
            *(("production", version) for version in (VERSIONS[0], NEWEST)),
            ("development", NEWEST),
            ("development", VERSIONS[0]),
            *(("production", version) for version in VERSIONS if version not in (VERSIONS[0], NEWEST)),
        ],
        3,
    ),
)
def test_every_overlay_is_what_the_api_takes(overlay: str, version: str) -> None:
    assert schema_complaints(manifests(overlay), version) == []


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_overlay_keeps_the_rules(overlay: str) -> None:
    assert rule_complaints(manifests(overlay)) == []


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_setting_is_read_by_someone(overlay: str) -> None:
    settings = next(one for one in manifests(overlay) if one["metadata"]["name"].startswith("settings-"))

    assert set(settings["data"]) <= set().union(*READ.values(), OF_LIBPQ)


def test_the_settings_and_keys_of_all_providers_are_named() -> None:
    """As deploy/env.example names them for Compose."""
    example = set(re.findall(r"^#?([A-Z0-9_]+)=", (FOLDER.parent / "env.example").read_text(), re.MULTILINE))
    keys = set(re.findall(r"^#([A-Z0-9_]+)=$", (FOLDER / "model-keys.env.example").read_text(), re.MULTILINE))
    settings = next(one for one in manifests("production") if one["metadata"]["name"].startswith("settings-"))

    assert example & (MODELS - KEYS) <= set(settings["data"])
    assert keys == KEYS == example & KEYS


def test_kinds_of_others_are_a_volume_that_all_services_read(tmp_path: Path) -> None:
    """The component `kinds`, as an operator's overlay includes it."""
    production, kinds = (os.path.relpath(FOLDER / one, tmp_path) for one in ("overlays/production", "kinds"))
    own = {"namespace": "parley", "resources": [production], "components": [kinds]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(own))

    found = manifests(str(tmp_path))

    assert schema_complaints(found, NEWEST) == []
    assert rule_complaints(found) == []
    for service in SERVICES:
        assert {"name": "kinds", "mountPath": "/kinds", "readOnly": True} in container_of(found, service)[
            "volumeMounts"
        ]
        assert "kinds" in [volume["name"] for volume in pod_of(found, service)["volumes"]]
    settings = next(one for one in found if one["metadata"]["name"].startswith("settings-"))
    assert settings["data"]["PARLEY_KINDS_DIR"] == "/kinds"


def test_prometheus_asks_each_service_at_one_port_where_its_numbers_are() -> None:
    job = yaml.safe_load(scraping()[1])["scrape_configs"][0]
    kept = re.compile(job["relabel_configs"][0]["regex"])
    found = manifests("production")

    asked = {
        service: [
            one["name"] for one in container_of(found, service)["ports"] if kept.fullmatch(f"{service};{one['name']}")
        ]
        for service in SERVICES
    }

    others = {name: ["health"] for name in ("gateway", "orchestrator", "agent-worker")}
    assert asked == others | {"prompt-builder": ["http"]}
    assert job["job_name"] == "parley"
    assert job["kubernetes_sd_configs"] == [{"role": "pod", "namespaces": {"names": ["parley"]}}]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_no_proxy_is_trusted_before_the_operator_names_it(overlay: str) -> None:
    found = manifests(overlay)

    settings = next(one for one in found if one["metadata"]["name"].startswith("settings-"))
    own = [one["name"] for one in container_of(found, "gateway")["env"]]

    assert settings["data"]["GATEWAY_TRUSTED_PROXIES"] == "127.0.0.1"
    assert "GATEWAY_TRUSTED_PROXIES" not in own, "the settings would be overruled"


def test_every_pod_checks_the_certificate_of_postgres_and_can_have_authorities_of_its_own() -> None:
    found = manifests("production")
    settings = next(one for one in found if one["metadata"]["name"].startswith("settings-"))
    mounted = {"name": "authorities", "mountPath": "/etc/parley/authorities", "readOnly": True}

    assert settings["data"]["PGSSLROOTCERT"].startswith("/etc/ssl/"), "HOME of the image does not exist"
    for name, pod in pods(found):
        volume = next(one for one in pod["spec"]["volumes"] if one["name"] == "authorities")
        assert volume["configMap"] == {"name": "authorities", "optional": True}, name
        for container in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]):
            assert mounted in container["volumeMounts"], (name, container["name"])
            assert {"configMapRef": {"name": settings["metadata"]["name"]}} in container["envFrom"], name


def test_the_namespace_is_there_before_what_goes_into_it() -> None:
    page = (FOLDER.parents[1] / "docs" / "operating.md").read_text()
    for start, end in (("## On a cluster", "### In production"), ("### In production", "### What the probes mean")):
        steps = page[page.index(start) : page.index(end)]

        assert 0 < steps.find("kubectl create namespace parley") < steps.index("create secret"), start


def test_the_manual_counts_every_connection_to_postgres() -> None:
    found = manifests("production")
    most = {
        one["spec"]["scaleTargetRef"]["name"]: one["spec"].get("maxReplicaCount") or one["spec"]["maxReplicas"]
        for one in found
        if one["kind"] in ("ScaledObject", "HorizontalPodAutoscaler")
    }
    surge = sum(spec_of(found, "Deployment", name)["strategy"]["rollingUpdate"]["maxSurge"] for name in SERVICES)
    pool = DatabaseSettings.model_fields["database_pool_size"].default
    # A gateway listens on a connection of its own, and so does one that is added while another one is replaced. Workers
    # that are replaced finish their calls.
    listening = most["gateway"] + 1
    together = pool * (sum(most.values()) + surge + most["agent-worker"]) + listening

    assert set(most) == set(SERVICES)
    page = (FOLDER.parents[1] / "docs" / "operating.md").read_text()
    assert f"these numbers {together:,}" in " ".join(page.split())


def test_tickets_and_links_reach_no_log_of_the_ingress() -> None:
    """They are in addresses, and open a stream or a part."""
    annotations = named(manifests("production"), "Ingress", "gateway")["metadata"]["annotations"]

    assert annotations["nginx.ingress.kubernetes.io/enable-access-log"] == "false"


def test_the_kubelet_waits_longer_for_the_readiness_of_a_gateway_than_that_takes() -> None:
    probe = container_of(manifests("production"), "gateway")["readinessProbe"]

    assert probe["timeoutSeconds"] > LONGEST_CHECK_SECONDS


def test_the_longest_call_is_an_hour() -> None:
    assert longest_call_seconds() == 3_600


def spec_of(found: list[Manifest], kind: str, name: str) -> Any:
    return named(found, kind, name)["spec"]


def pod_of(found: list[Manifest], name: str) -> Any:
    return spec_of(found, "Deployment", name)["template"]["spec"]


def container_of(found: list[Manifest], name: str) -> Any:
    return pod_of(found, name)["containers"][0]


def trigger_of(found: list[Manifest], name: str, number: int = 0) -> Any:
    return spec_of(found, "ScaledObject", name)["triggers"][number]


def without(found: list[Manifest], kind: str, name: str) -> None:
    found.remove(named(found, kind, name))


NOT_OF_THE_API: list[tuple[str, Change, str]] = [
    ("a field that does not exist", lambda f: pod_of(f, "gateway").update(runAsRoot=False), "runAsRoot"),
    ("a number that is a text", lambda f: spec_of(f, "Job", "migrate").update(backoffLimit="20"), "20"),
    ("a kind that does not exist", lambda f: named(f, "Service", "gateway").update(kind="Servise"), "Servise"),
    ("a version that is gone", lambda f: named(f, "Ingress", "gateway").update(apiVersion="extensions/v1beta1"), "1"),
    ("a field that is missing", lambda f: spec_of(f, "Deployment", "gateway").pop("selector"), "selector"),
    ("a number where KEDA wants a text", lambda f: trigger_of(f, "agent-worker")["metadata"].update(value=128), "128"),
    ("ready messages alone", lambda f: trigger_of(f, "agent-worker")["metadata"].update(protocol="amqp"), "http"),
    ("a slip in KEDA's field", lambda f: spec_of(f, "ScaledObject", "gateway").update(minReplicas=2), "minReplicas"),
    ("a scaler that nobody knows", lambda f: trigger_of(f, "gateway").update(type="streams"), "streams"),
    ("a broker without credentials", lambda f: trigger_of(f, "agent-worker").pop("authenticationRef"), "authentic"),
]


@pytest.mark.parametrize(
    ("change", "complaint"), [row[1:] for row in NOT_OF_THE_API], ids=[r[0] for r in NOT_OF_THE_API]
)
def test_what_the_api_refuses_is_found(change: Change, complaint: str) -> None:
    sound = manifests("production")
    broken = deepcopy(sound)
    change(broken)

    complaints = schema_complaints([one for one in broken if one not in sound], NEWEST)

    assert len(complaints) == 1
    assert complaint in complaints[0]


def ask_for_the_database(found: list[Manifest]) -> None:
    container_of(found, "agent-worker")["livenessProbe"]["httpGet"]["path"] = "/readyz"


def give_the_broker_away(found: list[Manifest]) -> None:
    reference = {"secretKeyRef": {"name": "parley", "key": "amqp_url"}}
    container_of(found, "prompt-builder")["env"].append({"name": "PARLEY_AMQP_URL", "valueFrom": reference})


def open_the_database(found: list[Manifest]) -> None:
    del spec_of(found, "NetworkPolicy", "to-database")["egress"][0]["ports"]


def let_all_of_monitoring_in(found: list[Manifest]) -> None:
    del spec_of(found, "NetworkPolicy", "prometheus-to-prompt-builder")["ingress"][0]["from"][0]["podSelector"]


def lose_a_provider(found: list[Manifest]) -> None:
    del spec_of(found, "ScaledObject", "agent-worker")["triggers"][1]


def start_workers_for_the_dead(found: list[Manifest]) -> None:
    trigger_of(found, "agent-worker")["metadata"]["queueName"] = r"^agent-worker\.mock"


NOT_OF_OURS: list[tuple[Change, str]] = [
    (lambda f: pod_of(f, "gateway").pop("automountServiceAccountToken"), "token"),
    (lambda f: pod_of(f, "gateway").update(enableServiceLinks=True), "GATEWAY_PORT"),
    (lambda f: pod_of(f, "gateway")["securityContext"].update(runAsUser=0), "root"),
    (lambda f: pod_of(f, "gateway").pop("securityContext"), "kernel"),
    (lambda f: container_of(f, "orchestrator").pop("securityContext"), "file system"),
    (lambda f: container_of(f, "orchestrator")["securityContext"].pop("capabilities"), "rights"),
    (lambda f: container_of(f, "orchestrator")["resources"]["limits"].pop("memory"), "memory in its limits"),
    (lambda f: container_of(f, "orchestrator").update(image="registry.example.org:5000/parley"), "pinned"),
    (lambda f: container_of(f, "agent-worker").pop("readinessProbe"), "no readiness probe"),
    (ask_for_the_database, "liveness probe asks /readyz"),
    (lambda f: pod_of(f, "agent-worker").update(topologySpreadConstraints=[]), "not spread"),
    (lambda f: without(f, "PodDisruptionBudget", "gateway"), "no disruption budget"),
    (lambda f: pod_of(f, "gateway").update(initContainers=[]), "not migrated"),
    (lambda f: pod_of(f, "agent-worker").update(terminationGracePeriodSeconds=3_600), "killed after 3600 s"),
    (give_the_broker_away, "prompt-builder has the credentials"),
    (lambda f: without(f, "NetworkPolicy", "deny-by-default"), "not denied"),
    (lambda f: spec_of(f, "NetworkPolicy", "to-broker").update(podSelector={"matchLabels": {"app": "x"}}), "nobody"),
    (open_the_database, "opens everything"),
    (lambda f: without(f, "NetworkPolicy", "prometheus-to-metrics"), "the numbers of gateway"),
    (lambda f: without(f, "NetworkPolicy", "prometheus-to-prompt-builder"), "the numbers of prompt-builder"),
    (let_all_of_monitoring_in, "numbers of prompt-builder"),
    (lambda f: spec_of(f, "ScaledObject", "gateway")["scaleTargetRef"].update(name="gateways"), "scales nothing"),
    (lambda f: spec_of(f, "ScaledObject", "gateway").update(minReplicaCount=1), "leaves one"),
    (lose_a_provider, "agent-worker.openai"),
    (start_workers_for_the_dead, "agent-worker.mock.dead"),
]


@pytest.mark.parametrize(("change", "complaint"), NOT_OF_OURS, ids=[row[1] for row in NOT_OF_OURS])
def test_what_breaks_a_rule_is_found(change: Change, complaint: str) -> None:
    broken = deepcopy(manifests("production"))
    change(broken)

    complaints = rule_complaints(broken)

    assert any(complaint in one for one in complaints), complaints
