"""Replies of models: their shapes, and the one reader of all forms in which models write them."""

from parley_lab.base.replies.fields import (
    Reason,
    Reply,
    Text,
    Truth,
    fields_in_text,
    in_letters,
    is_reading,
    number,
    option,
    options,
    order,
    read,
    text,
    whole_number,
)
from parley_lab.base.replies.labels import answer_after_labels, without_lines_of_thoughts, words_after_labels
from parley_lab.base.replies.meant import ANSWER_NAMES
from parley_lab.base.replies.names import OwnWords, other_speaker, own_words
from parley_lab.base.replies.thoughts import OpenThought, after_thoughts, before_open_thought

__all__ = [
    "ANSWER_NAMES",
    "OpenThought",
    "OwnWords",
    "Reason",
    "Reply",
    "Text",
    "Truth",
    "after_thoughts",
    "answer_after_labels",
    "before_open_thought",
    "fields_in_text",
    "in_letters",
    "is_reading",
    "number",
    "option",
    "options",
    "order",
    "other_speaker",
    "own_words",
    "read",
    "text",
    "whole_number",
    "without_lines_of_thoughts",
    "words_after_labels",
]
