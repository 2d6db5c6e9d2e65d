"""A conversation of one participant with the mediators of the cohort, which nobody else sees."""

from shared.stages.private_chat.rules import KIND as KIND
