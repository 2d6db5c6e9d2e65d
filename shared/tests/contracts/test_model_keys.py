"""A key goes to its vendor and to addresses in the environment, whatever files name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import SettingsInvalid
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.model_keys import read_model_keys
from parley_lab.contracts.providers import KEY_VARIABLES

ENVIRON = {
    **{name: f"key-of-{account}" for account, name in KEY_VARIABLES.items() if name},
    "OPENAI_BASE_URL": "http://proxy.internal:8000/openai",
    "PARLEY_ENDPOINT_KEYS": '{"https://models.example.org": "TEAM_KEY", "https://models.example.org/a": "A_KEY",'
    ' "http://10.0.0.5:8000/v1": "TEAM_KEY", "https://empty.example.org": "UNSET"}',
    "TEAM_KEY": "key-of-team",
    "A_KEY": "key-of-a",
}
KEYS = read_model_keys(ENVIRON)


@pytest.mark.parametrize(
    ("account", "base_url", "key"),
    [
        ("openai", None, "key-of-openai"),
        ("openai", "https://api.openai.com/v1", "key-of-openai"),
        ("openai", "http://proxy.internal:8000/openai/v1", "key-of-openai"),
        ("anthropic", None, "key-of-anthropic"),
        ("anthropic", "https://api.anthropic.com", "key-of-anthropic"),
        ("ollama", None, None),
        ("hf-inference", "https://router.huggingface.co/v1", "key-of-hf-inference"),
        ("hf-inference", "https://x.us-east-1.aws.endpoints.huggingface.cloud/v1", "key-of-hf-inference"),
        ("openai", "https://models.example.org/v1", "key-of-team"),
        ("anthropic", "https://models.example.org/v1", "key-of-team"),
        ("hf-inference", "https://models.example.org/a/v1", "key-of-a"),
        ("openai", "http://10.0.0.5:8000/v1", "key-of-team"),
        # Only a file names these.
        ("openai", "http://127.0.0.1:8000/v1", None),
        ("openai", "http://localhost:8000/v1", None),
        ("openai", "https://evil.example.org/v1", None),
        ("openai", "http://api.openai.com/v1", None),
        ("openai", "https://api.openai.com:8443/v1", None),
        ("openai", "https://api.openai.com.example.org/v1", None),
        ("openai", "https://api.openai.com@evil.example.org/v1", None),
        ("openai", "http://proxy.internal:8000/other", None),
        ("openai", "http://models.example.org/v1", None),
        # A key is its vendor's, wherever else the lab may call.
        ("anthropic", "https://api.openai.com/v1", None),
        ("openai", "https://api.anthropic.com/v1", None),
        ("anthropic", "http://proxy.internal:8000/openai/v1", None),
        ("openai", "https://router.huggingface.co/v1", None),
        ("hf-inference", "https://api.openai.com/v1", None),
        ("hf-inference", "http://router.huggingface.co/v1", None),
        ("hf-inference", "https://strangers.hf.space/v1", None),
        ("hf-inference", "https://huggingface.co.example.org/v1", None),
    ],
)
def test_an_address_gets_the_key_that_belongs_there(account: str, base_url: str | None, key: str | None) -> None:
    assert KEYS.key(account, base_url) == key


@given(
    st.sampled_from(sorted(KEY_VARIABLES)),
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(
        ["api.openai.com", "api.anthropic.com", "router.huggingface.co", "127.0.0.1", "[::1]", "models.example.org"]
    )
    | st.from_regex(r"[a-z0-9.@:\\\[\]%-]{1,30}", fullmatch=True),
    st.sampled_from(["", ":443", ":80", ":8000"]),
    st.sampled_from(["", "/v1", "/a", "/openai", "/../a", "?x"]),
)
def test_over_plain_http_a_key_goes_only_where_the_environment_says_so(
    account: str, scheme: str, host: str, port: str, path: str
) -> None:
    without_names = read_model_keys({name: value for name, value in ENVIRON.items() if name.endswith("_API_KEY")})
    url = f"{scheme}://{host}{port}{path}"

    if without_names.key(account, url) is not None:
        assert scheme == "https"
        assert host.removesuffix(".").endswith((".com", ".co", ".ai", ".cloud"))


def test_what_the_environment_names_and_does_not_have_is_missing() -> None:
    assert KEYS.missing("openai", "https://empty.example.org/v1") == "UNSET"
    assert KEYS.missing("openai", "https://models.example.org/v1") is None
    assert read_model_keys({}).missing("gemini", None) == "GEMINI_API_KEY"
    assert read_model_keys({}).missing("gemini", "http://127.0.0.1:1/v1") is None


def test_an_address_with_a_key_is_one_that_models_may_be_called_at() -> None:
    lab = read_endpoints(ENVIRON, is_open=False)

    assert lab.problem("anthropic", "https://models.example.org/v1") is None
    assert lab.permits("openai", "http://10.0.0.5:8000/v1", "10.0.0.5")
    assert lab.problem("openai", "http://10.0.0.6:8000/v1") is not None


@pytest.mark.parametrize(
    "written",
    ["https://x=KEY", "[]", '{"models.example.org": "KEY"}', '{"https://x.org": "sk-hunter2"}', '{"https://x.org": 1}'],
)
def test_what_cannot_be_read_stops_the_start_and_shows_no_key(written: str) -> None:
    with pytest.raises(SettingsInvalid, match="PARLEY_ENDPOINT_KEYS") as caught:
        read_model_keys({"PARLEY_ENDPOINT_KEYS": written})

    assert "hunter2" not in str(caught.value)


def test_an_address_of_the_environment_that_cannot_be_read_stops_no_lab() -> None:
    assert read_model_keys({"OLLAMA_HOST": ":11434", "OPENAI_API_KEY": "k"}).key("openai", None) == "k"


def test_keys_are_taken_out_of_texts_and_words_are_left() -> None:
    keys = read_model_keys({"OPENAI_API_KEY": "anything", "HF_API_KEY": "hf_0123", "GEMINI_API_KEY": "AIza-0123456789"})

    assert keys.redacted("anything hf_0123 xAIza-0123456789x") == "anything hf_0123 x[redacted]x"
    assert "AIza" not in repr(keys)
