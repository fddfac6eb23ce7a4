"""`python -m harness` is `fencepost`."""

from harness.cli import main

main()
