"""What every provider of models can do, and all that the rest of the worker knows about one."""

from typing import Protocol

from shared.contracts.models import ModelReply, ModelRequest


class Model(Protocol):
    async def reply(self, request: ModelRequest) -> ModelReply:
        """Make one attempt. Whatever fails at the provider is a reply with another status than `ok`, not an error."""
        ...

    async def aclose(self) -> None:
        """Close the connections; no call may follow."""
        ...
