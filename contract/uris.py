"""Names of places: folders of this machine, and URIs of other file systems."""

import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from contract.errors import UsageError

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
"""A scheme has two characters or more. `./a:/b` and absolute paths are never URIs."""
_LOCAL = "file"
_HERE = ("", "localhost")


def place(name: str) -> Path | str:
    """A folder of this machine, also of a `file:` URI; or the URI of another file system.

    Raises:
        UsageError: it is empty, or the `file:` URI of another machine.
    """
    if not name:
        raise UsageError("an empty name was given: name a folder, a file or a URI")
    uri = _URI.match(name)
    if uri is None:
        return Path(name)
    if uri[1].lower() != _LOCAL:
        return name
    parts = urlsplit(name)
    if parts.netloc not in _HERE:
        raise UsageError(
            f"{name} names the machine {parts.netloc}: a file: URI of this machine begins with "
            "file:///"
        )
    return Path(url2pathname(parts.path))


def as_word(name: str | Path) -> str:
    """A name as one word of a shell, which no command takes for an option."""
    text = str(name)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def local_folder(name: str | Path) -> Path:
    """The folder of this machine that is named, also by a `file:` URI.

    Raises:
        UsageError: it is empty, or on another file system.
    """
    found = place(str(name))
    if isinstance(found, str):
        raise UsageError(
            f"{found} is not on this machine. Only `fencepost analyze` takes a URI: use a local "
            "folder here, and copy it from or to the URI with a tool of that file system"
        )
    return found
