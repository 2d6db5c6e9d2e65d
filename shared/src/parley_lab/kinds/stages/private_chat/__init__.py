"""A private conversation of one participant with the mediators of the cohort."""

from parley_lab.kinds.stages.private_chat.rules import KIND as KIND
