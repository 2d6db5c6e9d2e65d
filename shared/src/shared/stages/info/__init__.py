"""A page to read: markdown text, no question, nothing for a model to say."""

from shared.stages.info.rules import KIND as KIND
