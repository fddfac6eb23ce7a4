"""Run a command line so that each way to end has its own exit code."""

import errno
import io
import locale
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.segment import Segment
from rich.text import Text

from contract.errors import FencepostError, InterruptError, UsageError
from contract.files import replace_file, storage_error
from contract.processes import report_end
from contract.terms import PHASE_LIMIT_SECONDS, Stage

# What is shown to people: without colours in names, and without orders to their terminal.


_ORDERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and line feed, other ends of lines, those that change the direction of
text, and halves of characters, such as bytes of a file's name that are no UTF-8."""
_BYTE = "\\udc"
_TRAILING = re.compile(r" +(?=\n)")
_COMMANDS = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\w*\[)", re.MULTILINE)
"""What systems that run jobs take for orders in a log: `::error::` at the start of a line of GitHub
Actions, `##[error]` and `##vso[` of Azure."""


def escape_orders(text: str) -> str:
    r"""Return a text as a terminal or a page may show it: an order is escaped as `\x1b`."""
    return _ORDERS.sub(_escape_character, text)


def escape_commands(text: str) -> str:
    r"""Return lines of a log in which a system that runs jobs finds no orders: `\x3a:error::`."""
    return _COMMANDS.sub(lambda found: f"{found[1] or ''}\\x{ord(found[0][-1]):02x}", text)


def as_line(text: str) -> str:
    """Return a text in one line, as a terminal or a log may show it."""
    return escape_commands(escape_orders(text.replace("\n", " ")))


def _escape_character(found: re.Match[str]) -> str:
    """Return a character as Python writes it; for a byte of a name, the byte."""
    return ascii(found[0])[1:-1].replace(_BYTE, "\\x")


_LINE_MAX = 10_000
"""Of a pipe or a file."""


