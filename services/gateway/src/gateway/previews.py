"""Asks prompt-builder what an agent is shown: over HTTP, or in the same process through ASGI."""

import httpx2
import orjson

from shared.contracts.prompts import Preview, PreviewQuestion
from shared.errors import Conflict, NotFound, Unavailable
from shared.logs import correlation

_AWAY = (502, 503, 504)


class PreviewClient:
    """`client` knows where prompt-builder is: by a base URL, or by an `ASGITransport` and any base URL."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def preview(self, question: PreviewQuestion) -> Preview:
        """The prompt that is asked for.

        Raises:
            NotFound: there is none, with the reason.
            Conflict: nothing is asked any more.
            Unavailable: prompt-builder, or its database, is away.
        """
        headers = {"content-type": "application/json", "x-correlation-id": correlation.get()}
        try:
            response = await self._client.post("/v1/previews", content=question.model_dump_json(), headers=headers)
        except httpx2.TransportError as error:
            raise Unavailable("The prompt builder is away.") from error
        if response.status_code == 200:
            return Preview.model_validate_json(response.content)
        if response.status_code == 404:
            raise NotFound(str(orjson.loads(response.content)["detail"]))
        if response.status_code == 409:
            problem = orjson.loads(response.content)
            raise Conflict(str(problem["detail"]), reason=str(problem["reason"]))
        if response.status_code in _AWAY:
            raise Unavailable("The prompt builder is away.")
        raise RuntimeError(f"the prompt builder answered {response.status_code}")

    async def aclose(self) -> None:
        """Close the connections to prompt-builder."""
        await self._client.aclose()


def client_of(base_url: str) -> PreviewClient:
    """A client of the prompt-builder at this address."""
    return PreviewClient(httpx2.AsyncClient(base_url=base_url, timeout=10.0))
