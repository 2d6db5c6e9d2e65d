"""Bodies that are files: a form with a workbook, YAML or JSON as the content type says."""

import asyncio
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePath
from typing import Any, Final

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.formats.importing import IMPORTERS, XLSX, ZIP

FORM: Final = "multipart/form-data"
MOST_FILES: Final = 20
"""In a form: more than a workbook has sheets."""
_SUFFIXES: Final = {".xlsx": XLSX, ".zip": ZIP}
_TABLE: Final = ".csv"
_EXPECTED: Final = f"one file ({' or '.join(_SUFFIXES)}), or a {_TABLE} file for each sheet, called after it"


@dataclass(frozen=True, slots=True)
class _File:
    field: str
    name: str
    media_type: str
    content: bytes

    @property
    def is_table(self) -> bool:
        return PurePath(self.name).suffix.lower() == _TABLE


async def file_in_form(request: Request) -> tuple[bytes, str]:
    """The content of the file in the form and its media type; tables of CSV come as the zip that they would be in.

    Raises:
        HTTPException: the form cannot be read.
        InvalidInput: there is something else in it.
    """
    async with request.form(max_files=MOST_FILES, max_fields=MOST_FILES) as form:
        files = [await _read(field, value) for field, value in form.multi_items()]
    if files and all(file.is_table for file in files):
        return await asyncio.to_thread(_zipped, files), ZIP
    if len(files) != 1:
        raise _refused("form", "no file" if not files else ", ".join(file.name for file in files))
    return files[0].content, files[0].media_type


async def _read(field: str, value: UploadFile | str) -> _File:
    if isinstance(value, str) or not value.filename:
        raise _refused(field, "a value that is no file", hint="options such as sessions belong in the address")
    media_type = _SUFFIXES.get(PurePath(value.filename).suffix.lower(), value.content_type or "")
    file = _File(field, value.filename, media_type, await value.read())
    if media_type not in IMPORTERS and not file.is_table:
        raise _refused(field, value.filename)
    return file


def _zipped(files: Sequence[_File]) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in files:
            name = PurePath(file.name).name
            if name in archive.namelist():
                raise _refused(file.field, f"a second file called {file.name}")
            # The date is fixed, so that the same tables make the same zip when they are sent again.
            archive.writestr(zipfile.ZipInfo(name), file.content)
    return content.getvalue()


def _refused(where: str, found: str, *, hint: str = "") -> InvalidInput:
    problem = Problem(where, found, _EXPECTED, "this is no workbook", hint)
    return InvalidInput("The form cannot be read as a workbook.", [problem])


_JSON_TYPES: Final = ("application/json",)
_YAML_TYPES: Final = ("", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain")


async def file_in(request: Request, what: str) -> tuple[bytes, str]:
    """The content of the file and a name that says its format; `what` it holds, in one word.

    Raises:
        HTTPException: its content type is that of something else.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in (*_JSON_TYPES, *_YAML_TYPES):
        raise HTTPException(415, f"The file ({what}) is sent as application/yaml or application/json.")
    name = f"{what}.json" if content_type in _JSON_TYPES else f"{what}.yaml"
    return await request.body(), name


def described(description: str, *, yaml: str, json: Any, also: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What OpenAPI says of a route that reads such a file; `yaml` and `json` are examples; `also`: further bodies."""
    return {
        "requestBody": {
            "required": True,
            "description": description,
            "content": {
                "application/yaml": {"schema": {"type": "string"}, "example": yaml},
                "application/json": {"schema": {"type": "object"}, "example": json},
                **(also or {}),
            },
        }
    }
