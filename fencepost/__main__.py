"""The command line: `fencepost`, or `python -m fencepost`."""

from harness.__main__ import main

if __name__ == "__main__":
    main()
