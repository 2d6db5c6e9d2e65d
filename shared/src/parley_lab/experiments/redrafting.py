"""Drafts made of what is there: a draft is replaced as long as it was not started, and any experiment is forked."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
from sqlalchemy import text

from parley_lab.base.errors import Conflict
from parley_lab.design import Draft, Experiment, draft_of
from parley_lab.drafts.limits import set_most_calls
from parley_lab.experiments import beside, sources
from parley_lab.experiments.experiments import find
from parley_lab.experiments.starting import columns_of, store, use_files
from parley_lab.store.session import Session

_LONGEST_NAME: Final = 200
_REPLACE = text(
    """
    UPDATE experiments SET study = :study, name = :name, seed = :seed, pace = :pace, model_mode = :model_mode,
        language = :language, document = CAST(:document AS jsonb), document_hash = :document_hash, version = version + 1
    WHERE id = :id AND status = 'draft'
    """
)
_WITHOUT_LIMIT = text("DELETE FROM call_limits WHERE experiment_id = :id")
_WHY_NOT: Final = {
    "running": "It is running, and what people are asked cannot change under them",
    "paused": "It has begun, and what people are asked cannot change under them",
    "ended": "It has ended, and its data belong to the file as it is",
}


async def replace_draft(session: Session, experiment_id: UUID, draft: Draft, now: datetime) -> None:
    """Store another file in the place of a draft's.

    Raises:
        Conflict: it was started already.
        InvalidInput: a file that it shows is not stored.
    """
    if not await session.run(_REPLACE, {"id": experiment_id, **columns_of(draft), "document": draft.document}):
        row = await find(session, experiment_id)
        raise Conflict(f"{_WHY_NOT[row.status]}; fork it, and change the copy.", reason="not_a_draft")
    await use_files(session, experiment_id, draft, now)
    await session.run(_WITHOUT_LIMIT, {"id": experiment_id})
    if draft.most_calls is not None:
        await set_most_calls(session, experiment_id, draft.most_calls)


async def require_draft(session: Session, experiment_id: UUID) -> None:
    """Raises: Conflict: it was started already."""
    row = await find(session, experiment_id)
    if row.status != "draft":
        raise Conflict(f"{_WHY_NOT[row.status]}; fork it, and change the copy.", reason="not_a_draft")


def copy_of(row: Any, *, name: str | None, seed: int | None) -> Draft:
    """A draft with the document of an experiment: with another name, and another seed unless one is given."""
    experiment = Experiment.model_validate(row.document)
    called = name or f"Copy of {experiment.name}"[:_LONGEST_NAME]
    return draft_of(experiment.model_copy(update={"name": called, "seed": seed}))


async def fork(session: Session, row: Any, draft: Draft, now: datetime, source: sources.Source | None) -> UUID:
    """Store this copy of an experiment.

    `source`: the text of the copy, made of this version of the text of the experiment, whose files it gets; None: the
    copy has no text, and shows its document.

    Raises:
        Conflict: the file was saved with problems, so that the document is an older one.
        ChangedMeanwhile: the text was saved since.
    """
    await sources.require_valid(session, row.id)
    copy_id = await store(session, row.owner_id, draft, now, is_test=row.is_test)
    if source is not None:
        await sources.require_version(session, row.id, source.version)
        await beside.copy(session, row.id, copy_id)
        await sources.save(session, copy_id, source.text, source.media_type, now, saved_by=source.saved_by or "")
    return copy_id


def file_of(row: Any) -> bytes:
    """The document of an experiment as a file: stored again, it is the same document."""
    return orjson.dumps(row.document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
