"""The parts of an .xlsx file without rows whose cells have a style and no value, which may go on to the last row.

openpyxl would read each of their cells: a million rows take minutes. Here they are taken out of the XML as it streams.
"""

import re
from io import BytesIO, RawIOBase
from typing import IO, Any, Final, Protocol

from parley_lab.base.errors import TooLarge

_CHUNK: Final = 1024 * 1024
_LONGEST_ROW: Final = 8 * _CHUNK
"""A longer row is passed on in pieces."""
_MOST_KEPT: Final = 4 * _CHUNK
"""Sheets up to this size are taken out of the archive once, though they are read for values and for formulas."""
_PREFIX: Final = re.compile(rb"<(\w+:)?sheetData\b")
_MERGED: Final = re.compile(rb'<(?:\w+:)?mergeCell\b[^<>]*?\bref="([A-Z]+[0-9]+:[A-Z]+[0-9]+)"')
_HIDDEN: Final = re.compile(rb'<(?:\w+:)?row\b(?=[^<>]*\shidden="(?:1|true)")[^<>]*?\sr="([0-9]{1,7})"')


class _Archive(Protocol):
    def open(self, name: str) -> IO[bytes]: ...


class FilledRows:
    """In place of the archive of an openpyxl workbook: its sheets without blank rows.

    Raises TooLarge while a sheet is read that has more than `most` bytes without them.
    """

    def __init__(self, archive: _Archive, most: int) -> None:
        self._archive = archive
        self._most = most
        self._merged: dict[str, list[str]] = {}
        self._hidden: dict[str, list[int]] = {}
        self._kept: dict[str, bytes] = {}

    def open(self, name: str) -> Any:
        if name not in self._kept:
            with self._part(name) as part:
                head = part.read(_MOST_KEPT + 1)
            if len(head) > _MOST_KEPT:
                return self._part(name)
            self._kept[name] = head
        return BytesIO(self._kept[name])

    def _part(self, name: str) -> "_Part":
        merged, hidden = self._merged.setdefault(name, []), self._hidden.setdefault(name, [])
        return _Part(self._archive.open(name), self._most, merged, hidden)

    def merged(self, name: str) -> list[str]:
        """The ranges of merged cells, such as `B2:B4`, of a sheet that was read to its end."""
        return list(dict.fromkeys(self._merged.get(name, ())))

    def hidden_rows(self, name: str) -> list[int]:
        """The numbers of the hidden rows with values, of a sheet that was read to its end."""
        return sorted({*self._hidden.get(name, ())})


class _Part(RawIOBase):
    def __init__(self, source: IO[bytes], most: int, merged: list[str], hidden: list[int]) -> None:
        self._source, self._left, self._merged, self._hidden = source, most, merged, hidden
        self._ready = b""
        self._pending = b""
        self._is_over = False
        self._rows = _Rows()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        pieces: list[bytes] = []
        wanted = size if size >= 0 else self._left + 1
        while wanted > 0 and (self._ready or self._refill()):
            piece, self._ready = self._ready[:wanted], self._ready[wanted:]
            pieces.append(piece)
            wanted -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        self._source.close()
        super().close()

    def _refill(self) -> bool:
        """Makes the next bytes ready; False at the end."""
        while not self._ready and not self._is_over:
            chunk = self._source.read(_CHUNK)
            self._is_over = not chunk
            self._pending = self._rows.without_blank(self._pending + chunk)
            if self._is_over:
                self._merged += [found.decode() for found in _MERGED.findall(self._pending)]
            if self._is_over or len(self._pending) > _LONGEST_ROW:
                self._ready, self._pending = self._pending, b""
            else:
                self._ready, self._pending = self._rows.whole(self._pending)
            self._hidden += [int(number) for number in _HIDDEN.findall(self._ready)]
            self._left -= len(self._ready)
            if self._left < 0:
                raise TooLarge("A sheet of the workbook has more values than it may have.")
        return bool(self._ready)


class _Rows:
    """Finds rows in pieces of XML. A row is blank only if it says its number, so that those below keep theirs."""

    def __init__(self) -> None:
        self._use("")

    def _use(self, prefix: str) -> None:
        self._end = f"</{prefix}row>".encode()
        self._values = [f"<{prefix}{tag}".encode() for tag in ("v", "f", "is")]
        self._begin = re.compile(rf'\s*<{prefix}row\b[^<>]*\sr="'.encode())
        self._empty = re.compile(rf'<{prefix}row\b(?=[^<>]*\sr=")[^<>]*/>'.encode())

    def without_blank(self, xml: bytes) -> bytes:
        """The XML without rows that have no value; the last one may not be there in full."""
        if (found := _PREFIX.search(xml)) is not None:
            self._use((found[1] or b"").decode())
        if self._end in xml and self._is_blank(xml):
            # Far below the values this is all that there is.
            return xml[xml.rfind(self._end) + len(self._end) :]
        *rows, rest = self._empty.sub(b"", xml).split(self._end)
        return b"".join([*(row + self._end for row in rows if not self._is_blank(row)), rest])

    def whole(self, xml: bytes) -> tuple[bytes, bytes]:
        """The whole rows, and the rest."""
        end = xml.rfind(self._end)
        return (xml[: end + len(self._end)], xml[end + len(self._end) :]) if end >= 0 else (b"", xml)

    def _is_blank(self, row: bytes) -> bool:
        return not any(tag in row for tag in self._values) and self._begin.match(row) is not None
