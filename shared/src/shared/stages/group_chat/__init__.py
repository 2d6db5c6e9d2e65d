"""A conversation of the whole cohort, without topics or turns: whoever wants to speak, speaks."""

from shared.stages.group_chat.rules import KIND as KIND
