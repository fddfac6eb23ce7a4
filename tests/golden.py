"""Golden files: what a page, a report or a picture of a made run says, kept in tests/golden.

`GOLDEN=write` before pytest writes them again; the difference is then read in git.
"""

import os
import re
from html import unescape
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
_PROGRAM = re.compile(r"[^\s>\"'`]+/bin/fencepost\b")
_IN_TURN = (
    (r"<(style|script|title)\b.*?</\1>|<section id=\"words\">.*?</section>", ""),
    (
        r"(<pre(?! class=\"text\")[^>]*>.*?)(?=</pre>)",
        lambda found: found[1].replace("\n", "&#10;"),
    ),
    (r"\n", " "),
    (r"<a [^>]*href=\"([^\"]*)\"[^>]*>(.*?)</a>", r"\2 [\1]"),
    (r"<details\b([^>]*) open>", r"<details\1>(open) "),
    (r"<(?:section|details|tr|p|h\d|div)\b[^>]* id=\"([^\"]*)\"[^>]*>", r"\n#\1 "),
    (r"</t[dh]>\s*(?=<t[dh])", " | "),
    (r"</dt>", ": "),
    (r"</?(?:p|h\d|li|tr|pre|div|section|summary|dt|caption|nav)\b[^>]*>", "\n"),
    (r"<[^>]*>|&#10;$", ""),
    (r" *(?:\n|&#10;)\s*", "\n"),
    (r" {2,}", " "),
)


def outline(text: str, *paths: Path) -> str:
    """What a page says, a line for each paragraph, item or row, with its ids and links.

    Args:
        text: of the page.
        paths: of this machine that it names.
    """
    for pattern, by in _IN_TURN:
        text = re.sub(pattern, by, text, flags=re.DOTALL)
    return plain(unescape(text), *paths)


def plain(text: str, *paths: Path) -> str:
    """A text without names of this machine and empty lines."""
    for path in sorted(map(str, paths), key=len, reverse=True):
        text = text.replace(path, "/made")
    lines = _PROGRAM.sub("fencepost", text).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines if line.strip())


def is_golden(name: str, text: str) -> bool:
    """Whether a text is that of the golden file, which is written if that is asked for."""
    file = FOLDER / name
    if os.environ.get("GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text.splitlines() == file.read_text(encoding="utf-8").splitlines()
    return True
