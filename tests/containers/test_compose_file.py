"""The settings in docker-compose.yml: documented variables arrive, and each service gets only those that it uses."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from ipaddress import ip_network
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.base.settings import HealthSettings
from parley_lab.gateway.routes.health import LONGEST_CHECK_SECONDS
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.orchestrator.settings import OrchestratorSettings
from tests.containers.compose import ROOT
from tests.containers.variables import ADDRESSES, KEYS, READ, names
from tests.operators.test_alerts import scraping

EXAMPLE = (ROOT / "deploy" / "env.example").read_text()
DOCUMENTED = re.compile(
    r"\b(?:PARLEY|AGENT_WORKER|GATEWAY|ORCHESTRATOR|PROMPT_BUILDER|LLM|OPENAI|ANTHROPIC|GEMINI|GOOGLE_GEMINI|OPENROUTER"
    r"|DEEPSEEK|OLLAMA|HF|ENDPOINT|POSTGRES|RABBITMQ|PROXY|CADDY|PYTHON|PIP|UV)_[A-Z0-9_]+\b"
)
OF_OTHERS = {"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS", "OLLAMA_CONTEXT_LENGTH"}
"""The pages name these variables of vendors and their servers; the lab hands none of them on."""

FILE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
OURS = ("gateway", "gateway-2", "orchestrator", "agent-worker", "prompt-builder")


def documented() -> list[str]:
    texts = (*((ROOT / "docs" / page).read_text() for page in ("operating.md", "endpoints.md")), EXAMPLE)
    return sorted({name for text in texts for name in DOCUMENTED.findall(text)} - OF_OTHERS)


def variable(name: str) -> str:
    """The name of the variable, or of the one whose file holds its value."""
    return name.removesuffix("_FILE")


def interpolated(part: object) -> set[str]:
    return set(re.findall(r"\$\{([A-Z0-9_]+)", yaml.safe_dump(part)))


@pytest.mark.parametrize("name", documented())
def test_every_documented_variable_reaches_all_who_read_it(name: str) -> None:
    readers = [service for service, read in READ.items() if variable(name) in read]

    assert readers or name in interpolated(FILE), "nobody reads it"
    for service in readers:
        given = set(SERVICES[service]["environment"])
        assert given & {variable(name), f"{variable(name)}_FILE"}, service


OWN = {
    "gateway": names(GatewaySettings),
    "orchestrator": names(OrchestratorSettings),
    "agent-worker": names(WorkerSettings),
}
"""What settings.py of a service says, to which the manual points."""


@pytest.mark.parametrize("service", OWN)
def test_every_setting_of_a_service_reaches_it(service: str) -> None:
    assert OWN[service] <= set(SERVICES[service]["environment"])


@pytest.mark.parametrize("name", sorted(interpolated(FILE) - {"PARLEY_LOG_FORMAT", "PARLEY_AMQP_PREFIX"}))
def test_everything_that_can_be_said_is_documented(name: str) -> None:
    assert {name, variable(name)} & {*documented(), *set().union(*OWN.values())}


@pytest.mark.parametrize("service", OURS)
def test_no_one_is_given_what_they_do_not_read(service: str) -> None:
    assert {variable(name) for name in SERVICES[service]["environment"]} <= READ[service]


CREDENTIALS: dict[str, Iterable[str]] = {
    "postgres": ["postgres_password"],
    "rabbitmq": ["rabbitmq_password"],
    "prepare": ["postgres_password", "database_password"],
    "migrate": ["database_url"],
    "proxy": [],
    "public": [],
    "gateway": ["database_url", "amqp_url", "bootstrap_api_key"],
    "gateway-2": ["database_url", "amqp_url", "bootstrap_api_key"],
    "orchestrator": ["database_url", "amqp_url"],
    "agent-worker": ["database_url", "amqp_url"],
    "prompt-builder": ["database_url"],
    "tools": ["database_url", "amqp_url"],
}


def test_every_secret_goes_to_those_who_use_it_and_to_no_other() -> None:
    assert {name: service.get("secrets", []) for name, service in SERVICES.items()} == CREDENTIALS


def test_every_secret_is_made_once(tmp_path: Path) -> None:
    command = [str(ROOT / "deploy" / "new-secrets"), str(tmp_path / "secrets")]

    made = subprocess.run(command, capture_output=True, check=False)
    values = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir() if path.is_file()}
    again = subprocess.run(command, capture_output=True, check=False)

    assert (made.returncode, again.returncode) == (0, 1)
    assert set(values) == set(FILE["secrets"])
    assert values["database_password"] in values["database_url"]
    assert len(set(values.values())) == len(values)
    assert values == {name: (tmp_path / "secrets" / name).read_text() for name in values}
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("missing", ["od", "tr", "head"])
def test_no_secret_is_made_where_a_program_is_missing(tmp_path: Path, missing: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in {"head", "od", "tr", "mkdir", "chmod"} - {missing}:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    command = [str(ROOT / "deploy" / "new-secrets"), str(tmp_path / "secrets")]

    made = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": str(programs)})

    assert made.returncode == 1
    assert f"needs the program {missing}" in made.stderr
    assert "ready" not in made.stdout
    assert not (tmp_path / "secrets").exists()


def test_keys_of_providers_go_to_the_gateways_the_workers_and_the_tools_alone() -> None:
    having = {name for name, service in SERVICES.items() if KEYS & set(service.get("environment", {}))}
    mounting = {name for name, service in SERVICES.items() if "/models:" in str(service.get("volumes"))}

    assert having == mounting == {"gateway", "gateway-2", "agent-worker", "tools"}


def test_no_password_is_in_an_environment() -> None:
    harmless = ADDRESSES | {"PARLEY_PROMPT_BUILDER_URL"}
    for name, service in SERVICES.items():
        secret = {one for one in service.get("environment", {}) if re.search(r"PASS(WORD)?$|_URL$", one)}
        assert secret <= harmless, name


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_container_has_limits_and_logs_that_end(name: str) -> None:
    service = SERVICES[name]

    assert service["mem_limit"]
    assert service["cpus"]
    assert service["pids_limit"]
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}


@pytest.mark.parametrize("name", ["postgres", "rabbitmq", "proxy", "prepare"])
def test_every_image_of_others_is_pinned(name: str) -> None:
    assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z]+:\d+(\.\d+)+(-[a-z]+)?\}", SERVICES[name]["image"])


def test_the_number_of_workers_outlives_the_command_that_starts_the_lab() -> None:
    """`--scale` holds for one `up`; the next one, of a restore or an upgrade, would stop the others."""
    assert SERVICES["agent-worker"]["scale"] == "${AGENT_WORKER_CONTAINERS:-1}"


def test_the_proxy_alone_is_published_and_on_this_machine_alone() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}

    assert published.pop("public") == ["80:80", "443:443", "443:443/udp"]
    assert SERVICES["public"]["profiles"] == ["public"]
    assert published == {"proxy": ["127.0.0.1:${PARLEY_PORT:-8000}:8000"]}


def test_prometheus_reaches_the_numbers_of_every_service_from_another_container() -> None:
    (job,) = yaml.safe_load(scraping()[0])["scrape_configs"]

    asked = {(name, one["port"]) for one in job["dns_sd_configs"] for name in one["names"]}

    assert asked == {numbers_of(name) for name in OURS}


def numbers_of(service: str) -> tuple[str, int | None]:
    """Where /metrics of a service is, as other containers see it; None where it listens for its own container alone."""
    given = SERVICES[service]["environment"]
    prefix = "PROMPT_BUILDER" if service == "prompt-builder" else "PARLEY_HEALTH"
    port = int(given.get(f"{prefix}_PORT", HealthSettings().health_port))
    return service, port if given.get(f"{prefix}_HOST") == "0.0.0.0" else None


def test_the_tools_are_the_command_and_start_when_they_are_asked_for() -> None:
    tools = SERVICES["tools"]

    assert tools["entrypoint"] == ["parley"]
    assert tools["profiles"] == ["tools"]
    assert tools["restart"] == "no"
    assert "depends_on" not in tools, "the doctor is for labs whose servers do not start"


PROXY_NETWORK = re.search(r"PARLEY_PROXY_NETWORK:-([^}]+)}", (ROOT / "docker-compose.yml").read_text())


@pytest.mark.parametrize(
    ("made_up", "client"),
    [("198.51.100.7", "10.1.2.3"), ("10.9.9.9", "192.168.7.7"), ("127.0.0.1", "203.0.113.9")],
)
async def test_a_made_up_address_does_not_evade_the_limit_of_the_true_one(made_up: str, client: str) -> None:
    """A proxy with TLS on this machine adds whom it serves, the proxy of the lab the bridge that this comes over."""
    assert PROXY_NETWORK is not None
    bridge, proxy = islice(ip_network(PROXY_NETWORK[1]).hosts(), 2)
    assert SERVICES["proxy"]["networks"] == ["proxy"]
    trusted = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", SERVICES["gateway"]["environment"]["GATEWAY_TRUSTED_PROXIES"])

    assert await counted(trusted, [made_up, client, str(bridge)], str(proxy)) == client


async def counted(trusted: str, forwarded_for: Sequence[str], peer: str) -> str:
    """The address to which the gateway's server counts a request."""
    seen: list[str] = []

    async def app(scope: Any, _: Any, __: Any) -> None:
        seen.append(scope["client"][0])

    headers = [(b"x-forwarded-for", ", ".join(forwarded_for).encode())]
    scope: Any = {"type": "http", "client": (peer, 1), "headers": headers}
    nothing: Any = None
    await ProxyHeadersMiddleware(app, trusted)(scope, nothing, nothing)
    return seen[0]


