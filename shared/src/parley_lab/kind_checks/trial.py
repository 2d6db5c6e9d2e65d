"""One check of one kind with one seed, and its findings."""

import inspect
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pydantic import ValidationError

from parley_lab.contracts.experiment import StageConfig
from parley_lab.kind_checks.play import Play
from parley_lab.kind_checks.promises import Unkept
from parley_lab.kinds import StageKind
from parley_lab.kinds.form import problems_of


@dataclass(frozen=True, slots=True)
class Finding:
    """A promise that is not kept or, with `is_note`, something that its author should know."""

    kind: str
    promise: str
    expected: str
    found: str
    members: str
    order: tuple[str, ...]
    seed: int
    is_note: bool = False

    def __str__(self) -> str:
        if self.is_note:
            return f"{self.kind}: note. {self.found}\n  with: --seed {self.seed}"
        lines = [f"{self.kind}: {self.promise}", f"  expected: {self.expected}", f"  found: {self.found}"]
        if self.order:
            lines += [f"  members: {self.members}", "  in this order:", *(f"    {act}" for act in self.order)]
        return "\n".join([*lines, f"  again: --seed {self.seed}"])


@dataclass(slots=True)
class Trial:
    """The input of a check: the example of a kind, and a seed for all chance."""

    kind: StageKind[Any]
    stage: StageConfig
    seed: int
    notes: list[str] = field(default_factory=list)
    last: Play | None = None

    def play(self, **options: Any) -> Play:
        """The stage at its beginning; a failure reports the last play."""
        self.last = Play(self.kind, self.stage, seed=self.seed, **options)
        self.last.settle()
        return self.last

    def straight(self) -> Play:
        """The stage with all questions answered and all members still there."""
        return self.play().run(None)

    def rng(self) -> Random:
        return Random(f"order {self.seed}")


Check = Callable[[Trial], None]


def findings(check: Check, trial: Trial) -> list[Finding]:
    """The findings of this check with this seed; an error of the kind counts as one."""
    try:
        check(trial)
    except Unkept as unkept:
        return [_finding(check, trial, unkept.expected, unkept.found)]
    except Exception as error:  # noqa: BLE001 - the author of the kind wants to read any error
        return [_finding(check, trial, "no error", f"{_told(error)} ({_place(trial.kind, error)})")]
    return [_note(check, trial, note) for note in dict.fromkeys(trial.notes)]


def promise_of(check: Check) -> str:
    """The promise that a check tests, which is the first line of its docstring."""
    return (check.__doc__ or "").strip().partition("\n")[0]


def _told(error: Exception) -> str:
    """The error in one line; those of pydantic have several, with a link in each."""
    if isinstance(error, ValidationError):
        faults = "; ".join(f"{one.where}: found {one.found}, expected {one.expected}" for one in problems_of(error))
        return f"{type(error).__name__} of {error.title}: {faults}"
    return f"{type(error).__name__}: {error}"


def _place(kind: StageKind[Any], error: Exception) -> str:
    """The last line of the kind's own folder that led to the error; of any file when none did."""
    frames = traceback.extract_tb(error.__traceback__)
    folder = Path(inspect.getfile(type(kind))).parent
    own = [frame for frame in frames if folder in Path(frame.filename).parents]
    frame = (own or frames)[-1]
    return f"{frame.filename}, line {frame.lineno}"


def _finding(check: Check, trial: Trial, expected: str, found: str) -> Finding:
    play = trial.last
    who = "" if play is None else play.who
    told: Sequence[str] = () if play is None else play.told
    return Finding(trial.stage.kind, promise_of(check), expected, found, who, tuple(told), trial.seed)


def _note(check: Check, trial: Trial, note: str) -> Finding:
    return Finding(trial.stage.kind, promise_of(check), "", note, "", (), trial.seed, is_note=True)
