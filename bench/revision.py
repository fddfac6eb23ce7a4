"""Another revision of the project, whose code judges the same histories."""

import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from bench.processes import ROOT
from contract.errors import UsageError

FENCEPOST = (sys.executable, "-c", "from harness.cli import main; main()")
"""The command line of any revision. Python imports the packages of the folder where it runs."""


class Revision:
    """The files of a revision. This environment's interpreter runs them."""

    def __init__(self, name: str, folder: Path) -> None:
        """Write the files of a revision into a new folder.

        Raises:
            UsageError: git knows no such revision.
        """
        self.commit = _git("rev-parse", "--short", f"{name}^{{commit}}").decode().strip()
        self.folder = folder
        with tarfile.open(fileobj=BytesIO(_git("archive", self.commit))) as files:
            files.extractall(folder, filter="data")


def _git(*arguments: str) -> bytes:
    ended = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    if ended.returncode:
        raise UsageError(f"git {' '.join(arguments)}: {ended.stderr.decode().strip()}")
    return ended.stdout
