"""Where pages get plotly's script from: one file for all pages of a session or night."""

import os
import re
from pathlib import Path
from urllib.parse import quote

import plotly
from plotly.offline import get_plotlyjs

from contract.files import is_below, replace_file
from contract.nights import home_of
from contract.run_folder import RunFolder, report_folder

_NAME = re.compile(r"plotly-[0-9.]+\.min\.js")


def shared_script(folder: RunFolder) -> Path:
    """Write plotly's script for a run's page, unless an earlier page has, and return its path.

    It is in `report/` of the night, else of the session, else of the run itself.
    """
    home = home_of(folder.path) or folder.path.resolve()
    path = report_folder(home) / f"plotly-{plotly.__version__}.min.js"
    if not path.is_file():
        replace_file(path, get_plotlyjs().encode())
    return path


def script_tag(page: Path, script: Path) -> str:
    """The tag by which a page loads the script, by its path from there: it works from a file."""
    address = os.path.relpath(script.resolve(), page.resolve().parent)
    return f'<script src="{quote(os.fsencode(address))}" defer></script>'


def is_shared_script(page: Path, file: Path) -> bool:
    """Whether a file is a script that `shared_script` wrote for a page, by its name and place."""
    own = page.resolve().parent
    home = home_of(own.parent) or own.parent
    is_named = _NAME.fullmatch(file.name) is not None and file.is_file()
    return is_named and any(is_below(file, folder) for folder in (own, home / "report"))
