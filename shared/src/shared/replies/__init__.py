"""What models reply: the shapes of replies, and the one reader of all forms in which they are written."""

from shared.replies.fields import (
    Reason,
    Reply,
    Text,
    Truth,
    is_reading,
    number,
    option,
    options,
    read,
    text,
    whole_number,
)
from shared.replies.thoughts import OpenThought, after_thoughts, before_open_thought

__all__ = [
    "OpenThought",
    "Reason",
    "Reply",
    "Text",
    "Truth",
    "after_thoughts",
    "before_open_thought",
    "is_reading",
    "number",
    "option",
    "options",
    "read",
    "text",
    "whole_number",
]
