"""The command line: `fencepost`, or `python -m fencepost`."""

import os
import sys

# Before anything else is imported, pathlib too: a relative entry of PYTHONPATH, or an empty one, is
# the current folder or lies there.
_given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
_relative = {os.path.abspath(entry) for entry in _given if not entry.startswith("/")}  # noqa: PTH100
if os.environ.get("PYTHONPATH"):
    sys.path[:] = [entry for entry in sys.path if entry in _given or entry not in _relative]

from harness.__main__ import main  # noqa: E402 - as above

if __name__ == "__main__":
    main()
