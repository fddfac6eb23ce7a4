"""The command line `fencepost`, run as a module."""

import sys


def main() -> None:
    """Run the command line; an interrupt while it is loaded is reported as later ones are."""
    try:
        from harness.cli import main as run  # noqa: PLC0415 - what takes time
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
