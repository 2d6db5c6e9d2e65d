"""How long prompts may be, and how much shorter the next try is after one that was too long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.prompts import default_budget, shortened


@pytest.mark.parametrize(
    ("model", "budget"),
    [
        ("gpt-4.1-mini", 96_000),
        ("gpt-4o", 96_000),
        ("openai/o3-mini", 96_000),
        ("anthropic/claude-sonnet-4", 96_000),
        ("gemini/gemini-2.5-pro", 96_000),
        ("meta-llama/Llama-3.1-8B-Instruct", 96_000),
        ("gpt-4", 6_144),
        ("gpt-4-0613", 6_144),
        ("gpt-3.5-turbo", 12_288),
        ("smollm2-135m", 24_576),
        ("some-model", 24_576),
    ],
)
def test_the_budget_follows_the_name_of_the_model(model: str, budget: int) -> None:
    assert default_budget(model) == budget


@pytest.mark.parametrize(
    ("error", "share"),
    [
        ("maximum context length is 8192 tokens. However, your messages resulted in 10,240 tokens.", 0.72),
        ("maximum context length is 4096 tokens. However, you requested 8192 tokens (7192 in the messages", 0.45),
        ("HTTP 400: Error code: 400 - {'message': 'request (8192 tokens) exceeds the available context size "
         "(4096 tokens), try increasing it', 'type': 'exceed_context_size_error', 'n_ctx': 4096}", 0.45),
        ("prompt is too long: 400000 tokens > 200000 maximum", 0.45),
        ("The input token count (2000000) exceeds the maximum number of tokens allowed (1000000).", 0.45),
        ("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 37313.", 0.7236),
        ("`inputs` must have less than 4095 tokens. Given: 4997", 0.7375),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 8192 `inputs` tokens", 0.45),
        ("input length and `max_tokens` exceed context limit: 240000 + 60000 > 200000, decrease input", 0.6),
        ("maximum prompt length is 131072 but the request contains 262144 tokens", 0.45),
        ("exceeds the limit of 4081 tokens, 8162 came", 0.45),
        ("HTTP 400: the context length of claude-3-5-sonnet-20241022 is exceeded", 0.5),
        ("", 0.5),
        ("at most 1 of 1000000000 tokens", 0.1),
        ("context length is 4096, 4097 came", 0.8),
    ],
)  # fmt: skip
def test_the_next_try_is_as_short_as_the_endpoint_says_else_half(error: str, share: float) -> None:
    assert shortened(10_000, error) == pytest.approx(10_000 * share, abs=1)


@given(st.integers(2, 10**6), st.text())
def test_whatever_an_endpoint_says_the_next_try_is_shorter(tokens: int, error: str) -> None:
    assert 1 <= shortened(tokens, error) < tokens