def test_the_proxy_waits_longer_for_the_readiness_of_a_gateway_than_that_takes() -> None:
    """Without `timeout check` HAProxy waits for a whole check no longer than `inter` says."""
    waits = re.search(r"^\s*timeout check (\d+)s$", (ROOT / "deploy" / "haproxy.cfg").read_text(), re.MULTILINE)

    assert waits is not None
    assert int(waits[1]) > LONGEST_CHECK_SECONDS


def test_the_data_of_postgres_lie_in_the_volume_whatever_its_version() -> None:
    place = SERVICES["postgres"]["environment"]["PGDATA"]

    assert f"postgres-data:{place}" in SERVICES["postgres"]["volumes"]


def test_our_containers_cannot_write_to_their_file_system_and_have_no_rights() -> None:
    for name in (*OURS, "proxy", "public", "migrate", "prepare", "tools"):
        assert SERVICES[name]["read_only"] is True, name
        assert SERVICES[name]["cap_drop"] == ["ALL"], name


def test_everything_that_the_image_copies_reaches_the_engine() -> None:
    """A build of one target would not show that another one misses a file."""
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE)
    sources = [source for line in copies for source in line.split()]

    missing = [one for one in sources if not any(one == its or one.startswith(f"{its}/") for its in let_in)]

    assert len(sources) > 10
    assert missing == []


def test_engines_without_buildkit_make_the_image_of_the_services_without_crewai() -> None:
    stages = re.findall(r"^FROM \S+(?: AS (\S+))?$", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE)

    assert FILE["services"]["migrate"]["build"]["target"] == "lab"
    assert not [name for name in stages[: stages.index("lab")] if "crewai" in name]
    assert (ROOT / "deploy" / "Dockerfile").read_text().rstrip().endswith("FROM lab")
