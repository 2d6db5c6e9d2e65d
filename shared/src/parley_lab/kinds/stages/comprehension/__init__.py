"""Whether participants have understood the instructions: questions with right answers, checked on the server."""

from parley_lab.kinds.stages.comprehension.rules import KIND as KIND
