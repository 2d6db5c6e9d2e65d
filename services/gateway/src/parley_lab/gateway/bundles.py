"""Experiment files as they are sent: a text alone, or in a form or a zip with its tables and pictures beside it."""

import asyncio
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any, Final

from fastapi import Request
from starlette.datastructures import Headers, UploadFile

from parley_lab.base.errors import InvalidInput, Problem, TooLarge
from parley_lab.base.storable import is_storable_text
from parley_lab.design import MOST_BESIDE, FileBeside, file_beside, require_name
from parley_lab.formats.importing import ZIP
from parley_lab.gateway import forms
from parley_lab.gateway.context import Context

_TEXT: Final = "experiment"
_FILE: Final = "file"
_ENDINGS: Final = (".yaml", ".yml", ".json")
_NAMES: Final = tuple(f"{_TEXT}{ending}" for ending in _ENDINGS)
"""The names of a text beside others that look like one."""
_BEGINS: Final = re.compile(
    rb"""^(?:\xef\xbb\xbf)?[ \t]*(?:[{,][ \t]*)?["']?parley["']?[ \t]*:|[{,][ \t]*"parley"[ \t]*:""", re.MULTILINE
)
"""The key that every experiment file has, and a file of words has not; it takes linear time to find."""
_FIRST_BYTES: Final = 65_536
"""The part of a file in which that key is."""
_HIDDEN: Final = ("__MACOSX", ".")
"""The beginnings of names that operating systems add to archives."""
_LOCK: Final = "~$"
"""The beginning of the name of a file with which an office program locks another one."""
EDIT: Final = "/experiments/edit"
_TIMES_AS_LONG: Final = 3
"""A text in JSON, whose every line end and quote takes two bytes, and the changes to it, as often as a text alone."""
_ADDRESSES: Final = re.compile(r"/v1/experiments(/(check|see|validate|[0-9A-Fa-f-]{32,36}/file))?")
_ANY: Final = {"type": "string", "contentMediaType": "application/octet-stream"}
CONTENT: Final[Mapping[str, Any]] = {
    forms.FORM: {
        "schema": {
            "type": "object",
            "properties": {_TEXT: _ANY, _FILE: {"type": "array", "items": _ANY, "maxItems": MOST_BESIDE}},
            "required": [_TEXT],
            "additionalProperties": False,
        }
    },
    ZIP: {"schema": {"type": "string", "contentMediaType": ZIP}},
}
"""The description of bodies beside YAML and JSON, for OpenAPI."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The content of an experiment file, a name that says its format, and the files beside it by name.

    `sent`: those of the files that are in the body. `written`: the text and its media type; None where it is no text
    that can be stored. `strays`: the names of the files of an archive that are left out.
    """

    content: bytes
    name: str
    files: Mapping[str, FileBeside]
    sent: Mapping[str, FileBeside]
    written: tuple[str, str] | None
    strays: Sequence[str] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings about the archive itself."""
        return (f"These files of the archive are left out: {', '.join(sorted(self.strays))}",) if self.strays else ()

    @property
    def fingerprint(self) -> bytes:
        """The same for the same bundle, whatever the boundary of its form."""
        digests = [(self.name, sha256(self.content).hexdigest())]
        digests += sorted((name, one.digest) for name, one in self.files.items())
        return b"".join(name.encode() + b"\0" + bytes.fromhex(digest) for name, digest in digests)


def most_bytes(path: str, headers: Headers, most_of_text: int, most_of_files: int) -> int:
    """How many bytes the body of this request may have: a text, one with files beside it, or one in JSON."""
    if path == f"/v1{EDIT}":
        return _TIMES_AS_LONG * most_of_text
    has_files = _media_type(headers) in (forms.FORM, ZIP) and _ADDRESSES.fullmatch(path) is not None
    return most_of_text + most_of_files if has_files else most_of_text


async def bundle_in(request: Request, context: Context, stored: Mapping[str, FileBeside] | None = None) -> Bundle:
    """The experiment file in the body. `stored`: files beside it that the body need not have.

    Raises:
        HTTPException: its media type is that of something else, or the form cannot be read.
        InvalidInput: no part is the text, or several are, or a file has no name that a text may give.
        TooLarge: it, one of its files, or all of them together.
    """
    media_type, strays = _media_type(request.headers), list[str]()
    if media_type == forms.FORM:
        content, name, files = await _in_form(request)
    elif media_type == ZIP:
        packed, most = await request.body(), context.files.max_files_bytes
        content, name, files, strays = await asyncio.to_thread(_in_zip, packed, most)
    else:
        content, name = await forms.file_in(request, _TEXT)
        files = {}
    known = stored or {}
    sizes = {one: held.size for one, held in known.items()} | {one: len(held) for one, held in files.items()}
    _require_sizes(context, content, sizes)
    for one in files:
        require_name(one)
    sent = await asyncio.to_thread(lambda: {one: file_beside(held) for one, held in files.items()})
    return Bundle(content, name, {**known, **sent}, sent, _find_text(content, name), strays)


def _find_text(content: bytes, name: str) -> tuple[str, str] | None:
    try:
        found = content.decode()
    except UnicodeDecodeError:
        return None
    media_type = "application/json" if name.endswith(".json") else "application/yaml"
    return (found, media_type) if is_storable_text(found) else None


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _require_sizes(context: Context, content: bytes, sizes: Mapping[str, int]) -> None:
    """Raises: TooLarge: naming what is."""
    if len(content) > (most := context.settings.max_body_bytes):
        raise TooLarge(f"The text has {len(content)} bytes; it may have {most}.")
    if len(sizes) > MOST_BESIDE:
        raise TooLarge(f"There are {len(sizes)} files beside the text; there may be {MOST_BESIDE}.")
    for name, size in sizes.items():
        if size > context.files.max_file_bytes:
            raise TooLarge(f"{name[:80]} has {size} bytes; a file may have {context.files.max_file_bytes}.")
    if (size := sum(sizes.values())) > context.files.max_files_bytes:
        raise TooLarge(f"The files have {size} bytes; those of an experiment may have {context.files.max_files_bytes}.")


async def _in_form(request: Request) -> tuple[bytes, str, dict[str, bytes]]:
    texts: list[tuple[str, bytes]] = []
    files: dict[str, bytes] = {}
    async with request.form(max_files=MOST_BESIDE + 2, max_fields=2) as form:
        for field, value in form.multi_items():
            name, content = await _part(field, value)
            if field == _TEXT:
                texts.append((name, content))
            elif field != _FILE or name in files:
                raise _refusal(field, f"a second file called {name}" if field == _FILE else "a field that is not read")
            else:
                files[name] = content
    if len(texts) == 1 and not texts[0][0].lower().endswith(".zip"):
        name, content = texts[0]
        return content, name_of(content, name), files
    if texts:
        raise _refusal(_TEXT, f"{len(texts)} texts" if len(texts) > 1 else "a zip, which is a body of its own")
    return _choose_text(files)


async def _part(field: str, value: UploadFile | str) -> tuple[str, bytes]:
    if isinstance(value, str):
        if field != _TEXT:
            raise _refusal(field, "a value that is no file")
        return "", value.encode("utf-8", "surrogatepass")
    return value.filename or "", await value.read()


def name_of(content: bytes | str, sent_as: str = "") -> str:
    """A name that says the format of the text; of one without a known ending its first character does."""
    is_known = sent_as.lower().endswith(_ENDINGS)
    is_json = sent_as.lower().endswith(".json") if is_known else content.lstrip()[:1] in (b"{", "{")
    return f"{_TEXT}{'.json' if is_json else '.yaml'}"


def _texts(files: Mapping[str, bytes]) -> list[str]:
    """The names of those that look like an experiment file; the only YAML or JSON does."""
    known = [name for name in files if name.lower().endswith(_ENDINGS)]
    return known if len(known) == 1 else [name for name in known if _BEGINS.search(files[name], 0, _FIRST_BYTES)]


def _choose_text(files: dict[str, bytes], folder: str = "") -> tuple[bytes, str, dict[str, bytes]]:
    """The one that is an experiment file, and the others."""
    known = _texts(files)
    named = known if len(known) == 1 else [name for name in known if name.lower() in _NAMES]
    if len(named) != 1:
        found = ", ".join(known[:5] or [*files][:5]) or "no file"
        raise _refusal(folder or _TEXT, f"{found[:200]}")
    [name] = named
    return files[name], name_of(files[name], name), {one: files[one] for one in files if one != name}


def _in_zip(packed: bytes, most: int) -> tuple[bytes, str, dict[str, bytes], list[str]]:
    """The files of the archive below the folder of the experiment file, and the names of those that are left out."""
    try:
        with zipfile.ZipFile(BytesIO(packed)) as archive:
            shown = [one for one in archive.infolist() if not one.is_dir() and not _begins(one.filename, _HIDDEN)]
            locks = [one.filename for one in shown if _begins(one.filename, (_LOCK,))]
            files = _unpack(archive, [one for one in shown if one.filename not in locks], most)
    except (InvalidInput, TooLarge):
        raise
    except Exception as error:
        # zipfile raises errors of any type over a damaged archive.
        raise _refusal("archive", f"a damaged file ({type(error).__name__})") from error
    texts = _texts(files)
    folder = str(PurePosixPath(min(texts, key=lambda one: one.count("/"))).parent) if texts else "."
    prefix = "" if folder == "." else f"{folder}/"
    taken = [one for one in files if one.startswith(prefix)]
    strays = [*locks, *(one for one in files if not one.startswith(prefix))]
    return *_choose_text({one.removeprefix(prefix): files[one] for one in taken}, "archive"), strays


def _unpack(archive: zipfile.ZipFile, parts: Sequence[zipfile.ZipInfo], most: int) -> dict[str, bytes]:
    size = sum(one.file_size for one in parts)
    if size > most or len(parts) > MOST_BESIDE + 1:
        raise TooLarge(f"The archive has {len(parts)} files of {size} bytes; it may have {MOST_BESIDE + 1} of {most}.")
    files: dict[str, bytes] = {}
    for one in parts:
        require_name(one.filename)
        with archive.open(one) as file:
            # The declared size of a part may be wrong.
            files[one.filename] = file.read(one.file_size + 1)
    return files


def packed_of(written: str, media_type: str, files: Mapping[str, bytes]) -> bytes:
    """The text and the files beside it as a zip, which `bundle_in` reads."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{_TEXT}{'.json' if 'json' in media_type else '.yaml'}", written)
        for name, held in files.items():
            archive.writestr(name, held)
    return content.getvalue()


def _begins(name: str, beginnings: tuple[str, ...]) -> bool:
    """Whether a part of this path begins so."""
    return any(part.startswith(beginnings) and part not in (".", "..") for part in name.split("/"))


def _refusal(where: str, found: str) -> InvalidInput:
    expected = f"one experiment file (.yaml or .json), in the field `{_TEXT}`, and files beside it in fields `{_FILE}`"
    return InvalidInput("The files cannot be read as an experiment.", [Problem(where, found, expected)])
