"""What happens with the summary of a night once it is judged: a command reads it, a URL gets it.

Neither changes the verdict. The URL of a webhook may have a secret: no message has more of it than
its host.
"""

import os
import signal
import subprocess
import threading
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from cluster.nodes.tether import tethered
from contract.errors import UsageError
from contract.nights import SUMMARY_FILE

WEBHOOK = "FENCEPOST_WEBHOOK"
NIGHT = "FENCEPOST_NIGHT"
"""In the environment of the command: the folder of the night."""
SECONDS_MAX = 60
_ERROR_OF_SHELL = 2
_SHELL = ("sh", "-c")


def require_url(url: str) -> None:
    """Check the URL of a webhook.

    Raises:
        UsageError: nothing can be sent to it.
    """
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(
            f"--webhook (or {WEBHOOK}) takes a URL such as https://host/path; what was given is "
            "not shown, as it may be secret"
        )


def require_command(command: str) -> None:
    """Check that the shell can read a command, without running it.

    Raises:
        UsageError: it can't.
    """
    read = subprocess.run(
        [_SHELL[0], "-n", *_SHELL[1:], command], capture_output=True, text=True, check=False
    )
    if not command.strip() or read.returncode != 0:
        why = read.stderr.strip() or "it is empty"
        raise UsageError(f"--on-end takes a command of the shell: {why}")


def post(url: str, night: Path) -> str | None:
    """Send the summary of a night to a URL as JSON; returns why that failed, None if it did not."""
    request = Request(  # noqa: S310 - `require_url` has checked the scheme
        url,
        data=(night / "report" / SUMMARY_FILE).read_bytes(),
        headers={"Content-Type": "application/json", "User-Agent": "fencepost"},
    )
    ended: list[str | None] = []
    thread = threading.Thread(target=lambda: ended.append(_sent(request)), daemon=True)
    thread.start()
    thread.join(SECONDS_MAX)
    problem = ended[0] if ended else f"no response within {SECONDS_MAX} s"
    return None if problem is None else f"the webhook at {urlsplit(url).hostname}: {problem}"


class _NoRedirect(HTTPRedirectHandler):
    """A redirected POST would become a GET without the summary."""

    def redirect_request(self, *_arguments: Any, **_named: Any) -> None:
        return None


def _sent(request: Request) -> str | None:
    try:
        with build_opener(_NoRedirect).open(request, timeout=SECONDS_MAX):
            return None
    except HTTPError as error:
        return f"it responded with {error.code}"
    except (HTTPException, OSError, ValueError) as error:
        # The text of some errors has the URL.
        why = getattr(error, "reason", None)
        return str(why) if isinstance(why, OSError) else type(error).__name__


def run_on_end(command: str, night: Path) -> str | None:
    """Let the shell run a command that reads the summary of a night; returns why that failed.

    What it prints goes to standard error. If it takes too long, it is killed with all that it has
    started.
    """
    with subprocess.Popen(
        tethered([*_SHELL, command]),
        stdin=subprocess.PIPE,
        stdout=_ERROR_OF_SHELL,
        env={**os.environ, NIGHT: str(night)},
        start_new_session=True,
    ) as process:
        try:
            process.communicate((night / "report" / SUMMARY_FILE).read_bytes(), SECONDS_MAX)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return f"the command of --on-end did not end within {SECONDS_MAX} s, and was killed"
    if process.returncode == 0:
        return None
    return f"the command of --on-end ended with status {process.returncode}"
