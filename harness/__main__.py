"""The command line `fencepost`, run as a module."""

from harness.cli import main

main()
