"""Draws the rows of one participant: which of them, in which order, and with which levels. Pure."""

from collections.abc import Callable, Sequence
from random import Random

from parley_lab.base import variables as texts
from parley_lab.kinds.questions.rows import Rows


def drawn_rows(rows: Rows, rng_of: Callable[[str], Random]) -> dict[str, dict[str, str]]:
    """The rows by id, in their order, each with its levels.

    rng_of: the random stream of what is drawn: `take`, `order`, or the name of levels after a colon.
    """
    taken = _taken(rows, rng_of("take"))
    if rows.shuffle:
        taken = rng_of("order").sample(taken, len(taken))
    levels = {name: _balanced(columns, len(taken), rng_of(f":{name}")) for name, columns in rows.levels.items()}
    return {row_id: {name: drawn[place] for name, drawn in levels.items()} for place, row_id in enumerate(taken)}


def _taken(rows: Rows, rng: Random) -> list[str]:
    """The drawn rows in the order of the file: of each value of `by` as many."""
    ids = rows.ids
    if rows.take is None:
        return list(ids)
    groups: dict[str, list[str]] = {}
    for row_id, item in zip(ids, rows.items, strict=True):
        groups.setdefault("" if rows.by is None else texts.as_text(item.get(rows.by)), []).append(row_id)
    each = rows.take // len(groups)
    drawn = {row_id for group in groups.values() for row_id in rng.sample(group, min(each, len(group)))}
    return [row_id for row_id in ids if row_id in drawn]


def _balanced(levels: Sequence[str], count: int, rng: Random) -> list[str]:
    """Each level as often, in any order; which of them are there once more, chance says."""
    rounds, rest = divmod(count, len(levels))
    drawn = [*levels] * rounds + rng.sample(list(levels), rest)
    rng.shuffle(drawn)
    return drawn
