"""Pages in Debian's Chromium, without a network: what a script on the page finds out."""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)"
)
_OPTIONS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
)
_PROBE = """
<script>
(async () => {{
  const pause = () => new Promise((resolve) => setTimeout(resolve, 30));
  const visible = (one) => one.checkVisibility();
  const told = document.createElement("pre");
  told.id = "probe";
  try {{ told.textContent = JSON.stringify(await (async () => {{ {script} }})()); }}
  catch (error) {{ told.textContent = JSON.stringify({{ error: String(error) }}); }}
  document.body.append(told);
}})();
</script>
</body>"""


@dataclass(frozen=True)
class Seen:
    """What the page's script returned, and what the browser's console has."""

    result: Any
    console: list[str]


def run_chromium(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        return subprocess.run(
            [CHROMIUM, *_OPTIONS, *sandbox, f"--user-data-dir={profile}", *options, page.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )


def in_turn(*scripts: str) -> str:
    """A script that returns what each of several returns; a browser's start takes a second."""
    each = [f"await (async () => {{ {script} }})()" for script in scripts]
    return f"return [{', '.join(each)}];"


def look(
    page: Path, script: str = "return null;", *, width: int = 1280, is_dark: bool = False
) -> Seen:
    """Run the body of an async function on a copy of a page, beside the page."""
    copy = page.with_name(f"probed-{page.name}")
    text = page.read_text()
    assert text.count("</body>") == 1
    copy.write_text(text.replace("</body>", _PROBE.format(script=script)))
    scheme = ["--blink-settings=preferredColorScheme=0"] if is_dark else []
    size = f"--window-size={width},900"
    ended = run_chromium(copy, "--dump-dom", "--virtual-time-budget=20000", size, *scheme)
    copy.unlink()
    found = re.search(r'<pre id="probe">(.*?)</pre>', ended.stdout, re.DOTALL)
    assert found is not None, ended.stderr
    console = [line for line in ended.stderr.splitlines() if "CONSOLE" in line]
    return Seen(msgspec.json.decode(unescape(found[1])), console)
