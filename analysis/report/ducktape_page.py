"""ducktape's own report of a session: ours links to it, and it names ours."""

from pathlib import Path

from contract.regular_files import is_below, read_file, replace_file

NAME = "report.html"
_BODY = "<body>"
_NOTE = (
    '\n    <p id="fencepost">This is the report of ducktape: a test that passed came to its end. '
    'Whether Kafka kept its promises is in <a href="report/index.html">the report of Fencepost</a>.'
    "</p>"
)


def name_ours(session: Path) -> bool:
    """Let ducktape's report of a session name ours; returns whether there is one."""
    file = session / NAME
    if not is_below(file, session):
        return False
    try:
        text = read_file(file).decode()
    except (OSError, UnicodeDecodeError):
        return False
    if _NOTE not in text:
        replace_file(file, text.replace(_BODY, _BODY + _NOTE, 1).encode())
    return True
