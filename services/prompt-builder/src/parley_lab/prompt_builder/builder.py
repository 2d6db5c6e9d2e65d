"""The prompts of one process, made without HTTP: the embedded lab calls this, and the service serves it."""

import asyncio
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from parley_lab.base.errors import NotFound
from parley_lab.base.urgency import is_urgent
from parley_lab.contracts.prompts import Preview, PreviewQuestion, Prompt, SeatQuestion, Seen
from parley_lab.drafts.context import PromptContext, prompt_contexts
from parley_lab.prompt_builder import previews, seeing
from parley_lab.prompt_builder.rendering import render
from parley_lab.store.batcher import Batcher
from parley_lab.store.session import Database

_MOST_AT_ONCE: Final = 16
"""Drafts whose contexts are read together: each may have thousands of messages."""


class PromptBuilder:
    """Makes the prompts of one process. Simultaneous questions are read from the database together."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reading = Batcher[bool, UUID, PromptContext](self._read, most=_MOST_AT_ONCE)

    async def build(self, draft_id: UUID, token_budget: int | None = None) -> Prompt:
        """The prompt for one draft. Previews call this, too, so they show what is sent.

        token_budget: shortens the prompt, after it was too long for the model.

        Raises:
            NotFound: there is no such draft, or its stage asks nothing of a model.
            Unavailable: Postgres cannot be reached.
        """
        # A prompt that a person waits for is not read behind other prompts.
        context = await self._reading.do(is_urgent(), draft_id)
        prompt = render(context, token_budget)
        return prompt.model_copy(update={"is_held": True}) if context.is_held else prompt

    async def preview(self, question: PreviewQuestion) -> Preview:
        """A prompt for people to read; raises what `previews.preview` does."""
        return await previews.preview(self._database, question)

    async def see(self, question: SeatQuestion) -> Seen:
        """A stage as one seat is shown it, made beside the event loop; raises what `seeing.seen` does."""
        return await asyncio.to_thread(seeing.seen, question)

    async def _read(self, draft_ids: Sequence[UUID]) -> list[PromptContext | Exception]:
        async with self._database.read() as session:
            contexts = await prompt_contexts(session, draft_ids)
        return [contexts.get(draft_id) or NotFound("There is no such draft.") for draft_id in draft_ids]
