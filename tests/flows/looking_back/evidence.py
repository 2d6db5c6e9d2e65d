"""What any reader was shown."""

import re
from dataclasses import dataclass, field

from tests.flows.looking_back.cast import Cast, Json, Reader
from tests.flows.looking_back.way import Stage


@dataclass(frozen=True)
class Shown:
    """A prompt that was sent (`after` nothing in particular) or a preview, on the stage `at`."""

    reader: Reader
    at: Stage
    text: str
    how: str

    def section(self, stage: Stage) -> str:
        """What it shows of this stage, without the headings around it."""
        _, found, rest = self.text.partition(f"[Stage: {stage.id}]")
        assert found, f"{self}: nothing of {stage.id}"
        return re.split(r"\n\n(?:\[Stage: |# )", rest)[0]

    @property
    def was_sent(self) -> bool:
        return self.how.startswith("prompt ")

    @property
    def task(self) -> str:
        """What is asked, with the form of the reply."""
        return self.text.partition("# Your task")[2]

    def __str__(self) -> str:
        return f"{self.how} for {self.reader.name} at {self.at.id}, alone with {self.reader.partner}"


@dataclass
class Evidence:
    cast: Cast
    way: list[Stage]
    before: list[Shown] = field(default_factory=list)
    """Previews before the start."""
    shown: list[Shown] = field(default_factory=list)
    """Prompts that were sent, and previews while the story went on and when it was over."""
    pages: dict[tuple[str, str], tuple[Json, str]] = field(default_factory=dict)
    """By the stage on which Ana is and the stage that she looks at: the page, and everything that it gives."""

    def earlier(self, at: Stage) -> list[Stage]:
        return self.way[: self.way.index(at)]
