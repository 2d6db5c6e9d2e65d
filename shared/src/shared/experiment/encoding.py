"""Reads texts of files in UTF-8, and says what else they are in."""

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


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
        in_windows = content[error.start : error.start + 1].decode("cp1252", errors="replace")
        found = f"something that is not UTF-8 (in Windows-1252 it is {in_windows!r})"
        raise NotUtf8(line, found, "WINDOWS-1252") from error
