"""`python -m analysis RUN...`: judge runs and write their reports."""

import sys

import click

from analysis.cli import app
from harness.contract.errors import FencepostError, UsageError

try:
    sys.exit(app(standalone_mode=False))
except click.UsageError as error:
    error.show()
    sys.exit(UsageError.exit_code)
except FencepostError as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
