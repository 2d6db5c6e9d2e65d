"""How the pages of an experiment look: a logo, one colour, and words of its own."""

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

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


Sentence = Annotated[str, Field(min_length=1, max_length=2000)]
PluralForm = Literal["zero", "one", "two", "few", "many", "other"]
"""The names that CLDR has for the forms of a language."""


def _without_null(words: object) -> object:
    """The words that have a text: experiments that were stored while names were fixed have null for all others."""
    return {name: said for name, said in words.items() if said is not None} if isinstance(words, Mapping) else words


PageWords = Annotated[dict[str, Sentence | dict[PluralForm, Sentence]], BeforeValidator(_without_null)]
"""Words of the pages by their names; a sentence with a number in it may have a form for each plural."""


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
    words: PageWords = Field(default={})
    """Words that the pages say in the experiment's own way, by the names that `parley words` prints; those left out are
    the lab's. With all of them a page speaks a language that the lab does not have."""
    words_from: str | None = None
    """A file of such words in YAML or JSON, in the folder of the experiment file or below. `words` beside it win."""
