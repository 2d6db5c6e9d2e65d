"""What a type checker refuses: each line that is ignored hands a rule a view that is not its own. Never run.

`make check` fails when one of them is accepted, because an `ignore` that is of no use is an error.
"""

from random import Random
from typing import Any

from shared.stage import LabView, OwnView, StageKind, View


def reads_the_answers_of_others(view: OwnView) -> object:
    return view.answers  # type: ignore[attr-defined]


def is_somebody(view: LabView) -> object:
    return view.me  # type: ignore[attr-defined]


def looks_on_and_reads_answers(view: View) -> object:
    return view.answers  # type: ignore[attr-defined]


def shows_everything(kind: StageKind[Any], stage: Any, view: LabView, own: OwnView) -> None:
    kind.public_view(stage, view)  # type: ignore[arg-type]
    kind.describe(stage, view, with_answers=True)  # type: ignore[arg-type]
    kind.next_asks(stage, view)  # type: ignore[arg-type]
    kind.blocked_by(stage, view)  # type: ignore[arg-type]
    kind.page_answer(stage, view)  # type: ignore[arg-type]
    kind.public_state(stage, own)  # type: ignore[arg-type]
    kind.minutes(stage, own)  # type: ignore[arg-type]
    kind.table_rows(stage, own)  # type: ignore[arg-type]
    kind.play_out(stage, own, lambda path: Random(path))  # type: ignore[arg-type]
