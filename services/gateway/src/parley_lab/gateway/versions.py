"""The version of what several people may change at once: an `ETag`, which a save brings back as `If-Match`."""

from typing import Annotated

from fastapi import Header

from parley_lab.base.errors import InvalidInput, Problem

IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", max_length=100, description="The `ETag` of what was changed."),
]


def tag_of(version: int) -> str:
    return f'"v{version}"'


def version_in(tag: str) -> int:
    """Raises: InvalidInput: this is no `ETag` of the lab."""
    number = tag.strip().removeprefix("W/").strip('"').removeprefix("v")
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        problem = Problem("If-Match", repr(tag), 'the ETag that was read, such as "v3"')
        raise InvalidInput("This version cannot be read.", [problem])
    return int(number)
