"""Shows what earlier stages have found: own answers, those of everybody, which were right, and results."""

from parley_lab.kinds.stages.reveal.rules import KIND as KIND
