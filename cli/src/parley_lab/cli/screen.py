"""The output on the terminal: lines, and on a real terminal one line of progress that moves."""

import errno
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from parley_lab.cli.safe_text import one_line
from parley_lab.contracts.addresses import is_local
from parley_lab.experiments.experiments import Progress
from parley_lab.experiments.runs import KnownRun

COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "bright_red", "bright_green", "bright_magenta")
_STATUS_WORDS: Final = {"expected": "not joined yet"}


class LastingConsole(Console):
    """Is quiet once its reader has left, such as `head` or a terminal that was closed; the work goes on."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        # The stream still holds a line, and writes it when the process ends.
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), self.file.fileno())

    def _check_buffer(self) -> None:
        try:
            super()._check_buffer()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            self.on_broken_pipe()


def plain(kind: type[Console]) -> Console:
    """A console that shows text as it is."""
    return kind(highlight=False, emoji=False, markup=False, soft_wrap=True)


class Screen:
    """Writes to standard output, problems to standard error. Without a terminal it writes plain lines only.

    Its usual console lasts: no line that cannot be written ends the work.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or plain(LastingConsole)
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
        """A note for the user; the caller makes foreign text in it safe."""
        self._console.print(Text(text, style=style))

    def problem(self, text: str) -> None:
        self._console.print(Text(text, style="bold red"))

    def said(self, cohort: str, stage: str, author: str, text: str) -> None:
        """One message of a conversation; every speaker has a colour."""
        colour = self._colour(f"{cohort}/{author}")
        place, speaker = (f"{cohort} {stage}  ", "dim"), (f"{one_line(author)}: ", f"bold {colour}")
        self._console.print(Text.assemble(place, speaker, one_line(text)))

    def spoke(self, author: str, text: str) -> None:
        """What one side said in a conversation of two, line by line."""
        self._console.print(Text(f"{one_line(author)}: ", style=f"bold {self._colour(author)}"), end="")
        self._console.print(Text("\n".join(one_line(line) for line in text.splitlines())))

    def prompt(self, text: str) -> None:
        """The prompt before the line that the user types."""
        self._console.print(Text(text, style="bold"), end="")

    def happened(self, cohort: str, text: str) -> None:
        """An event of a cohort."""
        self._console.print(Text(f"{cohort}  {one_line(text)}", style="dim italic"))

    def alert(self, cohort: str, text: str) -> None:
        """An event that the user should look at."""
        self._console.print(Text(f"{cohort}  ! {one_line(text)}", style="bold yellow"))

    def progress(self, progress: Progress, sessions: Sequence[str] = ()) -> None:
        """The progress of the run: on a terminal a line that is replaced; elsewhere one more line at each call.

        sessions: the progress of each running session.
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
        """Remove the line of progress."""
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
            f"{conversation['treatment'] or 'all arms'}, {conversation['stage']} ({conversation['turn_taking']}): "
            f"{_count(conversation['messages_of_agents'], 'message')} of agents",
            ", ".join(calls),
            "no message of a model" if ratio is None else f"{ratio:g} {'call' if ratio == 1 else 'calls'} per message",
        )
    )


def missing_line(missing: Mapping[str, int]) -> str:
    """`3 answers are missing, because no usable reply came: before.reason (2 members), after.drop (1 member)`."""
    where = ", ".join(f"{question} ({_count(members, 'member')})" for question, members in missing.items())
    total = sum(missing.values())
    return f"{_count(total, 'answer')} {'is' if total == 1 else 'are'} missing, because no usable reply came: {where}"


def given_up_line(given_up: Mapping[str, int]) -> str:
    """`3 replies of models were given up after all attempts: game (2), talk (1).`, and where to look."""
    where = ", ".join(f"{stage} ({replies})" for stage, replies in given_up.items())
    total = sum(given_up.values())
    said = f"{total} {'reply of a model was' if total == 1 else 'replies of models were'} given up after all attempts"
    return f"{said}: {where}. model_calls.csv has the replies of the models."


def released_line(released: Mapping[str, int]) -> str:
    """`2 agents waited in vain for others and were released: talk (2).`"""
    where = ", ".join(f"{stage} ({agents})" for stage, agents in released.items())
    total = sum(released.values())
    said = f"{_count(total, 'agent')} waited in vain for others and {'was' if total == 1 else 'were'} released"
    return f"{said}: {where}."


def called_lines(called: Sequence[Mapping[str, Any]]) -> list[str]:
    """`Models: gpt-4.1-mini at https://api.openai.com (46 calls)`, and a warning about addresses of unknown
    services."""
    real = [row for row in called if row["endpoint"]]
    if not real:
        return []
    each = (f"{row['model'] or 'no answer'} at {row['endpoint']} ({_count(row['calls'], 'call')})" for row in real)
    local = list(dict.fromkeys(row["endpoint"] for row in real if is_local(row["endpoint"])))
    warning = f"A local host answered for models in this run, and no model vendor: {', '.join(local)}."
    return [f"Models: {', '.join(each)}", *([warning] if local else [])]


_NOT_RUNNING: Final = "stopped"
_RUN_STATES: Final = {("paused", "lab_stopped"): _NOT_RUNNING, ("paused", "requested"): "paused"}


def run_line(run: KnownRun, *, is_running: bool) -> str:
    """`8f14e45f  stopped  Night buses  real models, 143 calls, 0.42 USD  2 of 8 cohorts ended  begun 2026-01-31 09:30`

    is_running: whether a lab is running in which it can run.
    """
    state = _RUN_STATES.get((run.status, run.pause_reason or ""), run.status)
    if state == "running" and not is_running:
        state = _NOT_RUNNING
    parts = [
        run.id.hex[:8],
        state.ljust(7),
        one_line(run.name),
        spent_line(run.model_mode, run.calls, run.cost),
        f"{run.cohorts_ended} of {_count(run.cohorts, 'cohort')} ended",
        *([f"{_count(run.open_seats, 'seat')} not taken"] if run.open_seats and run.status != "ended" else []),
        f"begun {run.started_at:%Y-%m-%d %H:%M}",
    ]
    return "  ".join(parts)


def spent_line(model_mode: str, calls: int, cost: Decimal | None) -> str:
    """`real models, 143 calls, 0.42 USD`; the mock costs nothing."""
    told = f"{model_mode} models, {_count(calls, 'call')}"
    if model_mode != "real":
        return told
    return f"{told}, cost unknown" if cost is None and calls else f"{told}, {cost or 0:.2f} USD"


def _by_status(members_by_status: Mapping[str, int]) -> str:
    counts = sorted(members_by_status.items())
    return (
        ", ".join(f"{count} {_STATUS_WORDS.get(status, status.replace('_', ' '))}" for status, count in counts)
        or "no participants"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
