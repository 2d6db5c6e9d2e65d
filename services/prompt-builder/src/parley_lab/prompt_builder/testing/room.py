"""A study on PostgreSQL of which everybody is in the conversation, and rows for its prompts."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import text

from parley_lab.contracts.prompts import Prompt
from parley_lab.prompt_builder.builder import PromptBuilder
from parley_lab.store import tables
from parley_lab.store.session import Database
from parley_lab.store.statements import as_json

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

EXPERIMENT: dict[str, Any] = {
    "parley": 1,
    "name": "The night bus",
    "seed": 0,
    "stages": [
        {"kind": "info", "id": "welcome", "name": "Welcome", "lines": ["The bus in {{town}}."]},
        {
            "kind": "survey",
            "id": "before",
            "name": "Before",
            "questions": [
                {"kind": "text", "id": "why", "title": "Why?"},
                {"kind": "check", "id": "sure", "title": "Sure?"},
            ],
        },
        {"kind": "group_chat", "id": "talk", "name": "Talk", "description": "Talk about the bus in {{town}}."},
        {
            "kind": "survey",
            "id": "after",
            "name": "After",
            "questions": [
                {
                    "kind": "text",
                    "id": "changed",
                    "title": "What changed?",
                    "show_if": {"stage": "before", "question": "sure", "value": True},
                },
                {"kind": "text", "id": "end", "title": "Anything else?"},
            ],
        },
    ],
    "variables": {"town": "Altmere"},
    "personas": [
        {"id": "ann", "profile": {"name": "Ann"}, "text": "Secret of Ann: she drives a taxi in {{town}}."},
        {"id": "bob", "profile": {"name": "Bob"}, "text": "Secret of Bob: he never sleeps."},
        {"id": "mo", "profile": {"name": "Mo"}, "text": "Secret of Mo: she is strict."},
        {"id": "nobody"},
    ],
    "cohorts": [
        {"seats": [{"persona": "ann"}, {"persona": "bob"}, {"persona": "nobody", "count": 2}], "mediators": ["mo"]},
    ],
}

_TOLD = text(
    """
    UPDATE treatments SET resolved = jsonb_set(resolved, CAST(:place AS text[]), CAST(:audience AS jsonb))
    WHERE experiment_id = :experiment_id
    """
)
_ALL_HAVE_JOINED = text("UPDATE members SET status = 'in_progress', position = 2 WHERE cohort_id = :cohort_id")
_HAS_LEFT = text("UPDATE threads SET turn_state = CAST(:ready AS jsonb) WHERE id = :thread_id")


@dataclass
class Room:
    """An experiment of which everybody is in the conversation, and a way to put rows into it."""

    database: Database
    experiment_id: UUID
    cohort_id: UUID
    thread_id: UUID
    members: dict[str, UUID]

    async def add(self, table: Any, **values: Any) -> None:
        async with self.database.transaction() as session:
            await session.insert(table, [values])

    async def change(self, table: Any, row_id: UUID, **values: Any) -> None:
        async with self.database.transaction() as session:
            changed, new = table.name, ", ".join(f"{name} = n.{name}" for name in values)
            row = f"jsonb_populate_record(CAST(NULL AS {changed}), CAST(:values AS jsonb)) AS n"
            await session.run(
                text(f"UPDATE {changed} SET {new} FROM {row} WHERE {changed}.id = :row_id"),  # noqa: S608 - our own names
                {"values": as_json(values), "row_id": row_id},
            )

    async def say(
        self,
        seq: int,
        author: str | None,
        said: str,
        *,
        audience: list[UUID] | None = None,
        reply_to: UUID | None = None,
    ) -> UUID:
        message_id = uuid4()
        await self.add(
            tables.messages,
            id=message_id,
            reply_to=reply_to,
            thread_id=self.thread_id,
            seq=seq,
            member_id=self.members[author] if author else None,
            author_kind="agent" if author else "system",
            text=said,
            audience=audience,
            elapsed_ms=seq * 1000,
            created_at=NOW + timedelta(seconds=seq),
        )
        return message_id

    async def answer(self, author: str, stage_id: str, value: Any) -> None:
        await self.add(
            tables.answers,
            member_id=self.members[author],
            stage_id=stage_id,
            key="",
            cohort_id=self.cohort_id,
            value=value,
            completed_at=NOW,
            written_at=NOW,
        )

    async def tell(self, stage_id: str, audience: str) -> None:
        """The stage is one with this audience, as if the file said so, and is open."""
        shown = {"experiment_id": self.experiment_id, "place": ["stages", "1", "audience"], "audience": f'"{audience}"'}
        async with self.database.transaction() as session:
            await session.run(_TOLD, shown)
        stage = {"cohort_id": self.cohort_id, "stage_id": stage_id, "audience": audience}
        await self.add(tables.cohort_stages, **stage, unlocked_at=NOW)

    async def everybody_comes(self) -> None:
        async with self.database.transaction() as session:
            await session.run(_ALL_HAVE_JOINED, {"cohort_id": self.cohort_id})

    async def want_talk(self, author: str, as_of_seq: int, **fields: Any) -> UUID:
        fields = {"thread_id": self.thread_id, "trigger_key": f"message:{uuid4()}", "as_of_seq": as_of_seq, **fields}
        return await self._want(author, "talk", "talk", **fields)

    async def leave(self, author: str, at_seq: int) -> None:
        """The member is ready to end the conversation; line `at_seq` says so."""
        who = str(self.members[author])
        async with self.database.transaction() as session:
            left = as_json({"ready": [who], "left": {who: at_seq}})
            await session.run(_HAS_LEFT, {"thread_id": self.thread_id, "ready": left})

    async def want_page(self, author: str, stage_id: str) -> UUID:
        ask_id = uuid4()
        await self.add(
            tables.asks,
            id=ask_id,
            path=f"{author}/{stage_id}/page",
            cohort_id=self.cohort_id,
            stage_id=stage_id,
            member_id=self.members[author],
            key="",
            generation=1,
            purpose="page",
            opened_at=NOW,
        )
        return await self._want(author, stage_id, "page", ask_id=ask_id)

    async def _want(self, author: str, stage_id: str, purpose: str, **fields: Any) -> UUID:
        draft_id = uuid4()
        await self.add(
            tables.drafts,
            id=draft_id,
            path=f"{author}/{draft_id}",
            cohort_id=self.cohort_id,
            stage_id=stage_id,
            member_id=self.members[author],
            purpose=purpose,
            provider="mock",
            not_before=NOW,
            created_at=NOW,
            **fields,
        )
        return draft_id

    async def prompt(self, draft_id: UUID) -> str:
        return _text(await PromptBuilder(self.database).build(draft_id))


def _text(prompt: Prompt) -> str:
    return "\n\n".join(message.content for message in prompt.messages)
