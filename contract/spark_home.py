"""The Spark that judges: that of the package pyspark, unless SPARK_HOME names another one."""

import os
import shutil
from pathlib import Path

from contract.errors import PrerequisiteError

_VARIABLE = "SPARK_HOME"
_LAUNCHER = Path("bin", "spark-submit")


def require_spark_home() -> None:
    """Check that a SPARK_HOME, if it is set, has what PySpark starts.

    Raises:
        PrerequisiteError: it has not, or is empty.
    """
    home = os.environ.get(_VARIABLE)
    if home is None:
        return
    launcher = Path(home, _LAUNCHER)
    if not home or shutil.which(str(launcher)) is None:
        what = f"{launcher} is no program" if home else "it is empty"
        raise PrerequisiteError(
            f"{_VARIABLE}={home} names no Spark ({what}): set it to a folder of Spark, or unset it"
        )
