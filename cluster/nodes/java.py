"""The Java that runs brokers, clients and Spark on this machine."""

import os
import shutil
from pathlib import Path

from contract.errors import PrerequisiteError


def java_command() -> str:
    """The `java` of JAVA_HOME, else that of the PATH.

    Raises:
        PrerequisiteError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if found is None:
        raise PrerequisiteError(
            "no java in JAVA_HOME or on PATH; Debian: apt-get install openjdk-17-jre-headless"
        )
    return found
