"""The command line `fencepost`, run as a module."""

import signal
import sys
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
    for number in ending:
        signal.signal(number, _interrupt)
    try:
        try:
            from harness.cli import main as run  # noqa: PLC0415 - what takes time
        except KeyboardInterrupt:
            sys.stderr.write("error: interrupted\n")
            sys.exit(130)
        run()
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does now, or would do, where it is ignored as in a script's background."""
    usual = signal.getsignal(signal.SIGINT)
    handler = usual if callable(usual) else signal.default_int_handler
    handler(signal.SIGINT, frame)


if __name__ == "__main__":
    main()
