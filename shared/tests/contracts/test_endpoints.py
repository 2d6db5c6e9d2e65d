"""Which addresses models may be called at: what is written decides, whatever its notation."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import SettingsInvalid
from parley_lab.contracts.addresses import is_internal, literal_address
from parley_lab.contracts.endpoints import OPEN, Endpoints, read_endpoints


def a_lab(*entries: str, **environ: str) -> Endpoints:
    return read_endpoints({"PARLEY_ALLOWED_BASE_URLS": " ".join(entries), **environ}, is_open=False)


def refused(lab: Endpoints, base_url: str | None, vendor: str = "openai") -> bool:
    return lab.problem(vendor, base_url) is not None


def test_without_a_word_of_the_operator_only_the_usual_endpoint_is_allowed() -> None:
    lab = a_lab()

    assert not refused(lab, None)
    assert not refused(lab, "https://api.openai.com/v1")
    assert refused(lab, "https://models.example.org/v1")
    assert refused(lab, "http://api.openai.com/v1")
    assert refused(lab, "https://api.openai.com:8443/v1")
    assert refused(lab, "https://api.openai.com.example.org/v1")
    assert refused(lab, "https://api.anthropic.com/v1")
    assert not refused(lab, "https://api.anthropic.com/v1", vendor="anthropic")


@pytest.mark.parametrize(
    "base_url",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost:8000/v1",
        "http://[::1]/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "http://2130706433/v1",
        "http://0x7f000001/v1",
        "http://0177.0.0.1/v1",
        "http://127.1/v1",
        "http://127.0.0.1./v1",
        "http://0/v1",
        "http://169.254.169.254/latest/meta-data",
        "http://[fd00:ec2::254]/",
        "http://10.1.2.3/v1",
        "http://192.168.0.10/v1",
        "https://api.openai.com@10.0.0.1/v1",
        "https://api.openai.com:pass@10.0.0.1/v1",
        "https://api.openai.com\\@10.0.0.1/v1",
        "https://api.openai.com%2f@10.0.0.1/v1",
        "https://api.openai.com#@10.0.0.1/v1",
        "https://api.openai.com?@10.0.0.1/v1",
        "https://api.openai.com:99999/v1",
        "https://[::1/v1",
        "https://api.openai.com /v1",
        "https://\uff41pi.openai.com/v1",
        "https://\u2488\u2488\u2488/v1",
        "ftp://api.openai.com/v1",
        "https:///v1",
    ],
)
def test_internal_addresses_and_tricks_are_refused_in_every_notation(base_url: str) -> None:
    assert refused(a_lab(), base_url)
    assert refused(a_lab("https://models.example.org"), base_url)


def test_an_allowed_address_holds_for_what_is_below_it_and_nothing_else() -> None:
    lab = a_lab("https://models.example.org/team/", "http://vllm.models.svc:8000/v1")

    assert not refused(lab, "https://models.example.org/team")
    assert not refused(lab, "https://MODELS.example.org:443/team/a/v1")
    assert not refused(lab, "http://vllm.models.svc:8000/v1/")
    for other in (
        "https://models.example.org/teams",
        "https://models.example.org/team/../other",
        "https://models.example.org/team/%2e%2e/other",
        "https://models.example.org",
        "http://models.example.org/team",
        "https://models.example.org:8443/team",
        "https://a.models.example.org/team",
        "http://vllm.models.svc:8000/v10",
    ):
        assert refused(lab, other), other


def test_a_star_stands_for_every_host_of_a_domain_and_not_for_the_domain() -> None:
    lab = a_lab("https://*.example.org")

    assert not refused(lab, "https://a.b.example.org/v1")
    assert refused(lab, "https://example.org/v1")
    assert refused(lab, "https://badexample.org/v1")


def test_a_network_allows_its_addresses_and_the_hosts_that_lead_to_them() -> None:
    lab = a_lab("http://vllm.models.svc:8000", "10.96.0.0/12")

    assert not refused(lab, "http://10.96.1.1:9000/v1")
    assert refused(lab, "http://10.95.1.1:9000/v1")
    assert lab.permits("openai", "http://vllm.models.svc:8000/v1", "10.96.7.7")
    assert not lab.permits("openai", "http://vllm.models.svc:8000/v1", "10.0.0.1")
    assert not lab.permits("openai", "http://vllm.models.svc:8000/v1", "169.254.169.254")


def test_an_allowed_name_may_lead_to_the_internet_and_to_no_internal_address() -> None:
    lab = a_lab("https://models.example.org")

    assert lab.permits("openai", "https://models.example.org/v1", "93.184.215.14")
    for address in ("127.0.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "fe80::1", "100.100.100.200"):
        assert not lab.permits("openai", "https://models.example.org/v1", address)


def test_an_internal_address_that_the_operator_names_is_allowed() -> None:
    lab = a_lab("http://10.0.0.5:8000/v1")

    assert not refused(lab, "http://10.0.0.5:8000/v1")
    assert not refused(lab, "http://0xa000005:8000/v1")
    assert lab.permits("openai", "http://10.0.0.5:8000/v1", "10.0.0.5")
    assert refused(lab, "http://10.0.0.6:8000/v1")


def test_the_endpoint_of_the_environment_is_the_operators_word() -> None:
    lab = a_lab(OPENAI_BASE_URL="http://fake-models:8000/v1")

    assert not refused(lab, "http://fake-models:8000/v1")
    assert lab.permits("openai", "http://fake-models:8000/v1", "172.18.0.4")
    assert refused(lab, "http://fake-models:8000/v1", vendor="anthropic")


def test_a_local_ollama_is_internal_too_unless_the_operator_names_one() -> None:
    assert refused(a_lab(), None, vendor="ollama")
    assert not refused(a_lab(OLLAMA_HOST="ollama:11434"), None, vendor="ollama")
    assert not refused(a_lab("http://localhost:11434"), None, vendor="ollama")


def test_everything_is_allowed_in_an_open_lab() -> None:
    assert read_endpoints({}, is_open=True) is OPEN
    assert a_lab("*") is OPEN
    assert not refused(OPEN, "http://127.0.0.1:1/v1")
    assert OPEN.permits("openai", "http://127.0.0.1:1/v1", "127.0.0.1")
    assert refused(read_endpoints({"PARLEY_ALLOWED_BASE_URLS": "10.0.0.0/8"}, is_open=True), "http://127.0.0.1:1/v1")


def test_what_cannot_be_read_stops_the_start_and_says_which_entry() -> None:
    with pytest.raises(SettingsInvalid, match=r"(?s)entry 2 .*entry 3 ") as caught:
        a_lab("https://models.example.org", "models.example.org", "https://user:hunter2@models.example.org")

    assert "hunter2" not in str(caught.value)


def test_a_problem_never_shows_a_password() -> None:
    problem = a_lab().problem("openai", "https://user:hunter2@models.example.org/v1")

    assert problem is not None
    assert "hunter2" not in problem


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", False),
        ("2606:4700:4700::1111", False),
        ("2002:0808:0808::", False),
        ("2002:7f00:1::", True),
        ("::7f00:1", True),
        ("64:ff9b::a00:1", True),
        ("::ffff:169.254.169.254", True),
        ("168.63.129.16", True),
        ("224.0.0.1", True),
        ("0.0.0.0", True),
        ("::", True),
    ],
)
def test_what_is_internal(address: str, expected: bool) -> None:
    assert is_internal(ipaddress.ip_address(address)) is expected


@given(st.ip_addresses(v=4))
def test_every_notation_of_an_address_is_that_address(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    first, rest = number >> 24, number & 0xFFFFFF

    for written in (str(number), hex(number), f"{first}.{rest}", f"0{first:o}.{hex(rest)}", str(address)):
        assert literal_address(written) == address
        assert refused(a_lab(), f"http://{written}/v1")


@given(st.text(max_size=40))
def test_nothing_that_is_written_raises(text: str) -> None:
    lab = a_lab("https://models.example.org")

    assert lab.problem("openai", f"https://{text}") is None or refused(lab, f"https://{text}")
    lab.problem("openai", text or None)
