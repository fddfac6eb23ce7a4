"""Where pages get plotly's script from: one file for all pages of a session or night."""

import os
from pathlib import Path
from urllib.parse import quote

import plotly
from plotly.offline import get_plotlyjs

from contract.nights import home_of
from contract.regular_files import replace_file
from contract.run_folder import RunFolder


def shared_script(folder: RunFolder) -> Path:
    """Write plotly's script for a run's page, unless an earlier page has, and return its path.

    It is in `report/` of the night, else of the session, else of the run itself.
    """
    home = home_of(folder.path) or folder.path.resolve()
    path = home / "report" / f"plotly-{plotly.__version__}.min.js"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, get_plotlyjs().encode())
    return path


def script_tag(page: Path, script: Path) -> str:
    """The tag by which a page loads the script, by its path from there: it works from a file."""
    address = os.path.relpath(script.resolve(), page.resolve().parent)
    return f'<script src="{quote(address)}" defer></script>'
