"""What can be said of Spark before it is started: a JVM says it in many lines."""

import os
import re
import shutil
import socket
from collections.abc import Iterable
from pathlib import Path

from contract.errors import PrerequisiteError, UsageError

_HOME = "SPARK_HOME"
_LAUNCHER = Path("bin", "spark-submit")

_MASTER = re.compile(
    r"local(\[([1-9][0-9]{0,4}|\*)(, *[1-9][0-9]{0,4})?\])?"
    r"|local-cluster\[ *[1-9][0-9]* *, *[1-9][0-9]* *, *[1-9][0-9]* *\]"
    r"|spark://[^/,:\s]+:[0-9]{1,5}(,[^/,:\s]+:[0-9]{1,5})*"
    r"|yarn|k8s://\S+"
)
_LOCAL = "local"
_STANDALONE = "spark://"
_CONNECT_SECONDS = 15
_SIZE = re.compile(r"[1-9][0-9]{0,11}([kmgtp]b?|b)?", re.IGNORECASE)
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_FORMS = (
    (re.compile(r"spark\..*memory(Overhead)?"), _SIZE, "a size such as 4g"),
    (re.compile(r"spark\.(.*\.)?(cores|cores\.max|cpus|instances)"), _NUMBER, "a number from 1 on"),
)
"""Settings whose form is known."""


def is_local(master: str | None) -> bool:
    """Whether Spark runs in one process of this machine."""
    return master is None or master == _LOCAL or master.startswith(f"{_LOCAL}[")


def require_options(master: str | None, settings: Iterable[str]) -> None:
    """Check `--master`, and `--conf` of each setting, as far as their forms are known.

    Raises:
        UsageError: one has another form.
    """
    if master is not None and not _MASTER.fullmatch(master):
        raise UsageError(
            f"--master {master or repr(master)}: expected local, local[N], local[*], "
            "spark://HOST:PORT, yarn or k8s://URL"
        )
    for setting in settings:
        key, _, value = setting.partition("=")
        for keys, form, words in _FORMS:
            is_meant = keys.fullmatch(key.strip()) is not None
            if is_meant and not form.fullmatch(value.strip()):
                raise UsageError(f"--conf {setting}: expected {words}")


def require_master(master: str | None) -> None:
    """Check that something listens where standalone masters are to be; Spark waits for a minute.

    Raises:
        PrerequisiteError: nothing does.
    """
    if master is None or not master.startswith(_STANDALONE):
        return
    addresses = master.removeprefix(_STANDALONE).split(",")
    problems = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _CONNECT_SECONDS / len(addresses)).close()
        except (OSError, OverflowError, UnicodeError) as error:
            problems.append(f"{address} ({getattr(error, 'strerror', None) or error})")
        else:
            return
    raise PrerequisiteError(
        f"No Spark master listens at {' or '.join(problems)}: start it, or give --master the URL "
        "that it logs when it starts"
    )


def require_spark_home() -> None:
    """Check that a SPARK_HOME, by which a user names another Spark, has what PySpark starts.

    Raises:
        PrerequisiteError: it has not, or is empty.
    """
    home = os.environ.get(_HOME)
    if home is None:
        return
    launcher = Path(home, _LAUNCHER)
    if not home or shutil.which(str(launcher)) is None:
        what = f"{launcher} is no program" if home else "it is empty"
        raise PrerequisiteError(
            f"{_HOME}={home} names no Spark ({what}): set it to a folder of Spark, or unset it"
        )
