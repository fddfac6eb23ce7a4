"""The log of clients that run in Python, in one form with the Java client's: UTC, one line each.

Each line names its member as the Java consumer's do: `[Consumer clientId=..., groupId=...]`.
"""

import logging
import time
from pathlib import Path

from harness.clients.commands import Member


def open_log(path: Path) -> logging.Handler:
    """A handler that appends to a worker's client log; records must carry `member` and `group`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    formatter = logging.Formatter(
        "%(asctime)s.%(msecs)03d %(levelname)s %(name)s "
        "[Consumer clientId=%(member)s, groupId=%(group)s] %(message)s",
        datefmt="%Y-%m-%d %H:%M:%S",
        defaults={"member": "-", "group": "-"},
    )
    formatter.converter = time.gmtime
    handler = logging.FileHandler(path)
    handler.setFormatter(formatter)
    return handler


class MemberStamp(logging.Filter):
    """Stamps each record with one member."""

    def __init__(self, member: Member) -> None:
        """The member that speaks."""
        super().__init__()
        self._member = member

    def filter(self, record: logging.LogRecord) -> bool:
        """Stamp; lets everything through."""
        record.member = self._member.member
        record.group = self._member.group
        return True
