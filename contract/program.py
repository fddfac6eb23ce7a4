"""Run a command line so that each way to end has its own exit code."""

import io
import locale
import os
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import typer

from contract.child import report_end
from contract.errors import FencepostError, InterruptError, UsageError
from contract.regular_files import replace_file, storage_error
from contract.terminal import Terminal

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
    code = _ended(app, name)
    report_end()
    sys.exit(code)


def _ended(app: typer.Typer, name: str | None) -> int:
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
        full = storage_error(error, Path(os.fsdecode(named)) if named else None)
        say(unexpected(error) if full is None else str(full))
        code = FencepostError.exit_code if full is None else full.exit_code
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


def unexpected(error: BaseException, kept: Path | None = None) -> str:
    """Return one line about an unexpected error, and write its traceback to a file.

    Args:
        error: the exception.
        kept: where to write the traceback; a new temporary file if none, or if it can't be written.
    """
    text = "".join(traceback.format_exception(error))
    first_line = str(error).strip().partition("\n")[0]
    try:
        where = f"traceback: {_written(text, kept)}"
    except OSError as problem:
        where = f"its traceback can't be written: {problem}"
    return f"unexpected {type(error).__name__}: {first_line} ({where})"


def _written(text: str, kept: Path | None) -> Path:
    """Write a traceback to a file, or to a temporary one where that can't be written."""
    if kept is not None:
        with suppress(OSError):
            kept.parent.mkdir(exist_ok=True)
            replace_file(kept, text.encode(errors="backslashreplace"))
            return kept
    handle, name = tempfile.mkstemp(prefix="fencepost-", suffix=".traceback.txt")
    with os.fdopen(handle, "w", errors="backslashreplace") as file:
        file.write(text)
    return Path(name)


def say(message: str) -> None:
    """Print an error to standard error; if no process reads it, the exit code alone reports it."""
    console = Terminal(stderr=True, soft_wrap=True)
    try:
        console.print(f"error: {message}", style="red", highlight=False)
    except (BrokenPipeError, SystemExit) as error:
        if not _is_pipe_closed(error):
            raise
        _forget_unwritten(sys.stderr)
