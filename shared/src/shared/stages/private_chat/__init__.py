"""A private conversation of one participant with the mediators of the cohort."""

from shared.stages.private_chat.rules import KIND as KIND
