"""What a participant is paid, reckoned from earlier stages in decimals."""

from parley_lab.kinds.stages.payout.rules import KIND as KIND
