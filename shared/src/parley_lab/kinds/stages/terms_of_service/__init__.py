"""Terms to accept: a participant who declines is out, and the file can have their data deleted."""

from parley_lab.kinds.stages.terms_of_service.rules import KIND as KIND
