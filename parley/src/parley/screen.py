"""What a person at the terminal sees of a run: lines as they come and, on a real terminal, one line that moves."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from parley.safe_text import one_line
from shared.db.experiments import Progress

COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "bright_red", "bright_green", "bright_magenta")
_STATUS_WORDS: Final = {"in_progress": "in progress", "expected": "not joined yet"}


class Screen:
    """Lines on standard output; problems on standard error. Without a terminal it writes plain lines only."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, emoji=False, markup=False, soft_wrap=True)
        self._live: Live | None = None
        self._colours: dict[str, str] = {}
        self._last_progress = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_progress()

    def notice(self, text: str, style: str = "") -> None:
        """Something the user should know; the text is ours, what comes from elsewhere in it is made safe by us."""
        self._console.print(Text(text, style=style))

    def problem(self, text: str) -> None:
        self._console.print(Text(text, style="bold red"))

    def said(self, cohort: str, stage: str, author: str, text: str) -> None:
        """One message of a conversation; every speaker keeps a colour."""
        colour = self._colour(f"{cohort}/{author}")
        place, speaker = (f"{cohort} {stage}  ", "dim"), (f"{one_line(author)}: ", f"bold {colour}")
        self._console.print(Text.assemble(place, speaker, one_line(text)))

    def spoke(self, author: str, text: str) -> None:
        """What somebody said in a conversation of two, line by line."""
        self._console.print(Text(f"{one_line(author)}: ", style=f"bold {self._colour(author)}"), end="")
        self._console.print(Text("\n".join(one_line(line) for line in text.splitlines())))

    def prompt(self, text: str) -> None:
        """What stands before the line that a person types."""
        self._console.print(Text(text, style="bold"), end="")

    def happened(self, cohort: str, text: str) -> None:
        """Something the lab did or noticed in a cohort."""
        self._console.print(Text(f"{cohort}  {one_line(text)}", style="dim italic"))

    def alert(self, cohort: str, text: str) -> None:
        """Something that needs a look."""
        self._console.print(Text(f"{cohort}  ! {one_line(text)}", style="bold yellow"))

    def progress(self, progress: Progress, sessions: Sequence[str] = ()) -> None:
        """How far the run is: a line that is replaced, on a terminal; elsewhere a line whenever it was asked for.

        sessions: how far each of those is that run now.
        """
        line = " · ".join((progress_line(progress), *sessions))
        if not self._console.is_terminal:
            if line != self._last_progress:
                self._console.print(Text(line))
            self._last_progress = line
            return
        moving = Spinner("dots", Text(line, style="bold", overflow="ellipsis", no_wrap=True))
        if self._live is None:
            self._live = Live(moving, console=self._console, transient=True, refresh_per_second=8)
            self._live.start()
        else:
            self._live.update(moving)

    def end_progress(self) -> None:
        """Take the moving line away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    @property
    def is_terminal(self) -> bool:
        return self._console.is_terminal

    def _colour(self, speaker: str) -> str:
        if speaker not in self._colours:
            self._colours[speaker] = COLOURS[len(self._colours) % len(COLOURS)]
        return self._colours[speaker]


def progress_line(progress: Progress) -> str:
    """`1 of 2 cohorts ended · 2 completed, 2 in progress · 12 messages · 30 model calls`."""
    return " · ".join(
        (
            f"{progress.cohorts - progress.cohorts_running} of {_count(progress.cohorts, 'cohort')} ended",
            _by_status(progress.members_by_status),
            _count(progress.messages, "message"),
            _count(progress.model_calls, "model call"),
        )
    )


def conversation_line(conversation: Mapping[str, Any]) -> str:
    """`control, talk (race): 12 messages of agents · 20 calls to speak, 11 to mediate · 2.583 calls per message`."""
    calls = [f"{_count(conversation['calls_speaking'], 'call')} to speak"]
    calls += [
        f"{conversation[kind]} to {purpose}"
        for kind, purpose in (("calls_mediating", "mediate"), ("calls_readiness", "ask who is ready"))
        if conversation[kind]
    ]
    ratio = conversation["calls_per_message"]
    return " · ".join(
        (
            f"{conversation['treatment']}, {conversation['stage']} ({conversation['turn_taking']}): "
            f"{_count(conversation['messages_of_agents'], 'message')} of agents",
            ", ".join(calls),
            "no message of a model" if ratio is None else f"{ratio:g} {'call' if ratio == 1 else 'calls'} per message",
        )
    )


def _by_status(members_by_status: Mapping[str, int]) -> str:
    counts = sorted(members_by_status.items())
    return ", ".join(f"{count} {_STATUS_WORDS.get(status, status)}" for status, count in counts) or "no participants"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
