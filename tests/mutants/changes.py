"""Reads the changes: each makes one rule of the lab wrong in one place."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a source file. `before` is in the file exactly once."""

    rule: str
    """The rule that no longer holds, in words."""
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    """The tests that decide the rule, as pytest takes them; one of them must fail."""


def _change(written: dict[str, Any]) -> Change:
    return Change(**{**written, "tests": tuple(written["tests"])})


_WRITTEN: Final = tomllib.loads((Path(__file__).parent / "changes.toml").read_text())
CHANGES: Final = tuple(map(_change, _WRITTEN["change"]))
