"""Images, sound and films that stages show: how a file names them, and which types there are.

A file of the researcher is stored under the digest of its content, and named `<digest>.<ending>` from then on.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

Json = Any
What = Literal["image", "sound", "film", "link"]

ADDRESS: Final = "/v1/files/"
"""The path at which the gateway serves stored files, by name."""

_TYPES: Final[Mapping[str, tuple[str, What]]] = {
    "png": ("image/png", "image"),
    "jpg": ("image/jpeg", "image"),
    "gif": ("image/gif", "image"),
    "webp": ("image/webp", "image"),
    "mp3": ("audio/mpeg", "sound"),
    "ogg": ("audio/ogg", "sound"),
    "wav": ("audio/wav", "sound"),
    "mp4": ("video/mp4", "film"),
    "webm": ("video/webm", "film"),
}
"""Browsers run no program in any of these. SVG, which may hold one, is not among them."""
MEDIA_TYPES: Final = tuple(media_type for media_type, _ in _TYPES.values())
_ENDINGS: Final = {**{ending: ending for ending in _TYPES}, "jpeg": "jpg"}
_IMAGE_ENDINGS: Final = [name for name, ending in _ENDINGS.items() if _TYPES[ending][1] == "image"]
_STORED: Final = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{3,4}")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The content of a file, with its type, which its first bytes tell."""

    digest: str
    ending: str
    content: bytes

    @property
    def name(self) -> str:
        return f"{self.digest}.{self.ending}"

    @property
    def media_type(self) -> str:
        return _TYPES[self.ending][0]


def as_stored(content: bytes) -> StoredFile | None:
    """The file with this content; None: it is of no type that can be shown."""
    ending = ending_in(content)
    return None if ending is None else StoredFile(sha256(content).hexdigest(), ending, content)


def is_stored_name(name: str) -> bool:
    return _STORED.fullmatch(name) is not None


def ending_of(name: str) -> str | None:
    """The ending of stored files of this name's type; None: no such file can be shown."""
    return _ENDINGS.get(PurePosixPath(name).suffix.lower().lstrip("."))


def ending_of_type(media_type: str | None) -> str | None:
    """The ending of stored files of this media type."""
    return next((ending for ending, (known, _) in _TYPES.items() if known == media_type), None)


def what_is(name: str) -> What:
    """What the file with this name holds, by its ending, which was checked."""
    return _TYPES[ending_of(name) or ""][1]


def ending_in(content: bytes) -> str | None:
    """The ending of stored files of this content's type; None: no such file can be shown."""
    begins: Mapping[str, bool] = {
        "png": content.startswith(b"\x89PNG\r\n\x1a\n"),
        "jpg": content.startswith(b"\xff\xd8\xff"),
        "gif": content.startswith((b"GIF87a", b"GIF89a")),
        "webp": content.startswith(b"RIFF") and content[8:12] == b"WEBP",
        "mp3": content.startswith((b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")),
        "ogg": content.startswith(b"OggS"),
        "wav": content.startswith(b"RIFF") and content[8:12] == b"WAVE",
        "mp4": content[4:8] == b"ftyp",
        "webm": content.startswith(b"\x1aE\xdf\xa3"),
    }
    return next((ending for ending, is_it in begins.items() if is_it), None)


def _shown_file(name: str) -> str:
    if ending_of(name) is None:
        why = "a drawing as an image, since svg may hold programs: " if name.lower().endswith(".svg") else ""
        raise PydanticCustomError("media_ending", f"{why}a file that ends in {_listed([*_ENDINGS])}")
    return name


def _shown_image(name: str) -> str:
    if ending_of(name) is None or what_is(name) != "image":
        raise PydanticCustomError("media_ending", f"an image that ends in {_listed(_IMAGE_ENDINGS)}")
    return name


def _listed(endings: list[str]) -> str:
    return ", ".join(f".{one}" for one in endings[:-1]) + f" or .{endings[-1]}"


class _Described(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    alt: str = Field(min_length=1, max_length=2000)
    """What it shows or says, in words: for those who cannot see or hear it, and for agents."""


class Picture(_Described):
    """An image beside a text."""

    file: Annotated[str, AfterValidator(_shown_image)]
    """An image in the folder of the experiment file or below; over REST one that is sent with it, or the name of
    an uploaded one."""

    @property
    def shown(self) -> "ShownMedium":
        return ShownMedium(type="image", address=ADDRESS + self.file, alt=self.alt)


class Medium(_Described):
    """An image, sound or film, or a link that opens in a tab of its own."""

    file: Annotated[str, AfterValidator(_shown_file)] | None = None
    """An image, sound or film in the folder of the experiment file or below; over REST one that is sent with
    it, or the name of an uploaded one."""
    link: Annotated[str, StringConstraints(pattern=r"^https?://\S+$", max_length=2000)] | None = None
    """The address of a page elsewhere, instead of a file."""
    caption: str = ""
    """The words below it."""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "Medium":
        if (self.file is None) == (self.link is None):
            raise PydanticCustomError("one_of_two", "one of the two: a `file`, or a `link` to a page elsewhere")
        return self

    @property
    def shown(self) -> "ShownMedium":
        if self.file is None:
            return ShownMedium(type="link", address=self.link or "", alt=self.alt, caption=self.caption)
        address = ADDRESS + self.file
        return ShownMedium(type=what_is(self.file), address=address, alt=self.alt, caption=self.caption)


class ShownMedium(BaseModel):
    """What a page shows beside its texts."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: What
    address: str
    alt: str
    """What it shows or says, in words."""
    caption: str = ""


def in_words(shown: ShownMedium) -> str:
    """What a prompt has in its place."""
    return f"[{shown.type}: {shown.alt}]{f' {shown.caption}' if shown.caption else ''}"


def named_files(fields: Json, where: str = "") -> Iterator[tuple[str, dict[str, Json]]]:
    """Every object that names a file, in fields of stages: its path, and the object itself."""
    if isinstance(fields, Mapping):
        if isinstance(fields, dict) and isinstance(fields.get("file"), str):
            yield where, fields
        for name, part in fields.items():
            yield from named_files(part, f"{where}.{name}" if where else str(name))
    elif isinstance(fields, list | tuple):
        for index, part in enumerate(fields):
            yield from named_files(part, f"{where}[{index}]")
