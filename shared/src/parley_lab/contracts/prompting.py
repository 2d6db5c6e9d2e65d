"""Asks prompt-builder for prompts and previews."""

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

import httpx2
import orjson
from pydantic import BaseModel

from parley_lab.base.errors import Conflict, NotFound, Unavailable
from parley_lab.base.logs import correlation
from parley_lab.contracts.prompts import Preview, PreviewQuestion, Prompt, PromptQuestion, SeatQuestion, Seen

_AWAY = (502, 503, 504)


class Prompts(Protocol):
    """The part of prompt-builder that workers and the gateway use, in this process or over HTTP."""

    async def build(self, draft_id: UUID, token_budget: int | None = None) -> Prompt:
        """The prompt for this draft, within the budget if possible; the same question gives the same prompt.

        Raises:
            NotFound: there is no such draft, or its stage asks nothing of a model.
            Unavailable: prompt-builder, or its database, is away.
        """

    async def preview(self, question: PreviewQuestion) -> Preview:
        """A prompt for people to read.

        Raises:
            NotFound: there is no such thing or member, or it asks nothing of a model.
            Conflict: nothing is asked any more, since all has been answered.
            Unavailable: prompt-builder, or its database, is away.
        """

    async def see(self, question: SeatQuestion) -> Seen:
        """A stage as one seat of a document is shown it.

        Raises:
            NotFound: the document has no such stage, arm or seat.
            Unavailable: prompt-builder is away.
        """


class PromptClient:
    """A prompt-builder in another process, at the address of `client`."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def build(self, draft_id: UUID, token_budget: int | None = None) -> Prompt:
        question = PromptQuestion(draft_id=draft_id, token_budget=token_budget)
        return Prompt.model_validate_json(await self._ask("/v1/prompts", question))

    async def preview(self, question: PreviewQuestion) -> Preview:
        return Preview.model_validate_json(await self._ask("/v1/previews", question))

    async def see(self, question: SeatQuestion) -> Seen:
        return Seen.model_validate_json(await self._ask("/v1/seen", question))

    async def _ask(self, address: str, question: BaseModel) -> bytes:
        headers = {"content-type": "application/json", "x-correlation-id": correlation.get()}
        try:
            response = await self._client.post(address, content=question.model_dump_json(), headers=headers)
        except httpx2.TransportError as error:
            raise Unavailable("The prompt builder is away.") from error
        if response.status_code == 200:
            return response.content
        if response.status_code == 404:
            raise NotFound(str(_problem(response)["detail"]))
        if response.status_code == 409:
            raise Conflict(str(_problem(response)["detail"]), reason=str(_problem(response)["reason"]))
        if response.status_code in _AWAY:
            raise Unavailable("The prompt builder is away.")
        raise RuntimeError(f"the prompt builder answered {response.status_code}")

    async def aclose(self) -> None:
        """Close the connections to prompt-builder."""
        await self._client.aclose()


def _problem(response: httpx2.Response) -> Mapping[str, Any]:
    problem: Mapping[str, Any] = orjson.loads(response.content)
    return problem


def client_of(base_url: str) -> PromptClient:
    """A client of the prompt-builder at this address, without a proxy; it keeps its connections open."""
    limits = httpx2.Limits(max_connections=100, max_keepalive_connections=100)
    return PromptClient(httpx2.AsyncClient(base_url=base_url, timeout=10.0, limits=limits, trust_env=False))
