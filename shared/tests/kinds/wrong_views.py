"""What a type checker refuses: each line that is ignored hands a rule a view that is not its own. Never run.

`make check` fails when one of them is accepted, because an `ignore` that is of no use is an error.
"""

from random import Random
from typing import Any

from parley_lab.kinds import Ask, LabView, OwnView, Parts, Questions, StageKind, Table
from parley_lab.kinds.parts import Scripts, Talk
from parley_lab.kinds.view import View


def reads_the_answers_of_others(view: OwnView) -> object:
    return view.answers  # type: ignore[attr-defined]


def is_of_one_member(view: LabView) -> object:
    return view.me  # type: ignore[attr-defined]


def looks_on_and_reads_answers(view: View) -> object:
    return view.answers  # type: ignore[attr-defined]


def shows_everything(kind: StageKind[Any], stage: Any, view: LabView) -> None:
    kind.page(stage, view)  # type: ignore[arg-type]
    kind.prompt(stage, view)  # type: ignore[arg-type]
    kind.texts(stage, view)  # type: ignore[arg-type]
    kind.completion(stage, view)  # type: ignore[arg-type]


def asks_with_the_view_of_the_lab(questions: Questions, talk: Talk, ask: Ask, view: LabView) -> None:
    questions.due(view)  # type: ignore[arg-type]
    questions.question(view, ask)  # type: ignore[arg-type]
    talk.task(view, "")  # type: ignore[arg-type]


def counts_with_the_view_of_one(parts: Parts, table: Table, scripts: Scripts, own: OwnView) -> None:
    if parts.state is not None and parts.minutes is not None:
        parts.state(own)  # type: ignore[arg-type]
        parts.minutes(own)  # type: ignore[arg-type]
    table.rows(own)  # type: ignore[arg-type]
    scripts.play(own, lambda path: Random(path))  # type: ignore[arg-type]
