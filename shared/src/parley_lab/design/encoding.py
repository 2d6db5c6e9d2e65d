"""Reads texts of files in UTF-8, and says what else they are in. Tables are read in what spreadsheets write, too."""

import codecs
import re
import unicodedata
from typing import Final

_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_WINDOWS: Final = "cp1252"
_SPECIAL_WORD: Final = re.compile(r"[^\s,;|\"]*[^\W\x00-\x7f][^\s,;|\"]*")
_MOST_WORDS: Final = 3
_LONGEST_WORD: Final = 40
_USUAL_SIGNS: Final = frozenset(
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u20ac\u00a3\u00b0\u00a7\u00ab\u00bb\u00a0\u00bf\u00a1\u00b4\u00b2\u00b3\u00bd"
)
"""What people write in Western languages beside letters; other text in another encoding has other signs, too."""


class NotUtf8(Exception):
    """A text in another encoding, of which `found` tells; `line` is where it shows."""

    def __init__(self, line: int, found: str, encoding: str) -> None:
        super().__init__(found)
        self.line, self.found, self.encoding = line, found, encoding


def decoded_utf_8(content: bytes) -> str:
    """The text, without its byte order mark.

    Raises:
        NotUtf8: it is in another encoding.
    """
    if content[:2] in _UTF_16:
        raise NotUtf8(1, "a text in UTF-16", "UTF-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        in_windows = content[error.start : error.start + 1].decode(_WINDOWS, errors="replace")
        found = f"something that is not UTF-8 (in Windows-1252 it is {in_windows!r})"
        raise NotUtf8(line, found, "WINDOWS-1252") from error


def decoded_table(content: bytes) -> str:
    """The text of a table in UTF-8 or UTF-16, or in Windows-1252 where all of it are letters and signs of such texts.

    Raises:
        NotUtf8: it may be in several other encodings.
    """
    if content[:2] in _UTF_16 and len(content) % 2 == 0:
        return decoded_in(content, "utf-16")
    try:
        return decoded_utf_8(content)
    except NotUtf8:
        try:
            text = content.decode(_WINDOWS)
        except UnicodeDecodeError:
            text = ""
        if text and _is_western(text):
            return text
        raise


def guessed_words(content: bytes) -> tuple[int, list[str]]:
    """The line of the first word of a table, and some words, that depend on the guess that it is in Windows-1252.

    Other encodings of one byte (Windows-1250, Mac Roman) look the same, and nothing in the file says which it is.
    """
    if content[:2] in _UTF_16:
        return 1, []
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        words = dict.fromkeys(_SPECIAL_WORD.findall(content.decode(_WINDOWS, errors="replace")))
        return content.count(b"\n", 0, error.start) + 1, [word[:_LONGEST_WORD] for word in words][:_MOST_WORDS]
    return 1, []


def decoded_in(content: bytes, encoding: str) -> str:
    """The text in this encoding.

    Raises:
        NotUtf8: it is in another one, or there is no such encoding.
    """
    try:
        name = codecs.lookup(encoding).name
        text = content.decode("utf-8-sig" if name == "utf-8" else name)
    except LookupError as error:
        raise NotUtf8(1, f"the encoding {encoding!r}, which is not known", encoding) from error
    except UnicodeError as error:
        line = content.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise NotUtf8(line, f"something that is not {encoding}", encoding) from error
    return text.removeprefix("\ufeff")


def _is_western(text: str) -> bool:
    """Whether the special letters are few, and within words: text in other scripts has little else."""
    special = [one for one in text if one > "\x7f"]
    words = sum(one.isalpha() for one in text)
    are_known = all(one in _USUAL_SIGNS or unicodedata.category(one) in ("Ll", "Lu") for one in special)
    return are_known and len(special) * 3 <= max(words, 3)
