"""A page to read: markdown text, without a question or a model call."""

from shared.stages.info.rules import KIND as KIND
