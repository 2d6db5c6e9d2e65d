"""What a participant is paid, reckoned from earlier stages in decimals."""

from shared.stages.payout.rules import KIND as KIND
