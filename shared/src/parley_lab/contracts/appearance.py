"""How the pages of an experiment look: a logo, one colour, and words of its own."""

import base64
import binascii
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from parley_lab.contracts.experiment import Document

LARGEST_LOGO_BYTES: Final = 64 * 1024
"""Every participant loads it with the first page."""
_IMAGES: Final = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/svg+xml")
_EXPECTED: Final = f"`data:image/png;base64,...` of at most {LARGEST_LOGO_BYTES // 1024} KiB; also " + ", ".join(
    kind.removeprefix("image/") for kind in _IMAGES[1:]
)


def _image(address: str) -> str:
    """The address itself.

    Raises:
        ValueError: it is no image in a data URL, or too large.
    """
    kind, mark, content = address.partition(";base64,")
    if not mark or kind.removeprefix("data:") not in _IMAGES or not kind.startswith("data:"):
        raise ValueError(f"an image as text, {_EXPECTED}")
    try:
        size = len(base64.b64decode(content, validate=True))
    except binascii.Error as error:
        raise ValueError(f"an image as text, {_EXPECTED}") from error
    if not 0 < size <= LARGEST_LOGO_BYTES:
        raise ValueError(f"{_EXPECTED}: this has {size / 1024:.0f} KiB")
    return address


Words = Annotated[str | None, Field(min_length=1, max_length=500)]


class OwnWords(Document):
    """Words of the pages that the experiment says in its own way; those left out are the lab's."""

    join: Words = None
    """The button that takes part."""
    go_on: Words = None
    """The button to the next stage."""
    send: Words = None
    """The button that sends an answer."""
    say_it: Words = None
    """The button that sends a message."""
    ready_to_end: Words = None
    """The button that ends a conversation for oneself."""
    help: Words = None
    """The button that asks for help."""
    leave: Words = None
    """The button to leave the study."""
    leave_question: Words = None
    """What is asked before a participant leaves."""
    lab_says: Words = None
    """Who speaks when the lab says something."""
    waiting: Words = None
    """The heading while a participant waits for others."""
    waiting_text: Words = None
    """What is said there."""
    paused: Words = None
    """What is said while the experiment is paused."""
    join_full: Words = None
    """What the link says when there is no place."""
    join_over: Words = None
    """What the link says when the study is over."""
    end_completed: Words = None
    """What is said to who has completed the study."""
    end_left: Words = None
    """What is said to who has left."""
    end_other: Words = None
    """What is said at ends that have no words of their own."""


class Appearance(Document):
    """How the pages of the experiment look."""

    logo: Annotated[str, AfterValidator(_image)] | None = None
    """An image as a data URL (PNG, JPEG, WebP, GIF or SVG) of at most 64 KiB, shown above the join page and all stages.
    """
    logo_text: str = Field(default="", max_length=200)
    """What the logo shows, for those who do not see it, such as `University of Chur`."""
    accent: str | None = Field(default=None, pattern="^#[0-9a-fA-F]{6}$")
    """The colour of buttons and marks, such as `#7a1f5c`. It is made darker on light pages, and lighter on dark ones,
    until its contrast is that of WCAG 2.2 AA."""
    words: OwnWords = OwnWords()
    """Words that the pages say in the experiment's own way."""
