"""How findings are worded."""

import json
from typing import Any


class Unkept(Exception):
    """A promise that a kind does not keep, with what was expected and what was found."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__(f"expected {expected}; found {found}")
        self.expected = expected
        self.found = found if isinstance(found, str) else shortened(found)


def expect(holds: bool, expected: str, found: object) -> None:
    if not holds:
        raise Unkept(expected, found)


def shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:297]}..."


def is_json(value: Any) -> bool:
    """Whether the value survives JSON unchanged."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False