class Terminal(Console):
    """A console that shows names as they are: no markup is read, unless that is asked for."""

    def __init__(self, *, markup: bool = False, **options: Any) -> None:
        """`options` are those of rich. Lines that no terminal shows are as long as they are."""
        super().__init__(markup=markup, emoji=False, **options)
        if not self.is_terminal and "width" not in options and "COLUMNS" not in os.environ:
            self.width = _LINE_MAX

    def render_str(self, text: str, **options: Any) -> Text:
        """As rich does, so that the width of what is shown is counted."""
        return super().render_str(escape_orders(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, with all text as a terminal may show it."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(escape_orders(text), style)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        """As rich does. Only here are lines what is printed: a table breaks them.

        Where no terminal shows them, the blanks that fill a line are left out.
        """
        text = escape_commands(super()._render_buffer(buffer))
        return text if self.is_terminal else _TRAILING.sub("", text)


# Parts of Markdown that several pages and summaries have.


_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")
_LIVE = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|www(?=\.)|GH-(?=\d)", re.IGNORECASE)
"""What begins a mention, the number of an issue, or a link that has no brackets."""
_NOTHING = "<!-- -->"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table, of cells that are Markdown already."""
    titles = list(head)
    lines = [f"| {' | '.join(map(str, row))} |" for row in (titles, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(titles)}", *lines[1:]])


def plain(text: str) -> str:
    """Text in one line, in which nothing has a meaning for Markdown or HTML, nor for GitHub."""
    return _LIVE.sub(rf"\g<0>{_NOTHING}", _SPECIAL.sub(r"\\\1", " ".join(text.split())))


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    kept = (character for character in text.lower() if character.isalnum() or character in " -_")
    return "".join(kept).strip().replace(" ", "-")


# The progress of a run, one line a phase: with elapsed time and limit, then with its duration.


_LIMITS: Mapping[str, int] = {str(stage): seconds for stage, seconds in PHASE_LIMIT_SECONDS.items()}


def limit_of(phase: str) -> int | None:
    """How many seconds a phase of a run may take; None for what is no stage of a run."""
    return _LIMITS.get(phase.partition(":")[0])


class PhaseProgress(AbstractContextManager["PhaseProgress"]):
    """Shows phases as they begin.

    On a terminal the current phase is a live line, and remains as a plain one with its time.
    Elsewhere each phase is one plain line when it begins, with the seconds since the start and the
    limit, so that a log of an interrupted run shows where it was.
    """

    def __init__(
        self,
        console: Console,
        *,
        runs: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show phases on a console.

        Args:
            console: of standard error.
            runs: how many runs are to come; several are numbered.
            clock: in seconds.
        """
        self._console = console
        self._runs, self._run = runs, 0
        self._clock = clock
        self._started = self._began = clock()
        self._phase = ""
        self._line = Progress(
            SpinnerColumn(),
            _Elapsed(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            get_time=clock,
        )
        self._task = self._line.add_task("", start=False, visible=False, limit=None)

    def __enter__(self) -> Self:
        """Show the live line."""
        self._line.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the current phase, and remove the live line."""
        self._end()
        self._line.stop()

    def phase(self, phase: str) -> None:
        """End the current phase and begin one."""
        self._end()
        if self._runs > 1 and phase.partition(":")[0] == Stage.STARTING and not self._is_starting():
            self._run += 1
            self._print(f"run {self._run} of {self._runs}")
        self._phase, self._began = phase, self._clock()
        limit = limit_of(phase)
        if self._console.is_terminal:
            self._line.reset(self._task, description=phase, visible=True, limit=limit)
        else:
            at_most = "" if limit is None else f" (at most {limit} s)"
            self._print(f"{self._began - self._started:6.1f} s  {phase}{at_most}")

    def _is_starting(self) -> bool:
        return self._phase.partition(":")[0] == Stage.STARTING

    def _end(self) -> None:
        if self._phase and self._console.is_terminal:
            self._line.update(self._task, visible=False, refresh=True)
            self._print(f"{self._clock() - self._began:6.1f} s  {self._phase}")

    def _print(self, line: str) -> None:
        self._console.print(Text(line), style="dim", soft_wrap=True)


class _Elapsed(ProgressColumn):
    """The time of the current phase, and its limit."""

    def render(self, task: Task) -> Text:
        """In seconds; yellow where the limit has passed."""
        elapsed = task.elapsed or 0.0
        limit: int | None = task.fields["limit"]
        if limit is None:
            return Text(f"{elapsed:4.0f} s")
        return Text(f"{elapsed:4.0f} of {limit} s", style="yellow" if elapsed > limit else "")


_UNNAMED = "standard output or a file"
"""What can't be written, of an error that names no file: those of streams do not."""
_PIPE_CLOSED = 141
"""As shells number the end by SIGPIPE."""
_UTF8 = ("utf-8", "utf8")
_UTF8_MODE = "PYTHONUTF8"
_OF_PYDANTIC = ": Value error, "


def run_program(app: typer.Typer, *, name: str | None = None) -> None:
    """Run a Typer application and exit: with the code of `typer.Exit`, else 0.

    `name` is the program in its usage; by default how it was started.

    Invalid arguments exit with 64, a FencepostError with its own code, an interrupt with 130,
    an unexpected error with 70 after it wrote its traceback to a file. Each prints one line.
    """
    _speak_utf8()
    _open_streams()
    code = _run_to_end(app, name)
    report_end()
    sys.exit(code)


def _run_to_end(app: typer.Typer, name: str | None) -> int:
    """Run an application; returns its exit code, and prints why it ended otherwise than by itself.

    Raises:
        SystemExit: something else than a closed pipe raised it.
    """
    code: int
    try:
        code = app(standalone_mode=False, prog_name=name) or 0
        sys.stdout.flush()
        if code == InterruptError.exit_code:  # Typer makes it of Ctrl-C.
            say("interrupted")
    except (typer.Abort, KeyboardInterrupt):
        say("interrupted")
        code = InterruptError.exit_code
    except typer.TyperException as error:
        if str(error):  # Without arguments the help is printed, and nothing else.
            say(error.format_message().replace(_OF_PYDANTIC, ": "))
        code = UsageError.exit_code
    except FencepostError as error:
        say(str(error))
        code = error.exit_code
    except (BrokenPipeError, SystemExit) as error:
        if not _is_pipe_closed(error):
            raise
        # The reader, such as `head`, closed the pipe.
        _forget_unwritten(sys.stdout)
        code = _PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the last resort of every command
        named = getattr(error, "filename", None)
        known: FencepostError | None = storage_error(
            error, Path(os.fsdecode(named) if named else _UNNAMED)
        )
        if getattr(error, "errno", None) == errno.ENAMETOOLONG:
            known = UsageError(f"the name is too long: {named}")
        say(report_unexpected(error) if known is None else str(known))
        code = FencepostError.exit_code if known is None else known.exit_code
    return code


def _is_pipe_closed(error: BaseException | None) -> bool:
    """Whether an error came from a closed pipe: Typer and rich end the program for it, with 1."""
    while error is not None and not isinstance(error, BrokenPipeError):
        error = error.__context__
    return error is not None


def _forget_unwritten(stream: TextIO) -> None:
    """Discard what a stream could not write, so that the program does not fail at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _speak_utf8() -> None:
    """Let this program and those that it starts read and write UTF-8, whatever the locale.

    Where Python took another encoding, the program is started again. Java takes the locale's.
    """
    if locale.getencoding().lower() in _UTF8:
        return
    is_new = os.environ.get(_UTF8_MODE) != "1"
    os.environ |= {"LC_ALL": "C.UTF-8", _UTF8_MODE: "1"}
    if not sys.flags.utf8_mode and is_new:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - itself


def _open_streams() -> None:
    """Open standard streams that are closed; what an open one can't encode is escaped.

    Else the next file that is opened would become standard output.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def report_unexpected(error: BaseException, kept: Path | None = None) -> str:
    """Return one line about an unexpected error, and write its traceback to a file.

    Args:
        error: the exception.
        kept: where to write the traceback; a new temporary file if none, or if it can't be written.
    """
    text = "".join(traceback.format_exception(error))
    first_line = str(error).strip().partition("\n")[0]
    try:
        where = f"traceback: {_write_traceback(text, kept)}"
    except OSError as problem:
        where = f"its traceback can't be written: {problem}"
    return f"unexpected {type(error).__name__}: {first_line} ({where})"


def _write_traceback(text: str, kept: Path | None) -> Path:
    """Write a traceback to a file, or to a temporary one where that can't be written."""
    if kept is not None:
        with suppress(OSError, UsageError):
            kept.parent.mkdir(exist_ok=True)
            replace_file(kept, text.encode(errors="backslashreplace"))
            return kept
    handle, name = tempfile.mkstemp(prefix="fencepost-", suffix=".traceback.txt")
    with os.fdopen(handle, "w", errors="backslashreplace") as file:
        file.write(text)
    return Path(name)


def say(message: str) -> None:
    """Print an error to standard error; if that can't be written, the exit code reports it."""
    console = Terminal(stderr=True, soft_wrap=True)
    try:
        console.print(f"error: {message}", style="red", highlight=False)
    except (OSError, SystemExit) as error:
        if isinstance(error, SystemExit) and not _is_pipe_closed(error):
            raise
        _forget_unwritten(sys.stderr)
