"""Takes the thoughts off a model's text: what it wrote for itself before, between or inside what it says. Pure.

A closing tag alone ends a thought that began before the text. A thought that never ends may hide anything, so such a
text is not read at all.
"""

import re
from typing import Final

_NAMES: Final = (
    "think|thinks|thinking|thought|thoughts|reason|reasoning|reflection|analysis|scratchpad|monologue|"
    "(?:inner|internal)[_-]?(?:thoughts?|monologue|reasoning)|antThinking|chain[_-]of[_-]thought"
)
_MARK: Final = re.compile(
    rf"(?:<|&lt;)(?P<slash>/?)(?:\w+:)?(?P<tag>{_NAMES})\b(?P<rest>[^<>&]{{0,200}})(?:>|&gt;)"
    r"|(?P<bracket>(?-i:\[/?THINK\]))"
    r"|(?P<triangle>\u25c1/?think\u25b7)"
    r"|<\|(?P<edge>begin_of|end_of|START|END)_(?P<part>thought|THINKING|solution|RESPONSE)\|>"
    r"|<\|inner_(?P<inner>prefix|suffix)\|>",
    re.IGNORECASE,
)
_LIKELY: Final = re.compile(rf"<[/|!\w]|&lt;|\[/?THINK|\u25c1|assistantfinal|(?:```|~~~)(?:{_NAMES})\b", re.IGNORECASE)
"""One quick look at a text: most have no mark at all."""
_CHANNEL: Final = re.compile(
    r"<\|channel\|?>\s*(?P<name>\w+)(?:[^<]|<\|constrain\|>){0,200}?(?:<\|message\|>|\n)(?P<said>.*?)"
    r"(?=<\|(?:end|return|call|start|channel)\|?>|<channel\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_AFTER_CHANNEL: Final = re.compile(r"<channel\|>(?P<said>.*)\Z", re.DOTALL)
_HAS_CHANNEL: Final = re.compile(r"<\|channel\|?>", re.IGNORECASE)
_BARE_CHANNELS: Final = re.compile(r"\A\s*analysis.*assistantfinal", re.DOTALL)
"""The channels of gpt-oss where a server has dropped the marks, but not the words between them."""
_CONTROL: Final = re.compile(r"<\|(?:start|end|return|message|im_start|im_end|endoftext|eot_id)\|>(?:assistant\b)?")


_ASIDE: Final = re.compile(
    rf"<!--(?P<comment>.*?)(?P<end>--!?>|\Z)"
    rf"|^[ \t]*(?P<fence>```|~~~)(?:{_NAMES})\b[^\n]*\n(?P<fenced>.*?)(?P<fence_end>^[ \t]*(?P=fence)[ \t]*$|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
"""A comment that pages would hide, or a fence that is named after a thought."""


class OpenThought(ValueError):
    """A thought begins in the text and never ends."""

    def __init__(self) -> None:
        super().__init__("it begins a thought and never ends it")


def after_thoughts(text: str) -> str:
    """The text without its thoughts; empty when it is nothing but thoughts.

    Raises:
        OpenThought: a thought never ends.
    """
    if _LIKELY.search(text) is None:
        return text
    final = _of_final_channel(text)
    said = _ASIDE.sub(_drop_aside, final)
    return _without_tags(said if said == final else said.strip())


def before_open_thought(text: str) -> str:
    """The same for a text that is only kept: a thought that never ends goes on to the end of the text."""
    try:
        return after_thoughts(text)
    except OpenThought:
        return ""


def _drop_aside(found: re.Match[str]) -> str:
    if not (found["end"] or found["fence_end"]):
        raise OpenThought
    return ""


def _of_final_channel(text: str) -> str:
    """The words of the channel `final`; other channels hold thoughts and calls of tools."""
    if _HAS_CHANNEL.search(text) is None:
        return _BARE_CHANNELS.sub("", text)
    said = [found["said"] for found in _CHANNEL.finditer(text) if found["name"].casefold() == "final"]
    if not said and (after := _AFTER_CHANNEL.search(text)):
        said = [after["said"]]
    if not said:
        raise OpenThought
    return _CONTROL.sub("", "".join(said))


def _without_tags(text: str) -> str:
    said: list[str] = []
    open_tags: list[str] = []
    end = 0
    for mark in _MARK.finditer(text):
        name, opens = _read(mark)
        if name is None:
            # A tag that closes itself, or a mark around the answer.
            if not open_tags:
                said.append(text[end : mark.start()])
                end = mark.end()
        elif opens:
            if not open_tags:
                said.append(text[end : mark.start()])
            open_tags.append(name)
        elif not open_tags:
            said.clear()
            end = mark.end()
        elif name in open_tags:
            while open_tags.pop() != name:
                pass
            end = mark.end()
    if open_tags:
        raise OpenThought
    return "".join([*said, text[end:]]).strip() if end else text


def _read(mark: re.Match[str]) -> tuple[str | None, bool]:
    """The name of a mark, and whether it opens a thought; no name for one that is not about thoughts."""
    if mark["tag"]:
        return (None if mark["rest"].rstrip().endswith("/") else mark["tag"].casefold()), not mark["slash"]
    if mark["part"]:
        is_thought = mark["part"].casefold() in ("thought", "thinking")
        return (mark["part"].casefold() if is_thought else None), mark["edge"].casefold() in ("begin_of", "start")
    if mark["inner"]:
        return "inner", mark["inner"].casefold() == "prefix"
    written = mark["bracket"] or mark["triangle"]
    return written.replace("/", "").casefold(), "/" not in written
