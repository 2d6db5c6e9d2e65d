"""A conversation of the whole cohort: a race for the next message by default, or turns, with or without topics."""

from parley_lab.kinds.stages.group_chat.rules import KIND as KIND
