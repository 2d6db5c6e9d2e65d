"""Asks prompt-builder what a model is to be shown."""

from typing import Protocol
from uuid import UUID

import httpx2

from shared.contracts.prompts import Prompt, PromptQuestion
from shared.errors import NotFound, Unavailable
from shared.logs import correlation

_AWAY = (502, 503, 504)


class Prompts(Protocol):
    """What a worker needs of prompt-builder."""

    async def build(self, draft_id: UUID, token_budget: int | None = None) -> Prompt:
        """The prompt for this draft, of so many tokens if it can be; asking again for the same gives the same.

        Raises:
            NotFound: there is no such draft.
            Unavailable: prompt-builder, or its database, is away.
        """


class PromptClient:
    """Prompts of a prompt-builder in a process of its own; `client` knows where that is."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def build(self, draft_id: UUID, token_budget: int | None = None) -> Prompt:
        response = await self._post(PromptQuestion(draft_id=draft_id, token_budget=token_budget))
        if response.status_code == 200:
            return Prompt.model_validate_json(response.content)
        if response.status_code == 404:
            raise NotFound("There is no such draft.")
        if response.status_code in _AWAY:
            raise Unavailable("The prompt builder is away.")
        raise RuntimeError(f"the prompt builder answered {response.status_code}")

    async def _post(self, question: PromptQuestion) -> httpx2.Response:
        headers = {"content-type": "application/json", "x-correlation-id": correlation.get()}
        try:
            return await self._client.post("/v1/prompts", content=question.model_dump_json(), headers=headers)
        except httpx2.TransportError as error:
            raise Unavailable("The prompt builder is away.") from error

    async def aclose(self) -> None:
        """Close the connections to prompt-builder."""
        await self._client.aclose()


def client_of(base_url: str) -> PromptClient:
    """A client of the prompt-builder at this address; its connections are kept open."""
    limits = httpx2.Limits(max_connections=100, max_keepalive_connections=100)
    return PromptClient(httpx2.AsyncClient(base_url=base_url, timeout=10.0, limits=limits))
