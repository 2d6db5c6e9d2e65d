"""What the file says for the ends that members come to."""

from typing import Final, Literal
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import Conflict
from parley_lab.contracts.experiment import Completion
from parley_lab.contracts.lives import Outcome
from parley_lab.store.session import ReadSession

_COMPLETION: Final = text(
    """
    SELECT document -> 'completion' -> :outcome AS completion FROM experiments
    WHERE id = :id AND document -> 'completion' -> :outcome IS NOT NULL
    """
)


async def completion_of(
    session: ReadSession, experiment_id: UUID, outcome: Outcome | Literal["full"]
) -> Completion | None:
    """What the file says for this end; None where it says nothing."""
    row = await session.first(_COMPLETION, {"id": experiment_id, "outcome": outcome})
    return None if row is None else Completion.model_validate(row.completion)


async def place_taken(session: ReadSession, experiment_id: UUID) -> Conflict:
    """The refusal to a person whose place an agent has taken; it has the completion of people who dropped out."""
    completion = await completion_of(session, experiment_id, "dropped_out")
    params = {} if completion is None else {"completion": completion.model_dump()}
    return Conflict(
        "Your place was taken while you were away. Thank you for your time.", reason="place_taken", params=params
    )


async def study_full(session: ReadSession, experiment_id: UUID) -> Conflict:
    """The refusal to a person who finds no place; it has the completion of those."""
    completion = await completion_of(session, experiment_id, "full")
    params = {} if completion is None else {"completion": completion.model_dump()}
    return Conflict("This study is full: no place is left.", reason="full", params=params)
