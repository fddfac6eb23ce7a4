"""The command line `fencepost`, run as a module."""

import os
import signal
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Of `timeout`, a service manager or a CI system; and of a terminal that is closed."""


def main() -> None:
    """Run the command line; an interrupt while it is loaded is reported as later ones are.

    What asks this program to end is an interrupt too: all ends in order, and what was collected is
    kept.
    """
    # nohup ignores SIGHUP.
    ending = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        for number in (*ending, *([signal.SIGINT] if is_usual else [])):
            signal.signal(number, _end)
        from harness.cli import run, started  # noqa: PLC0415 - what takes time

        app = started()
        for number in ending:
            signal.signal(number, _interrupt)
        if is_usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run(app)
    finally:
        if is_usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def _end(_number: int, _frame: FrameType | None) -> None:
    """End at once, while modules are loaded: what imports one would report an exception."""
    os.write(2, b"error: interrupted\n")
    os._exit(130)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does now, or would do, where it is ignored as in a script's background."""
    usual = signal.getsignal(signal.SIGINT)
    handler = usual if callable(usual) else signal.default_int_handler
    handler(signal.SIGINT, frame)


if __name__ == "__main__":
    main()
