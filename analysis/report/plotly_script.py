"""Where pages get plotly's script from: one file for all pages of a session or night."""

import os
from pathlib import Path
from urllib.parse import quote

import plotly
from plotly.offline import get_plotlyjs

from contract.nights import NIGHT_FILE
from contract.regular_files import replace_file
from contract.run_folder import RunFolder

_SESSION_FILE = "ducktape.log"
"""Every session's folder has it."""
_LEVELS_TO_SESSION, _LEVELS_TO_NIGHT = 5, 8


def shared_script(folder: RunFolder) -> Path:
    """Write plotly's script for a run's page, unless an earlier page has, and return its path.

    It is in `report/` of the night, else of the session, else of the run itself.
    """
    path = _home(folder) / "report" / f"plotly-{plotly.__version__}.min.js"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, get_plotlyjs().encode())
    return path


def _home(folder: RunFolder) -> Path:
    path = folder.path.resolve()
    for mark, levels in ((NIGHT_FILE, _LEVELS_TO_NIGHT), (_SESSION_FILE, _LEVELS_TO_SESSION)):
        for above in path.parents[:levels]:
            if (above / mark).is_file():
                return above
    return path


def script_tag(page: Path, script: Path) -> str:
    """The tag by which a page loads the script, by its path from there: it works from a file."""
    address = os.path.relpath(script.resolve(), page.resolve().parent)
    return f'<script src="{quote(address)}" defer></script>'
