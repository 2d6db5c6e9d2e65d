"""How often the watchdog says the same thing again."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from shared.contracts.hints import Hint

LONGEST_PAUSE_SECONDS = 300.0


@dataclass(slots=True)
class Repeater:
    """Lets a hint through at once, then ever more rarely for as long as it keeps being overdue.

    What nobody takes (a provider that no worker serves, say) would otherwise fill its queue without bound.
    """

    first_pause_seconds: float
    _next: dict[Hint, tuple[float, float]] = field(default_factory=dict)

    def due(self, hints: Iterable[Hint], now_seconds: float) -> list[Hint]:
        """Those of `hints`, all that are overdue now, which are to be announced."""
        overdue = list(dict.fromkeys(hints))
        chosen = [hint for hint in overdue if self._next.get(hint, (now_seconds, 0.0))[0] <= now_seconds]
        kept = {hint: self._next[hint] for hint in overdue if hint in self._next}
        for hint in chosen:
            _, pause = kept.get(hint, (0.0, self.first_pause_seconds / 2))
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            kept[hint] = (now_seconds + pause, pause)
        self._next = kept
        return chosen
