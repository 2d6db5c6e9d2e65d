"""A page to read: markdown text, without a question or a model call."""

from parley_lab.kinds.stages.info.rules import KIND as KIND
